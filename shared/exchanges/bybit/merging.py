"""The common case of a ticker delta: new prices, sizes and statistics of a ticker that is complete."""

from typing import NoReturn

from msgspec import UNSET

from shared.exchanges.base import Group, Origin, Output
from shared.exchanges.bybit.wire import TickerData
from shared.messages import Message, Ticker
from shared.numbers import PROVED, is_plain, proves

__all__ = ["Groups", "merged"]


class Groups:
    """Where the messages of one instrument's ticker frames go."""

    __slots__ = ("funding", "interest", "mark", "ticker")

    def __init__(self, exchange: str, symbol: str) -> None:
        self.ticker = Group("ticker", exchange, symbol)
        self.funding = Group("funding", exchange, symbol)
        self.mark = Group("mark_price", exchange, symbol)
        self.interest = Group("open_interest", exchange, symbol)

    @staticmethod
    def put(group: Group, message: Message, output: Output) -> None:
        """The next message of the frame in hand."""
        if group.segment is not output.segment:
            group.open(output)
        group.messages.append(message)
        output.parts += 1


class _LongWay(Exception):
    """A number is not plain, or zero where there may be none."""


def _leave() -> NoReturn:
    raise _LongWay


def merged(before: Ticker, data: TickerData, ts_exchange: int, origin: Origin, part: int) -> Ticker | None:
    """A ticker with what a delta changed; None where the delta is for the long way.

    That is one with funding, one with a number that is not plain and above zero, and any to a ticker that has nothing
    somewhere, a side without price for instance. Only for contracts whose sizes are base units.
    """
    # Volumes are new each time: to remember them would cost more than to look at them.
    # Most fields of a delta are unset, and a loop over names costs three times as much as looking at each.
    if data.funding_rate is not UNSET or data.next_funding is not UNSET or data.funding_interval is not UNSET:
        return None
    try:
        last = (
            before.last_price
            if (new := data.last_price) is UNSET
            else new
            if new in PROVED or proves(new)
            else _leave()
        )
        bid = (
            before.bid_price if (new := data.bid_price) is UNSET else new if new in PROVED or proves(new) else _leave()
        )
        bid_size = (
            before.bid_size if (new := data.bid_size) is UNSET else new if new in PROVED or proves(new) else _leave()
        )
        ask = (
            before.ask_price if (new := data.ask_price) is UNSET else new if new in PROVED or proves(new) else _leave()
        )
        ask_size = (
            before.ask_size if (new := data.ask_size) is UNSET else new if new in PROVED or proves(new) else _leave()
        )
        opened = (
            before.open_price
            if (new := data.open_price) is UNSET
            else new
            if new in PROVED or proves(new)
            else _leave()
        )
        high = (
            before.high_price
            if (new := data.high_price) is UNSET
            else new
            if new in PROVED or proves(new)
            else _leave()
        )
        low = (
            before.low_price if (new := data.low_price) is UNSET else new if new in PROVED or proves(new) else _leave()
        )
        volume = before.volume if (new := data.volume) is UNSET else new if is_plain(new) else _leave()
        turnover = before.turnover if (new := data.turnover) is UNSET else new if is_plain(new) else _leave()
        mark = (
            before.mark_price
            if (new := data.mark_price) is UNSET
            else new
            if new in PROVED or proves(new)
            else _leave()
        )
        index = (
            before.index_price
            if (new := data.index_price) is UNSET
            else new
            if new in PROVED or proves(new)
            else _leave()
        )
        interest = (
            before.open_interest
            if (new := data.open_interest) is UNSET
            else new
            if new in PROVED or proves(new)
            else _leave()
        )
    except _LongWay:
        return None
    return Ticker(
        before.exchange,
        before.symbol,
        before.native_symbol,
        ts_exchange,
        origin.ts_received,
        origin.ts_normalized,
        origin.stream,
        origin.epoch,
        origin.frame,
        part,
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
        before.funding_rate,
        before.ts_next_funding,
        interest,
    )
