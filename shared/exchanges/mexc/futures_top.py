"""Futures: the best levels of a ``push.depth.full`` frame, cut out of its bytes.

Such frames are alike but for their digits: what is left without them tells where the levels are. That the frame is JSON
is made sure of by whoever decodes the rest of it; a value of JSON that has but digits and a point is a plain number.
"""

import re
from decimal import Decimal
from typing import Final

from shared.numbers import MAX_DIGITS

__all__ = ["top_of"]

MOST: Final = 4_096
"""Layouts and price columns that are remembered."""
LONGEST: Final = 2_000
"""Bytes of a frame that is looked at."""
MOST_CONTRACTS: Final = 18
"""Digits of a size."""

_DIGITS: Final = b"0123456789"
_LEVELS: Final = rb"((?:\[\.?,,\],?+)++)"
_FRAME: Final = re.compile(
    rb'\{"symbol":"[^"\\]*+","data":\{"asks":\[%b\],"bids":\[%b\],"version":\},"channel":"push.depth.full","ts":\}'
    % (_LEVELS, _LEVELS)
).fullmatch
"""A frame without its digits: levels are a price, whole contracts, and how many orders."""
_PRICE: Final = re.compile(rb"[^0-9]*+([0-9.]++)").fullmatch

Top = tuple[str, str, str, str]
"""Price and contracts of the best bid, then of the best ask."""


class _Layouts(dict[bytes, tuple[int, int] | None]):
    """Where in a frame that is split at its commas the first bid is and what comes behind the bids; None: nowhere."""

    def __missing__(self, frame: bytes) -> tuple[int, int] | None:
        if len(self) >= MOST:
            self.clear()
        match = _FRAME(frame)
        layout = None
        if match is not None:
            asks, bids = match[1].count(b"["), match[2].count(b"[")
            layout = 1 + 3 * asks, 1 + 3 * (asks + bids)
        self[frame] = layout
        return layout


class _Ladders(dict[bytes, tuple[int, str]]):
    """Which price of a column is the best one, and that price; columns come again until a level comes or goes."""

    def __init__(self, *, highest: bool) -> None:
        super().__init__()
        self._best = max if highest else min

    def learn(self, column: list[bytes]) -> tuple[int, str] | None:
        """``column`` has a price at the end of each of its texts, and is remembered joined; None for a long number."""
        if len(self) >= MOST:
            self.clear()
        prices = [match[1].decode() for match in map(_PRICE, column) if match is not None]
        if len(max(prices, key=len)) > MAX_DIGITS:
            return None
        best = self._best(prices, key=Decimal)
        found = self[b"".join(column)] = prices.index(best), best
        return found


_layouts: Final = _Layouts()
_bids: Final = _Ladders(highest=True)
_asks: Final = _Ladders(highest=False)


def top_of(frame: bytes) -> Top | None:
    """The best levels of a frame that is JSON.

    None where it is not as most are: with a number that is not plain, a level that is empty or a side that has none.
    """
    layout = _layouts[frame.translate(None, _DIGITS)] if len(frame) <= LONGEST else None
    if layout is None:
        return None
    parts = frame.split(b",")
    first_bid, end = layout
    if b"0" in parts[2:end:3]:
        return None
    bids, asks = parts[first_bid:end:3], parts[1:first_bid:3]
    bid = _bids.get(b"".join(bids)) or _bids.learn(bids)
    ask = _asks.get(b"".join(asks)) or _asks.learn(asks)
    if bid is None or ask is None:
        return None
    bid_contracts = parts[first_bid + 3 * bid[0] + 1].decode()
    ask_contracts = parts[3 * ask[0] + 2].decode()
    if len(bid_contracts) > MOST_CONTRACTS or len(ask_contracts) > MOST_CONTRACTS:
        return None
    return bid[1], bid_contracts, ask[1], ask_contracts
