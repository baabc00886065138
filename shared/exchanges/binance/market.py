"""Wire → canonical for everything but books, and what must be remembered for it.

A trade is told once (``t`` and ``a`` are ids of one instrument each). Quotes, mark prices, funding rates and open
interest are told when they change, and anew in each epoch. USD-M trades that did not come from the order book
(insurance fund, auto-deleveraging) are no market trades: ``@aggTrade`` leaves them out, so they are left out here too.
"""

from collections.abc import Callable
from typing import Final

from shared.errors import ParseError
from shared.exchanges.base import Group, Origin, Output
from shared.exchanges.binance.trading import Quotes, Tickers, Trades
from shared.exchanges.binance.values import maybe, nanoseconds, signed
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
from shared.exchanges.runs import IdRuns
from shared.instruments import Instrument
from shared.messages import Candle, Funding, Liquidation, MarkPrice, OpenInterest, Side
from shared.numbers import is_zero

__all__ = ["Find", "Market"]

Find = Callable[[str, Origin, Output], Instrument]
"""Native symbol to instrument; raises ParseError(``unknown_instrument``)."""

_INTERVALS: Final = frozenset(
    {"1s", "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M"}
)
_SIDES: Final[dict[str, Side]] = {"BUY": "buy", "SELL": "sell"}


class Market:
    """What one stream needs to remember between frames, books apart."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._ids: dict[tuple[str, bool], IdRuns] = {}
        self._trades: dict[tuple[str, bool], Trades] = {}
        self._quotes: dict[str, Quotes] = {}
        self._tickers: dict[str, Tickers] = {}
        self._marks: dict[str, tuple[str, str | None]] = {}
        self._funding: dict[str, tuple[str, int | None]] = {}
        self._open_interest: dict[str, str] = {}

    def begin(self) -> None:
        """A new epoch: current values are told again. Trade ids are remembered, the venue may repeat trades."""
        for quotes in self._quotes.values():
            quotes.forget()
        self._marks.clear()
        self._funding.clear()
        self._open_interest.clear()

    def relist(self) -> None:
        """The instruments may be others than before. Trade ids are remembered."""
        self._trades.clear()
        self._quotes.clear()
        self._tickers.clear()

    def trade(self, origin: Origin, event: TradeEvent, output: Output) -> None:
        """``@trade``."""
        if event.stack != COIN_M and event.execution in {None, "MARKET"}:
            self.trades(origin, event.symbol, output, aggregate=False).take(origin, event, output)

    def aggregate_trade(self, origin: Origin, event: AggregateTrade, output: Output) -> None:
        """``@aggTrade``."""
        if event.stack != COIN_M:
            self.trades(origin, event.symbol, output, aggregate=True).take(origin, event, output)

    def quote(self, origin: Origin, event: BookTicker, output: Output) -> None:
        """``@bookTicker``."""
        if event.stack != COIN_M:
            self.quotes(origin, event.symbol, output).take(origin, event, output)

    def ticker(self, origin: Origin, event: Ticker24h, output: Output) -> None:
        """``@ticker`` and ``@miniTicker``: complete in themselves."""
        if event.stack != COIN_M:
            self.tickers(origin, event.symbol, output).take(origin, event, output)

    def trades(self, origin: Origin, native_symbol: str, output: Output, *, aggregate: bool) -> Trades:
        """The trades of an instrument; raises ParseError(``unknown_instrument``)."""
        key = (native_symbol, aggregate)
        found = self._trades.get(key)
        if found is None:
            instrument = self._find(native_symbol, origin, output)
            other = self._trades.get((native_symbol, not aggregate))
            group = Group("trade", origin.exchange, instrument.symbol) if other is None else other.group
            ids = self._ids.setdefault(key, IdRuns())
            found = self._trades[key] = Trades(instrument, group, ids, aggregate=aggregate)
        return found

    def quotes(self, origin: Origin, native_symbol: str, output: Output) -> Quotes:
        """The quotes of an instrument; raises ParseError(``unknown_instrument``)."""
        found = self._quotes.get(native_symbol)
        if found is None:
            found = Quotes(origin.exchange, self._find(native_symbol, origin, output))
            self._quotes[native_symbol] = found
        return found

    def tickers(self, origin: Origin, native_symbol: str, output: Output) -> Tickers:
        """The tickers of an instrument; raises ParseError(``unknown_instrument``)."""
        found = self._tickers.get(native_symbol)
        if found is None:
            found = Tickers(origin.exchange, self._find(native_symbol, origin, output))
            self._tickers[native_symbol] = found
        return found

    def mark_price(self, origin: Origin, event: MarkPriceUpdate, output: Output) -> None:
        """``@markPrice``: mark price and, for perpetuals, funding."""
        if event.stack == COIN_M:
            return
        instrument = self._find(event.symbol, origin, output)
        mark = (number(event.mark_price, "p"), maybe(event.index_price, "i"))
        rate = signed(event.rate, "r") if event.rate else None
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
        average = maybe(order.average_price, "ap")
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
