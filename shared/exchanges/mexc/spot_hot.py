"""Spot: trades, quotes and tickers of one instrument each, a pile of frames in one go."""

from collections.abc import Iterable
from typing import Final

from google.protobuf.message import DecodeError

from shared.errors import ParseError
from shared.exchanges.base import Group, Origin, Output
from shared.exchanges.lanes import Pile
from shared.exchanges.levels import number
from shared.exchanges.mexc.market import SIDES
from shared.exchanges.mexc.push_pb2 import (
    PublicAggreBookTickerV3Api,
    PublicAggreDealsV3ApiItem,
    PublicBookTickerV3Api,
    PublicMiniTickerV3Api,
    PushDataV3ApiWrapper,
)
from shared.exchanges.mexc.wire import LAST_MS, MILLISECOND, nanoseconds, optional_number, price_or_none
from shared.instruments import Instrument
from shared.messages import Quote, Ticker, Trade
from shared.numbers import PROVED, are_plain, is_zero, proves
from shared.sequencing import DuplicateWindow

__all__ = ["DealPile", "QuotePile", "Quotes", "TickerPile", "Tickers", "Trades"]

_parse: Final = PushDataV3ApiWrapper.FromString

_NOTHING: Final = ""
"""The size of no quote."""


class Trades:
    """Trades, each once. ``tradeId`` is two order ids joined, absent before 2026-07; all of it identifies the trade."""

    __slots__ = ("_instrument", "group", "native", "symbol", "window")

    def __init__(self, exchange: str, instrument: Instrument, window: DuplicateWindow) -> None:
        self._instrument = instrument
        self.symbol = instrument.symbol
        self.native = instrument.native_symbol
        self.group = Group("trade", exchange, instrument.symbol)
        self.window = window

    def take(
        self, origin: Origin, deals: Iterable[PublicAggreDealsV3ApiItem], sent: int | None, output: Output
    ) -> None:
        """``aggre.deals``: one that can't be read is rejected alone."""
        for deal in deals:
            try:
                self._deal(origin, deal, sent, output)
            except ParseError as error:
                output.reject(error)

    def _deal(self, origin: Origin, deal: PublicAggreDealsV3ApiItem, sent: int | None, output: Output) -> None:
        price, size = number(deal.price, "price"), number(deal.quantity, "quantity")
        trade_id, ts_exchange = deal.tradeId or None, nanoseconds(deal.time) or sent
        if trade_id is not None and self.window.seen(trade_id):
            output.duplicates += 1
            return
        head, side = origin.head(self._instrument, ts_exchange), SIDES.get(deal.tradeType, "unknown")
        self.group.put(Trade(*head, output.parts, trade_id, price, size, side), output)


class Quotes:
    """Best bid and offer, told when it changes."""

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

    def take(
        self,
        origin: Origin,
        body: PublicAggreBookTickerV3Api | PublicBookTickerV3Api,
        sequence: int | None,
        sent: int | None,
        output: Output,
    ) -> None:
        """``aggre.bookTicker``: an empty side has neither price nor quantity."""
        bid, bid_size = _side(body.bidPrice, body.bidQuantity, "bid")
        ask, ask_size = _side(body.askPrice, body.askQuantity, "ask")
        if (bid, bid_size, ask, ask_size) == (self.bid, self.bid_size, self.ask, self.ask_size):
            output.duplicates += 1
            return
        self.bid, self.bid_size, self.ask, self.ask_size = bid, bid_size, ask, ask_size
        head = origin.head(self._instrument, sent)
        self.group.put(Quote(*head, output.parts, bid, bid_size, ask, ask_size, sequence), output)

    def forget(self) -> None:
        """The next quote is told, whatever it is."""
        self.bid_size = _NOTHING


class Tickers:
    """24-hour statistics."""

    __slots__ = ("_instrument", "group", "native", "symbol")

    def __init__(self, exchange: str, instrument: Instrument) -> None:
        self._instrument = instrument
        self.symbol = instrument.symbol
        self.native = instrument.native_symbol
        self.group = Group("ticker", exchange, instrument.symbol)

    def take(self, origin: Origin, body: PublicMiniTickerV3Api, sent: int | None, output: Output) -> None:
        """``miniTicker``: ``quantity`` is base volume, ``volume`` quote turnover."""
        message = Ticker(
            *origin.head(self._instrument, sent),
            output.parts,
            number(body.price, "price"),
            high_price=price_or_none(body.high, "high"),
            low_price=price_or_none(body.low, "low"),
            volume=optional_number(body.quantity, "quantity"),
            turnover=optional_number(body.volume, "volume"),
        )
        self.group.put(message, output)


def _side(price: str, size: str, name: str) -> tuple[str | None, str | None]:
    if not price and not size:
        return None, None
    price, size = number(price, f"{name} price"), number(size, f"{name} quantity")
    return (None, None) if is_zero(size) else (price, size)


class DealPile(Pile[Trades]):
    """``aggre.deals``."""

    def take(self, origin: Origin, output: Output) -> int:
        """See :class:`Pile`."""
        exchange, ts_normalized, stream, epoch = origin.exchange, origin.ts_normalized, origin.stream, origin.epoch
        sides, segment = SIDES, output.segment
        for lane, frame, ts_received, data in self.frames:
            try:
                push = _parse(data)
            except DecodeError:
                return self.position(frame)
            trades = lane.state
            deals = [
                (deal.price, deal.quantity, deal.time, deal.tradeId, deal.tradeType)
                for deal in push.publicAggreDeals.deals
            ]
            if push.symbol != trades.native or not _usual(deals):
                return self.position(frame)
            group, window = trades.group, trades.window
            if group.segment is not segment:
                group.open(output)
            messages = group.messages
            part = 0
            for price, size, ts, trade_id, side in deals:
                if trade_id in window.new or trade_id in window.old:
                    output.duplicates += 1
                    continue
                window.new.add(trade_id)
                messages.append(
                    Trade(
                        exchange,
                        trades.symbol,
                        trades.native,
                        ts * 1_000_000,
                        ts_received,
                        ts_normalized,
                        stream,
                        epoch,
                        frame,
                        part,
                        trade_id,
                        price,
                        size,
                        sides.get(side, "unknown"),
                    )
                )
                part += 1
            if len(window.new) >= window.size:
                window.turn()
        return len(self.frames)


def _usual(deals: list[tuple[str, str, int, str, int]]) -> bool:
    """Whether there are deals, each with an id, a time, and numbers that are plain and above zero."""
    proved = PROVED
    for price, size, ts, trade_id, _ in deals:
        if (price not in proved and not proves(price)) or (size not in proved and not proves(size)):
            return False
        if not trade_id or not 0 < ts <= LAST_MS:
            return False
    return bool(deals)


class QuotePile(Pile[Quotes]):
    """``aggre.bookTicker``."""

    def take(self, origin: Origin, output: Output) -> int:
        """See :class:`Pile`."""
        exchange, ts_normalized, stream, epoch = origin.exchange, origin.ts_normalized, origin.stream, origin.epoch
        proved, segment = PROVED, output.segment
        for lane, frame, ts_received, data in self.frames:
            try:
                push = _parse(data)
            except DecodeError:
                return self.position(frame)
            quotes, body, sent = lane.state, push.publicAggreBookTicker, push.sendTime
            bid = body.bidPrice
            bid_size = body.bidQuantity
            ask = body.askPrice
            ask_size = body.askQuantity
            version = body.version
            if (
                (bid not in proved and not proves(bid))
                or (bid_size not in proved and not proves(bid_size))
                or (ask not in proved and not proves(ask))
                or (ask_size not in proved and not proves(ask_size))
                or push.symbol != quotes.native
                or not 0 < sent <= LAST_MS
                or len(version) >= _LONG
                or not (version.isascii() and version.isdecimal())
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
                    sent * MILLISECOND,
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
                    int(version),
                )
            )
        return len(self.frames)


_LONG: Final = 19
"""So many digits may be more than 64 bits hold."""


class TickerPile(Pile[Tickers]):
    """``miniTicker``."""

    def take(self, origin: Origin, output: Output) -> int:
        """See :class:`Pile`."""
        exchange, ts_normalized, stream, epoch = origin.exchange, origin.ts_normalized, origin.stream, origin.epoch
        proved, segment = PROVED, output.segment
        for lane, frame, ts_received, data in self.frames:
            try:
                push = _parse(data)
            except DecodeError:
                return self.position(frame)
            tickers, body, sent = lane.state, push.publicMiniTicker, push.sendTime
            price = body.price
            high = body.high
            low = body.low
            size = body.quantity
            turnover = body.volume
            if (
                (price not in proved and not proves(price))
                or (high not in proved and not proves(high))
                or (low not in proved and not proves(low))
                or not are_plain((size, turnover))
                or push.symbol != tickers.native
                or not 0 < sent <= LAST_MS
            ):
                return self.position(frame)
            group = tickers.group
            if group.segment is not segment:
                group.open(output)
            group.messages.append(
                Ticker(
                    exchange,
                    tickers.symbol,
                    tickers.native,
                    sent * MILLISECOND,
                    ts_received,
                    ts_normalized,
                    stream,
                    epoch,
                    frame,
                    0,
                    price,
                    None,
                    None,
                    None,
                    None,
                    None,
                    high,
                    low,
                    size,
                    turnover,
                )
            )
        return len(self.frames)
