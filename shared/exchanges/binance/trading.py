"""Trades, quotes and tickers of one instrument each: the hot events.

Every method takes an event that is of this instrument and of this venue's USD-M or spot, and raises ParseError before
it has changed anything. A number that was proved before is not looked at again.
"""

from typing import Final

from shared.exchanges.base import Group, Origin, Output
from shared.exchanges.binance.values import LAST_MS, best, event_time, maybe, nanoseconds
from shared.exchanges.binance.wire import AggregateTrade, BookTicker, Ticker24h, TradeEvent
from shared.exchanges.levels import number
from shared.exchanges.runs import IdRuns
from shared.instruments import Instrument
from shared.messages import Quote, Ticker, Trade
from shared.numbers import PROVED, is_plain, proves

__all__ = ["Quotes", "Tickers", "Trades"]


_NOTHING: Final = ""
"""The size of no quote."""


class Trades:
    """Trades, each once."""

    __slots__ = ("_ids", "_native", "_symbol", "group")

    def __init__(self, instrument: Instrument, group: Group, ids: IdRuns) -> None:
        self._symbol = instrument.symbol
        self._native = instrument.native_symbol
        self._ids = ids
        self.group = group

    def take(self, origin: Origin, event: TradeEvent | AggregateTrade, output: Output) -> None:
        """``@trade`` or ``@aggTrade``, which count for themselves."""
        price, size, ts, trade_id = event.price, event.size, event.ts_trade, event.trade_id
        if price not in PROVED and not proves(price):
            price = number(price, "p")
        if size not in PROVED and not proves(size):
            size = number(size, "q")
        if not 0 <= ts < LAST_MS:
            nanoseconds(ts, "T")
        ids = self._ids
        if trade_id == ids.expected:
            ids.expected = trade_id + 1
        elif ids.seen(trade_id):
            output.duplicates += 1
            return
        group, part = self.group, output.parts
        if group.segment is not output.segment:
            group.open(output)
        group.messages.append(
            Trade(
                origin.exchange,
                self._symbol,
                self._native,
                ts * 1_000_000,
                origin.ts_received,
                origin.ts_normalized,
                origin.stream,
                origin.epoch,
                origin.frame,
                part,
                str(trade_id),
                price,
                size,
                "sell" if event.buyer_is_maker else "buy",
            )
        )
        output.parts = part + 1


class Quotes:
    """Best bid and offer, told when it changes."""

    __slots__ = ("_ask", "_ask_size", "_bid", "_bid_size", "_group", "_native", "_symbol")

    def __init__(self, exchange: str, instrument: Instrument) -> None:
        self._symbol = instrument.symbol
        self._native = instrument.native_symbol
        self._group = Group("quote", exchange, instrument.symbol)
        self._bid: str | None = None
        self._bid_size: str | None = _NOTHING
        self._ask: str | None = None
        self._ask_size: str | None = None

    def take(self, origin: Origin, event: BookTicker, output: Output) -> None:
        """``@bookTicker``; an empty side has size 0."""
        bid, bid_size, ask, ask_size = event.bid_price, event.bid_size, event.ask_price, event.ask_size
        if not (bid in PROVED or proves(bid)) or not (bid_size in PROVED or proves(bid_size)):
            bid, bid_size = best(bid, bid_size, "b", "B")  # type: ignore[assignment]
        if not (ask in PROVED or proves(ask)) or not (ask_size in PROVED or proves(ask_size)):
            ask, ask_size = best(ask, ask_size, "a", "A")  # type: ignore[assignment]
        ts = event.ts_transaction
        if ts is not None and 0 <= ts < LAST_MS:
            ts *= 1_000_000
        elif ts is not None or event.ts_event is not None:
            ts = event_time(ts, event.ts_event)
        if bid_size == self._bid_size and ask_size == self._ask_size and bid == self._bid and ask == self._ask:
            output.duplicates += 1
            return
        self._bid, self._bid_size, self._ask, self._ask_size = bid, bid_size, ask, ask_size
        group, part = self._group, output.parts
        if group.segment is not output.segment:
            group.open(output)
        group.messages.append(
            Quote(
                origin.exchange,
                self._symbol,
                self._native,
                ts,
                origin.ts_received,
                origin.ts_normalized,
                origin.stream,
                origin.epoch,
                origin.frame,
                part,
                bid,
                bid_size,
                ask,
                ask_size,
                event.update_id,
            )
        )
        output.parts = part + 1

    def forget(self) -> None:
        """A new epoch: the next quote is told, whatever it is."""
        self._bid_size = _NOTHING


class Tickers:
    """24-hour statistics."""

    __slots__ = ("_group", "_native", "_symbol")

    def __init__(self, exchange: str, instrument: Instrument) -> None:
        self._symbol = instrument.symbol
        self._native = instrument.native_symbol
        self._group = Group("ticker", exchange, instrument.symbol)

    def take(self, origin: Origin, event: Ticker24h, output: Output) -> None:
        """``@ticker`` and ``@miniTicker``."""
        # Volumes are new each time: to remember them would cost more than to look at them.
        last, bid, bid_size = event.last_price, event.bid_price, event.bid_size
        ask, ask_size = event.ask_price, event.ask_size
        opened, high, low = event.open_price, event.high_price, event.low_price
        volume, turnover, ts = event.volume, event.turnover, event.ts_event
        if last not in PROVED and not proves(last):
            last = number(last, "c")
        if (bid not in PROVED or bid_size not in PROVED) and (bid, bid_size) != (None, None):
            bid, bid_size = best(bid, bid_size, "b", "B")
        if (ask not in PROVED or ask_size not in PROVED) and (ask, ask_size) != (None, None):
            ask, ask_size = best(ask, ask_size, "a", "A")
        ts_exchange = ts * 1_000_000 if 0 <= ts < LAST_MS else nanoseconds(ts, "E")
        message = Ticker(
            origin.exchange,
            self._symbol,
            self._native,
            ts_exchange,
            origin.ts_received,
            origin.ts_normalized,
            origin.stream,
            origin.epoch,
            origin.frame,
            output.parts,
            last,
            bid,
            bid_size,
            ask,
            ask_size,
            opened if opened in PROVED or (opened and proves(opened)) else maybe(opened, "o"),
            high if high in PROVED or (high and proves(high)) else maybe(high, "h"),
            low if low in PROVED or (low and proves(low)) else maybe(low, "l"),
            volume if volume and is_plain(volume) else maybe(volume, "v"),
            turnover if turnover and is_plain(turnover) else maybe(turnover, "q"),
        )
        group = self._group
        if group.segment is not output.segment:
            group.open(output)
        group.messages.append(message)
        output.parts += 1
