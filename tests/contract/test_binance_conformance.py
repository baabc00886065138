from shared.exchanges.base import Feed
from shared.exchanges.binance import ADAPTER
from shared.exchanges.binance.limits import REQUEST_BYTES
from shared.instruments import Instrument, InstrumentKind
from tests.contract.conformance import AdapterConformance
from tests.unit.exchanges.binance import samples as binance


class TestBinanceConformance(AdapterConformance):
    adapter = ADAPTER
    listed = binance.LISTED
    samples = binance.SAMPLES
    scripts = binance.SCRIPTS
    acks = binance.ACKS
    listings = binance.LISTINGS
    unknown = binance.UNKNOWN
    polled = dict.fromkeys(("usdm",), frozenset({Feed.OPEN_INTEREST}))
    payload_bytes = dict.fromkeys(ADAPTER.products, REQUEST_BYTES)

    def instrument(self, product: str, index: int) -> Instrument:
        return binance.made_up(product, index)

    def feeds_of(self, product: str, instrument: Instrument) -> frozenset[Feed]:
        dated = instrument.kind is InstrumentKind.FUTURE
        return super().feeds_of(product, instrument) - ({Feed.FUNDING} if dated else set())
