"""The venue's words that both products share: sides and candle intervals."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from shared.errors import ParseError
from shared.exchanges.mexc.wire import SECOND, nanoseconds
from shared.messages import Side

__all__ = ["INTERVALS", "SIDES", "Interval", "interval", "opening"]

SIDES: Final[Mapping[int, Side]] = {1: "buy", 2: "sell"}
"""The taker's side of a trade."""


class Interval(NamedTuple):
    """A candle interval: canonical name, and seconds where it is always the same."""

    name: str
    seconds: int | None


INTERVALS: Final[Mapping[str, Interval]] = {
    "Min1": Interval("1m", 60),
    "Min5": Interval("5m", 300),
    "Min15": Interval("15m", 900),
    "Min30": Interval("30m", 1_800),
    "Min60": Interval("1h", 3_600),
    "Hour4": Interval("4h", 14_400),
    "Hour8": Interval("8h", 28_800),
    "Day1": Interval("1d", 86_400),
    "Week1": Interval("1w", 604_800),
    "Month1": Interval("1M", None),
}


def interval(name: str) -> Interval:
    """The interval of a candle; raises ParseError(``unknown_event``)."""
    found = INTERVALS.get(name)
    if found is None:
        raise ParseError("unknown_event", f"a candle interval was {name[:20]!r}")
    return found


def opening(seconds: int) -> int:
    """When a candle opens (ns), from seconds; raises ParseError: ``bad_time``, ``missing_field`` for 0."""
    opened = nanoseconds(seconds, SECOND)
    if opened is None:
        raise ParseError("missing_field", "a candle had no start")
    return opened
