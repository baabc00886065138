"""Trades and quotes as messages, a pile of frames in one go. Source: trade.mdx and orderbook.mdx."""

from typing import Final

from shared.errors import ParseError
from shared.exchanges.base import Group, Origin, Output
from shared.exchanges.bybit.wire import (
    ARRAY_TRADE,
    FRAME_PLAIN_QUOTE,
    FRAME_PLAIN_TRADES,
    FRAME_QUOTE,
    TradeItem,
    decode,
    nanoseconds,
)
from shared.exchanges.lanes import UNREADABLE, Pile
from shared.exchanges.levels import base_size, number
from shared.instruments import Instrument
from shared.messages import Quote, Side, Trade
from shared.numbers import PROVED, is_zero, proves
from shared.sequencing import DuplicateWindow

__all__ = ["QuotePile", "Quotes", "TradePile", "Trades"]

_decode_trades: Final = FRAME_PLAIN_TRADES.decode
_decode_quote: Final = FRAME_PLAIN_QUOTE.decode

_Pair = tuple[str, str]

_NOTHING: Final = ""
"""The size of no quote."""

_TAKER: Final[dict[str, Side]] = {"Buy": "buy", "Sell": "sell"}


class Trades:
    """The trades of one instrument, each once: an id that was seen before is a duplicate, also on a new connection."""

    __slots__ = ("_instrument", "group", "native", "symbol", "window")

    def __init__(self, exchange: str, instrument: Instrument, window: DuplicateWindow) -> None:
        self._instrument = instrument
        self.symbol = instrument.symbol
        self.native = instrument.native_symbol
        self.group = Group("trade", exchange, instrument.symbol)
        self.window = window

    def read(self, origin: Origin, data: bytes, output: Output) -> None:
        """``publicTrade``, trade by trade: one that can't be read is rejected alone."""
        for item in ARRAY_TRADE.items(data, output):
            try:
                self._trade(origin, item, output)
            except ParseError as error:
                output.reject(error)

    def _trade(self, origin: Origin, item: TradeItem, output: Output) -> None:
        inverse = self._instrument.inverse
        price, size = number(item.price, "p"), number(item.size, "v")
        ts_exchange = nanoseconds(item.traded_at, "T")
        base, native = (base_size(self._instrument, size, price), size) if inverse else (size, None)
        if item.trade_id and self.window.seen(item.trade_id):
            output.duplicates += 1
            return
        head = origin.head(self._instrument, ts_exchange)
        side = _TAKER.get(item.side, "unknown")
        message = Trade(*head, output.parts, item.trade_id or None, price, base, side, native)
        self.group.put(message, output)


class TradePile(Pile[Trades]):
    """``publicTrade`` of contracts that are not inverse: up to 1024 trades a frame, oldest first."""

    def take(self, origin: Origin, output: Output) -> int:
        """See :class:`Pile`."""
        exchange, ts_normalized, stream, epoch = origin.exchange, origin.ts_normalized, origin.stream, origin.epoch
        proved, taker, segment = PROVED, _TAKER, output.segment
        for lane, frame, ts_received, data in self.frames:
            try:
                items = _decode_trades(data).data
            except UNREADABLE:
                return self.position(frame)
            for item in items:
                price = item.price
                size = item.size
                if (price not in proved and not proves(price)) or (size not in proved and not proves(size)):
                    return self.position(frame)
            trades = lane.state
            group, window, symbol, native = trades.group, trades.window, trades.symbol, trades.native
            if group.segment is not segment:
                group.open(output)
            messages, new, old = group.messages, window.new, window.old
            part = 0
            for item in items:
                trade_id = item.trade_id
                if trade_id in new or trade_id in old:
                    output.duplicates += 1
                    continue
                new.add(trade_id)
                messages.append(
                    Trade(
                        exchange,
                        symbol,
                        native,
                        item.traded_at * 1_000_000,
                        ts_received,
                        ts_normalized,
                        stream,
                        epoch,
                        frame,
                        part,
                        trade_id,
                        item.price,
                        item.size,
                        taker[item.side],
                    )
                )
                part += 1
            if len(new) >= window.size:
                window.turn()
        return len(self.frames)


class Quotes:
    """Best bid and offer of one instrument. The venue repeats an unchanged one every 3 s: that is a duplicate."""

    __slots__ = ("_instrument", "ask", "ask_size", "bid", "bid_size", "group", "native", "symbol")

    def __init__(self, exchange: str, instrument: Instrument) -> None:
        self._instrument = instrument
        self.symbol = instrument.symbol
        self.native = instrument.native_symbol
        self.group = Group("quote", exchange, instrument.symbol)
        self.bid: str | None = None
        self.bid_size: str | None = _NOTHING
        self.ask: str | None = None
        self.ask_size: str | None = None

    def forget(self) -> None:
        """A new connection: its first quote is news, whatever it is."""
        self.bid_size = _NOTHING

    def read(self, origin: Origin, data: bytes, output: Output) -> None:
        """``orderbook.1``; raises ParseError."""
        frame = decode(FRAME_QUOTE, data)
        levels, ts = frame.data, frame.cts or frame.ts
        if frame.type != "snapshot":
            raise ParseError("unknown_event", f"orderbook.1 of type {frame.type[:40]!r}")
        ts_exchange = nanoseconds(ts, "cts")
        instrument = self._instrument
        bid, bid_size, bid_native = _side(instrument, levels.b, "bids")
        ask, ask_size, ask_native = _side(instrument, levels.a, "asks")
        # Of an inverse contract the base size depends on the price: what the venue wrote is what is the same or not.
        told = bid, bid_native or bid_size, ask, ask_native or ask_size
        if told == (self.bid, self.bid_size, self.ask, self.ask_size):
            output.duplicates += 1
            return
        self.bid, self.bid_size, self.ask, self.ask_size = told
        head = origin.head(instrument, ts_exchange)
        native = (bid_native, ask_native) if instrument.inverse else (None, None)
        self.group.put(Quote(*head, output.parts, bid, bid_size, ask, ask_size, levels.u, *native), output)


class QuotePile(Pile[Quotes]):
    """``orderbook.1`` of contracts that are not inverse, which is documented to come as snapshots only."""

    def take(self, origin: Origin, output: Output) -> int:
        """See :class:`Pile`."""
        exchange, ts_normalized, stream, epoch = origin.exchange, origin.ts_normalized, origin.stream, origin.epoch
        proved, segment = PROVED, output.segment
        for lane, frame, ts_received, data in self.frames:
            try:
                quote = _decode_quote(data)
            except UNREADABLE:
                return self.position(frame)
            levels, quotes = quote.data, lane.state
            ((bid, bid_size),) = levels.b
            ((ask, ask_size),) = levels.a
            if (
                (bid not in proved and not proves(bid))
                or (bid_size not in proved and not proves(bid_size))
                or (ask not in proved and not proves(ask))
                or (ask_size not in proved and not proves(ask_size))
            ):
                return self.position(frame)
            if bid_size == quotes.bid_size and ask_size == quotes.ask_size and bid == quotes.bid and ask == quotes.ask:
                output.duplicates += 1
                continue
            quotes.bid = bid
            quotes.bid_size = bid_size
            quotes.ask = ask
            quotes.ask_size = ask_size
            group = quotes.group
            if group.segment is not segment:
                group.open(output)
            group.messages.append(
                Quote(
                    exchange,
                    quotes.symbol,
                    quotes.native,
                    quote.cts * 1_000_000,
                    ts_received,
                    ts_normalized,
                    stream,
                    epoch,
                    frame,
                    0,
                    bid,
                    bid_size,
                    ask,
                    ask_size,
                    levels.u,
                )
            )
        return len(self.frames)


def _side(instrument: Instrument, levels: list[_Pair], side: str) -> tuple[str | None, str | None, str | None]:
    if not levels:
        return None, None, None
    price, size = levels[0]
    price, size = number(price, f"{side} price"), number(size, f"{side} size")
    if is_zero(size):
        return None, None, None
    return (price, base_size(instrument, size, price), size) if instrument.inverse else (price, size, None)
