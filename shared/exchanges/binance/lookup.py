"""Native symbol to instrument, for a parser."""

from collections.abc import Iterable, Iterator
from typing import Final

from shared.errors import ParseError
from shared.exchanges.base import Origin, Output, Resync
from shared.exchanges.binance.symbols import named
from shared.exchanges.unlisted import Unlisted
from shared.instruments import Instrument, InstrumentTable

__all__ = ["Lookup"]

ASK_INTERVAL_NS: Final = 60_000_000_000

LONGEST: Final = 64
"""Characters of a symbol that the naming rule is tried on."""


class Lookup:
    """The listed instruments, then the naming rule for a while; asks for a newer list at most once a minute."""

    __slots__ = ("_asked", "_product", "_table", "_unlisted")

    def __init__(self, product: str, table: InstrumentTable) -> None:
        self._product = product
        self._table = table
        self._unlisted = Unlisted(lambda native_symbol: named(product, native_symbol))
        self._asked: int | None = None

    def get(self, native_symbol: str) -> Instrument | None:
        """The instrument, if it is listed or named by the rule."""
        instrument = self._table.get(native_symbol)
        if instrument is None and len(native_symbol) <= LONGEST:
            instrument = self._unlisted.get(native_symbol)
        return instrument

    def find(self, native_symbol: str, origin: Origin, output: Output) -> Instrument:
        """The instrument; raises ParseError(``unknown_instrument``)."""
        instrument = self.get(native_symbol)
        if instrument is None:
            if self._asked is None or origin.ts_received - self._asked >= ASK_INTERVAL_NS:
                self._asked = origin.ts_received
                output.resyncs.append(Resync("instruments", None, "unknown_instrument"))
            raise ParseError("unknown_instrument", f"{native_symbol[:40]!r} is not listed in binance {self._product}")
        return instrument

    def learn(self, instruments: Iterable[Instrument]) -> Iterator[None]:
        """A newer list, a step for each instrument."""
        return self._table.learn(instruments)
