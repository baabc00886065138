"""The common case of a ticker delta: new prices, sizes and statistics of a ticker that is complete.

Only for contracts whose sizes are base units.
"""

from typing import Final

from msgspec import UNSET
from msgspec.structs import astuple

from shared.exchanges.base import Group
from shared.exchanges.bybit.wire import PlainTickerData
from shared.messages import Ticker
from shared.numbers import PROVED, is_plain, proves

__all__ = ["Groups", "Rest", "is_rare", "merged", "merged_rest", "rest_of"]

Rest = tuple[str | None, str | None, str | None, str | None, str | None, str | None, int | None, str | None]
"""What seldom changes of a ticker: open, high, low, mark and index price, funding rate and time, open interest."""

_OFTEN: Final = 7
_UNCHANGED: Final = (UNSET,) * (len(PlainTickerData.__struct_fields__) - _OFTEN)


class Groups:
    """Where the messages of one instrument's ticker frames go."""

    __slots__ = ("funding", "interest", "mark", "ticker")

    def __init__(self, exchange: str, symbol: str) -> None:
        self.ticker = Group("ticker", exchange, symbol)
        self.funding = Group("funding", exchange, symbol)
        self.mark = Group("mark_price", exchange, symbol)
        self.interest = Group("open_interest", exchange, symbol)


def rest_of(ticker: Ticker) -> Rest:
    """What seldom changes of a ticker."""
    return (
        ticker.open_price,
        ticker.high_price,
        ticker.low_price,
        ticker.mark_price,
        ticker.index_price,
        ticker.funding_rate,
        ticker.ts_next_funding,
        ticker.open_interest,
    )


def is_rare(changed: PlainTickerData) -> bool:
    """Whether a delta changes any of what seldom changes."""
    return astuple(changed)[_OFTEN:] != _UNCHANGED


def merged_rest(before: Rest, changed: PlainTickerData) -> Rest | None:  # noqa: C901, PLR0911, PLR0912 - as merged()
    """What seldom changes, with what a delta changed of it; None where a number is not plain or not above zero."""
    opened, high, low, mark, index, rate, ts_next_funding, interest = before
    proved, value = PROVED, changed.open_interest_value
    if changed.open_price is not UNSET:
        opened = changed.open_price
        if opened not in proved and not proves(opened):
            return None
    if changed.high_price is not UNSET:
        high = changed.high_price
        if high not in proved and not proves(high):
            return None
    if changed.low_price is not UNSET:
        low = changed.low_price
        if low not in proved and not proves(low):
            return None
    if changed.mark_price is not UNSET:
        mark = changed.mark_price
        if mark not in proved and not proves(mark):
            return None
    if changed.index_price is not UNSET:
        index = changed.index_price
        if index not in proved and not proves(index):
            return None
    if changed.open_interest is not UNSET:
        interest = changed.open_interest
        if interest not in proved and not proves(interest):
            return None
    if value is not UNSET and not is_plain(value):
        return None
    return opened, high, low, mark, index, rate, ts_next_funding, interest


def merged(  # noqa: C901, PLR0911, PLR0912 - a loop over names costs three times as much
    before: Ticker,
    rest: Rest,
    changed: PlainTickerData,
    ts_exchange: int,
    ts_received: int,
    ts_normalized: int,
    epoch: int,
    frame: int,
) -> Ticker | None:
    """A ticker with what a delta changed, and this rest; None where a number is not plain or not above zero."""
    proved = PROVED
    new = changed.last_price
    if new is UNSET:
        last = before.last_price
    elif new in proved or proves(new):
        last = new
    else:
        return None
    new = changed.bid_price
    if new is UNSET:
        bid = before.bid_price
    elif new in proved or proves(new):
        bid = new
    else:
        return None
    new = changed.bid_size
    if new is UNSET:
        bid_size = before.bid_size
    elif new in proved or proves(new):
        bid_size = new
    else:
        return None
    new = changed.ask_price
    if new is UNSET:
        ask = before.ask_price
    elif new in proved or proves(new):
        ask = new
    else:
        return None
    new = changed.ask_size
    if new is UNSET:
        ask_size = before.ask_size
    elif new in proved or proves(new):
        ask_size = new
    else:
        return None
    # Volumes are new each time: to remember them would cost more than to look at them.
    new = changed.volume
    if new is UNSET:
        volume = before.volume
    elif is_plain(new):
        volume = new
    else:
        return None
    new = changed.turnover
    if new is UNSET:
        turnover = before.turnover
    elif is_plain(new):
        turnover = new
    else:
        return None
    opened, high, low, mark, index, rate, ts_next_funding, interest = rest
    return Ticker(
        before.exchange,
        before.symbol,
        before.native_symbol,
        ts_exchange,
        ts_received,
        ts_normalized,
        before.stream,
        epoch,
        frame,
        0,
        last,
        bid,
        bid_size,
        ask,
        ask_size,
        opened,
        high,
        low,
        volume,
        turnover,
        mark,
        index,
        rate,
        ts_next_funding,
        interest,
    )
