from shared.exchanges.base import Feed
from shared.exchanges.bybit import ADAPTER
from shared.exchanges.bybit.limits import CONNECTION_CHARACTERS
from shared.instruments import Instrument, InstrumentKind
from tests.contract.conformance import AdapterConformance
from tests.unit.exchanges.bybit import samples as bybit
from tests.unit.exchanges.bybit.frames import instrument as by_name


class TestBybitConformance(AdapterConformance):
    adapter = ADAPTER
    listed = bybit.LISTED
    samples = bybit.SAMPLES
    scripts = bybit.SCRIPTS
    acks = bybit.ACKS
    listings = bybit.LISTINGS
    unknown = bybit.UNKNOWN
    heartbeats = bybit.HEARTBEATS
    connection_characters = dict.fromkeys(ADAPTER.products, CONNECTION_CHARACTERS)

    def instrument(self, product: str, index: int) -> Instrument:
        if product == "linear" and index % 7 == 3:
            return by_name(product, f"LONGERNAME{index}USDT-25DEC26")
        return by_name(product, f"COIN{index}{'USD' if product == 'inverse' else 'USDT'}")

    def feeds_of(self, product: str, instrument: Instrument) -> frozenset[Feed]:
        feeds = self.adapter.feeds(product)
        return feeds - {Feed.FUNDING} if instrument.kind is InstrumentKind.FUTURE else feeds
