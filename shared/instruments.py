"""Instruments: what a venue lists, under one naming convention (ccxt's unified symbols)."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

__all__ = ["Instrument", "InstrumentKind", "InstrumentTable", "unified_symbol"]


class InstrumentKind(StrEnum):
    """What kind of contract an instrument is."""

    SPOT = "spot"
    PERPETUAL = "perpetual"
    FUTURE = "future"


def unified_symbol(base: str, quote: str, settle: str | None = None, expiry: str | None = None) -> str:
    """``BTC/USDT``, ``BTC/USDT:USDT``, ``BTC/USD:BTC-261225``; ``expiry`` is ``YYMMDD``."""
    symbol = f"{base}/{quote}"
    if settle is not None:
        symbol += f":{settle}"
    return symbol if expiry is None else f"{symbol}-{expiry}"


class Instrument(Struct, frozen=True, gc=False):
    """One listed instrument.

    ``contract_size`` is how much one unit of the venue's size stands for: in base units, or, where ``inverse``,
    in quote units. ``tick_size`` and ``size_step`` are plain numbers in the venue's own units.
    """

    exchange: str
    product: str
    symbol: str
    native_symbol: str
    base: str
    quote: str
    settle: str | None
    kind: InstrumentKind
    contract_size: str = "1"
    inverse: bool = False
    expiry: str | None = None
    tick_size: str | None = None
    size_step: str | None = None
    active: bool = True

    @property
    def multiplier(self) -> Decimal:
        """``contract_size`` as a number to multiply by."""
        return Decimal(self.contract_size)


class InstrumentTable:
    """The instruments of one exchange and product by native symbol; the newest listing of a symbol wins."""

    __slots__ = ("_by_native",)

    def __init__(self, instruments: Iterable[Instrument] = ()) -> None:
        self._by_native = {instrument.native_symbol: instrument for instrument in instruments}

    def get(self, native_symbol: str) -> Instrument | None:
        """The instrument, or None when it was never listed."""
        return self._by_native.get(native_symbol)

    def update(self, instruments: Iterable[Instrument]) -> None:
        """Add or replace; an instrument that is missing from a newer list stays known (late frames may name it)."""
        for instrument in instruments:
            self._by_native[instrument.native_symbol] = instrument

    def learn(self, instruments: Iterable[Instrument]) -> Iterator[None]:
        """As :meth:`update`, a step for each."""
        for instrument in instruments:
            self._by_native[instrument.native_symbol] = instrument
            yield

    def __iter__(self) -> Iterator[Instrument]:
        return iter(self._by_native.values())

    def __len__(self) -> int:
        return len(self._by_native)
