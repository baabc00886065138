"""Wire → canonical for everything but books, and what must be remembered for it.

A trade is told once (``t`` and ``a`` are ids of one instrument each). Quotes, mark prices, funding rates and open
interest are told when they change, and anew in each epoch. USD-M trades that did not come from the order book
(insurance fund, auto-deleveraging) are no market trades: ``@aggTrade`` leaves them out, so they are left out here too.
"""

from collections.abc import Callable
from typing import Final

from shared.errors import ParseError
from shared.exchanges.base import Origin, Output
from shared.exchanges.binance.wire import (
    COIN_M,
    AggregateTrade,
    BookTicker,
    ForceOrder,
    Kline,
    MarkPriceUpdate,
    OpenInterestReply,
    Ticker24h,
    TradeEvent,
)
from shared.exchanges.levels import number
from shared.instruments import Instrument
from shared.messages import Candle, Funding, Liquidation, MarkPrice, OpenInterest, Quote, Side, Ticker, Trade
from shared.numbers import NumberError, is_zero, plain
from shared.sequencing import DuplicateWindow

__all__ = ["Find", "Market", "event_time", "nanoseconds"]

Find = Callable[[str, Origin, Output], Instrument]
"""Native symbol to instrument; raises ParseError(``unknown_instrument``)."""

LAST_MS: Final = 10**13
"""Exclusive; the year 2286. A time beyond is none in milliseconds."""

_INTERVALS: Final = frozenset(
    {"1s", "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M"}
)
_SIDES: Final[dict[str, Side]] = {"BUY": "buy", "SELL": "sell"}


def nanoseconds(milliseconds: int, name: str) -> int:
    """A venue time; raises ParseError(``bad_time``)."""
    if 0 <= milliseconds < LAST_MS:
        return milliseconds * 1_000_000
    raise ParseError("bad_time", f"{name}: {milliseconds} was no time in milliseconds")


def event_time(ts_transaction: int | None, ts_event: int | None) -> int | None:
    """The matching engine's time, else the event's; None where there is neither (spot quotes, spot snapshots)."""
    if ts_transaction is not None:
        return nanoseconds(ts_transaction, "T")
    return None if ts_event is None else nanoseconds(ts_event, "E")


class Market:
    """What one stream needs to remember between frames, books apart."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._windows: dict[tuple[str, bool], DuplicateWindow] = {}
        self._quotes: dict[str, tuple[str | None, ...]] = {}
        self._marks: dict[str, tuple[str, str | None]] = {}
        self._funding: dict[str, tuple[str, int | None]] = {}
        self._open_interest: dict[str, str] = {}

    def begin(self) -> None:
        """A new epoch: current values are told again. Trade ids are remembered, the venue may repeat trades."""
        self._quotes.clear()
        self._marks.clear()
        self._funding.clear()
        self._open_interest.clear()

    def trade(self, origin: Origin, event: TradeEvent, output: Output) -> None:
        """``@trade``."""
        if event.execution is None or event.execution == "MARKET":
            self._trade(origin, event, output, aggregate=False)

    def aggregate_trade(self, origin: Origin, event: AggregateTrade, output: Output) -> None:
        """``@aggTrade``."""
        self._trade(origin, event, output, aggregate=True)

    def _trade(self, origin: Origin, event: TradeEvent | AggregateTrade, output: Output, *, aggregate: bool) -> None:
        if event.stack == COIN_M:
            return
        instrument = self._find(event.symbol, origin, output)
        price, size = number(event.price, "p"), number(event.size, "q")
        head = origin.head(instrument, nanoseconds(event.ts_trade, "T"))
        key = (event.symbol, aggregate)
        window = self._windows.get(key)
        if window is None:
            window = self._windows[key] = DuplicateWindow()
        if window.seen(event.trade_id):
            output.duplicates += 1
            return
        side: Side = "sell" if event.buyer_is_maker else "buy"
        output.add(Trade(*head, output.parts, str(event.trade_id), price, size, side))

    def quote(self, origin: Origin, event: BookTicker, output: Output) -> None:
        """``@bookTicker``; an empty side has size 0."""
        if event.stack == COIN_M:
            return
        instrument = self._find(event.symbol, origin, output)
        values = (
            *_best(event.bid_price, event.bid_size, "b", "B"),
            *_best(event.ask_price, event.ask_size, "a", "A"),
        )
        head = origin.head(instrument, event_time(event.ts_transaction, event.ts_event))
        if self._quotes.get(event.symbol) == values:
            output.duplicates += 1
            return
        self._quotes[event.symbol] = values
        output.add(Quote(*head, output.parts, *values, event.update_id))

    def ticker(self, origin: Origin, event: Ticker24h, output: Output) -> None:
        """``@ticker`` and ``@miniTicker``: complete in themselves."""
        if event.stack == COIN_M:
            return
        instrument = self._find(event.symbol, origin, output)
        bid = _best(event.bid_price, event.bid_size, "b", "B")
        ask = _best(event.ask_price, event.ask_size, "a", "A")
        output.add(
            Ticker(
                *origin.head(instrument, nanoseconds(event.ts_event, "E")),
                output.parts,
                number(event.last_price, "c"),
                *bid,
                *ask,
                _maybe(event.open_price, "o"),
                _maybe(event.high_price, "h"),
                _maybe(event.low_price, "l"),
                _maybe(event.volume, "v"),
                _maybe(event.turnover, "q"),
            )
        )

    def mark_price(self, origin: Origin, event: MarkPriceUpdate, output: Output) -> None:
        """``@markPrice``: mark price and, for perpetuals, funding."""
        if event.stack == COIN_M:
            return
        instrument = self._find(event.symbol, origin, output)
        mark = (number(event.mark_price, "p"), _maybe(event.index_price, "i"))
        rate = _signed(event.rate, "r") if event.rate else None
        ts_next = nanoseconds(event.ts_next_funding, "T") if event.ts_next_funding else None
        head = origin.head(instrument, nanoseconds(event.ts_event, "E"))
        if self._marks.get(event.symbol) != mark:
            self._marks[event.symbol] = mark
            output.add(MarkPrice(*head, output.parts, *mark))
        if rate is not None and self._funding.get(event.symbol) != (rate, ts_next):
            self._funding[event.symbol] = rate, ts_next
            output.add(Funding(*head, output.parts, rate, ts_next))

    def liquidation(self, origin: Origin, event: ForceOrder, output: Output) -> None:
        """``@forceOrder``; ``S`` is the side of the order already."""
        if event.stack == COIN_M:
            return
        order = event.order
        instrument = self._find(order.symbol, origin, output)
        average = _maybe(order.average_price, "ap")
        output.add(
            Liquidation(
                *origin.head(instrument, nanoseconds(order.ts_trade, "T")),
                output.parts,
                _SIDES.get(order.side, "unknown"),
                number(order.price, "p"),
                number(order.size, "q"),
                None if average is None or is_zero(average) else average,  # 0: nothing filled yet
            )
        )

    def candle(self, origin: Origin, event: Kline, output: Output) -> None:
        """``@kline``; ``T`` is the last millisecond of the interval."""
        if event.stack == COIN_M:
            return
        instrument = self._find(event.symbol, origin, output)
        bar = event.bar
        if bar.interval not in _INTERVALS:
            raise ParseError("wrong_type", f"i: {bar.interval[:10]!r} is no interval")
        output.add(
            Candle(
                *origin.head(instrument, nanoseconds(event.ts_event, "E")),
                output.parts,
                bar.interval,
                nanoseconds(bar.ts_open, "t"),
                nanoseconds(bar.ts_close, "T"),
                number(bar.open, "o"),
                number(bar.high, "h"),
                number(bar.low, "l"),
                number(bar.close, "c"),
                number(bar.volume, "v"),
                number(bar.turnover, "q"),
                bar.trades,
                bar.closed,
            )
        )

    def open_interest(self, origin: Origin, reply: OpenInterestReply, output: Output) -> None:
        """A polled value, in base units."""
        instrument = self._find(reply.symbol, origin, output)
        value = number(reply.open_interest, "openInterest")
        head = origin.head(instrument, nanoseconds(reply.ts_exchange, "time"))
        if self._open_interest.get(reply.symbol) != value:
            self._open_interest[reply.symbol] = value
            output.add(OpenInterest(*head, output.parts, value))


def _best(price: str | None, size: str | None, price_key: str, size_key: str) -> tuple[str | None, str | None]:
    """Best price and size of a side; both None where the side is empty (size 0) or not sent."""
    best = number(price, price_key) if price else None
    amount = number(size, size_key) if size else None
    if best is None or (amount is not None and is_zero(amount)):
        return None, None
    return best, amount


def _maybe(value: str | None, name: str) -> str | None:
    """An unsigned number; None where the venue leaves it empty or out."""
    return number(value, name) if value else None


def _signed(value: str, name: str) -> str:
    try:
        return plain(value)
    except NumberError as error:
        raise ParseError("bad_number", f"{name}: {error}") from error
