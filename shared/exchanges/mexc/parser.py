"""What the parsers of both products share: the instrument that a frame is about, and what was told before."""

from typing import Final

from shared.errors import ParseError
from shared.exchanges.base import Origin, Output, Resync
from shared.instruments import Instrument, InstrumentTable
from shared.sequencing import DuplicateWindow

__all__ = ["Latest", "Listed", "Windows"]

ASK_NS: Final = 60_000_000_000


class Listed:
    """The instruments that a parser knows; asks for a new list when a frame names another, at most once a minute."""

    __slots__ = ("_asked", "_table")

    def __init__(self, table: InstrumentTable) -> None:
        self._table = table
        self._asked: int | None = None

    def find(self, origin: Origin, native_symbol: str, output: Output) -> Instrument:
        """The instrument; raises ParseError: ``unknown_instrument``, or ``missing_field`` for an empty name."""
        instrument = self._table.get(native_symbol)
        if instrument is not None:
            return instrument
        if not native_symbol:
            raise ParseError("missing_field", "no instrument was named")
        if self._asked is None or origin.ts_received - self._asked >= ASK_NS:
            self._asked = origin.ts_received
            output.resyncs.append(Resync("instruments", None, "unknown_instrument"))
        raise ParseError("unknown_instrument", f"{native_symbol[:80]} is not listed")


class Latest:
    """What was last told of each feed and instrument: a value that is sent again unchanged is not told again."""

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told: dict[str, dict[str, tuple[object, ...]]] = {}

    def changed(self, feed: str, native_symbol: str, values: tuple[object, ...]) -> bool:
        """Whether these are other values than before, or the first; they are the last ones from now on."""
        told = self._told.setdefault(feed, {})
        if told.get(native_symbol) == values:
            return False
        told[native_symbol] = values
        return True

    def forget(self, feed: str | None, native_symbol: str | None) -> None:
        """Something was lost: the next value is told, whatever it is. None: all feeds, all instruments."""
        for name in [*self._told] if feed is None else [feed]:
            told = self._told.get(name, {})
            if native_symbol is None:
                told.clear()
            else:
                told.pop(native_symbol, None)


class Windows:
    """The trade ids of each instrument; they outlive connections, since venues send trades again after one broke."""

    __slots__ = ("_windows",)

    def __init__(self) -> None:
        self._windows: dict[str, DuplicateWindow] = {}

    def of(self, native_symbol: str) -> DuplicateWindow:
        """The window of an instrument."""
        window = self._windows.get(native_symbol)
        if window is None:
            window = self._windows[native_symbol] = DuplicateWindow()
        return window
