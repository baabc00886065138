"""Binance streams of trades, books and quotes, as spot and USD-M have them."""

from typing_extensions import override

from services.simulator.engine import Market, Trade
from services.simulator.topics import Levels, Message, QuoteTopic, Topic, TradeTopic, WatchTopic, ms

__all__ = [
    "AggregateTopic",
    "BookTickerTopic",
    "DiffDepthTopic",
    "PartialDepthTopic",
    "TradesTopic",
    "depth_topic",
    "is_spot",
    "type_and_pair",
]

PARTIAL_DEPTHS = frozenset({"5", "10", "20"})
UNITED_MARGIN = 1
"""``st`` of USD-M instruments since both futures markets share one stack."""


def identity(market: Market) -> Message:
    """``s`` and, on USD-M, pair and market type."""
    symbol = market.instrument.native_symbol
    if market.instrument.is_spot:
        return {"s": symbol}
    return {"s": symbol, "ps": symbol.partition("_")[0], "st": UNITED_MARGIN}


def levels_text(market: Market, levels: Levels) -> list[list[str]]:
    """``[[price, size], …]``."""
    instrument = market.instrument
    return [[instrument.price(tick), instrument.size(lots)] for tick, lots in levels]


def is_spot(market: Market) -> bool:
    """Whether the instrument is spot's."""
    return market.instrument.is_spot


class TradesTopic(TradeTopic):
    """``<s>@trade``: one frame a trade; ``m`` says that the buyer was the maker."""

    @override
    def messages(self, trades: list[Trade], now_ns: int) -> list[Message]:
        return [self._message(trade, now_ns) for trade in trades]

    def _message(self, trade: Trade, now_ns: int) -> Message:
        instrument = self.market.instrument
        rest = {
            "s": instrument.native_symbol,
            "t": trade.id,
            "p": instrument.price(trade.tick),
            "q": instrument.size(trade.lots),
        }
        head = {"e": "trade", "E": ms(now_ns)}
        if is_spot(self.market):
            return {**head, **rest, "T": ms(trade.ts_ns), "m": not trade.buy, "M": True}
        return {**head, "T": ms(trade.ts_ns), **rest, "X": "MARKET", "m": not trade.buy, "st": UNITED_MARGIN}

    @override
    def trade_ids(self, message: Message) -> list[str]:
        return [str(message.get("t"))]


class AggregateTopic(TradeTopic):
    """``<s>@aggTrade``: fills of one taker order at one price in one frame."""

    def __init__(self, name: str, market: Market, cadence_ms: int) -> None:
        super().__init__(name, market)
        self.cadence_ms = cadence_ms
        self._next_id = market.next_trade_id

    @override
    def messages(self, trades: list[Trade], now_ns: int) -> list[Message]:
        groups: list[list[Trade]] = []
        for trade in trades:
            if groups and (groups[-1][0].taker, groups[-1][0].tick) == (trade.taker, trade.tick):
                groups[-1].append(trade)
            else:
                groups.append([trade])
        return [self._message(group, now_ns) for group in groups]

    def _message(self, group: list[Trade], now_ns: int) -> Message:
        instrument, first, last = self.market.instrument, group[0], group[-1]
        quantity = instrument.size(sum(trade.lots for trade in group))
        number, self._next_id = self._next_id, self._next_id + 1
        symbol, price = instrument.native_symbol, instrument.price(first.tick)
        tail = {"f": first.id, "l": last.id, "T": ms(last.ts_ns), "m": not first.buy}
        if is_spot(self.market):
            head = {"e": "aggTrade", "E": ms(now_ns), "s": symbol, "a": number, "p": price, "q": quantity}
            return {**head, **tail, "M": True}
        head = {"e": "aggTrade", "E": ms(now_ns), "a": number, "s": symbol, "p": price, "q": quantity}
        return {**head, "nq": quantity, **tail, "st": UNITED_MARGIN}

    @override
    def trade_ids(self, message: Message) -> list[str]:
        return [str(message.get("a"))]


class DiffDepthTopic(WatchTopic):
    """``<s>@depth``: spot ids continue (``U`` = last ``u`` + 1); USD-M ids skip and ``pu`` is the chain."""

    def __init__(self, name: str, market: Market, cadence_ms: int) -> None:
        super().__init__(name, market)
        self.cadence_ms = cadence_ms
        self._last_id = 0

    @override
    def started(self, now_ns: int) -> None:
        self._last_id = self.market.book.update_id

    @override
    def poll(self, now_ns: int) -> list[Message]:
        if not self.watch:
            return []
        first_id = self.watch.first_id
        bids, asks = self.changed()
        previous, self._last_id = self._last_id, self.market.book.update_id
        sides = {"b": levels_text(self.market, bids), "a": levels_text(self.market, asks)}
        if is_spot(self.market):
            head = {"e": "depthUpdate", "E": ms(now_ns), "s": self.symbol, "U": previous + 1, "u": self._last_id}
            return [{**head, **sides}]
        times = {"e": "depthUpdate", "E": ms(now_ns), "T": ms(self.market.now_ns)}
        ids = {"U": first_id, "u": self._last_id, "pu": previous}
        return [{**times, **identity(self.market), **ids, **sides}]


class PartialDepthTopic(WatchTopic):
    """``<s>@depth<N>``: the best levels; on spot without event type and symbol."""

    def __init__(self, name: str, market: Market, depth: int, cadence_ms: int) -> None:
        super().__init__(name, market)
        self.cadence_ms = cadence_ms
        self._depth = depth
        self._last_id = 0

    @override
    def started(self, now_ns: int) -> None:
        self._last_id = self.market.book.update_id

    @override
    def poll(self, now_ns: int) -> list[Message]:
        if not self.watch:
            return []
        first_id = self.watch.first_id
        self.watch.clear()
        book = self.market.book
        previous, self._last_id = self._last_id, book.update_id
        bids = levels_text(self.market, book.top_bids(self._depth))
        asks = levels_text(self.market, book.top_asks(self._depth))
        if is_spot(self.market):
            return [{"lastUpdateId": book.update_id, "bids": bids, "asks": asks}]
        times = {"e": "depthUpdate", "E": ms(now_ns), "T": ms(self.market.now_ns)}
        ids = {"U": first_id, "u": self._last_id, "pu": previous}
        return [{**times, **identity(self.market), **ids, "b": bids, "a": asks}]


class BookTickerTopic(QuoteTopic):
    """``<s>@bookTicker``: on spot without event type and times."""

    @override
    def message(self, now_ns: int) -> Message:
        instrument = self.market.instrument
        bids, asks = self.last
        bid, bid_lots = bids[0] if bids else (0, 0)
        ask, ask_lots = asks[0] if asks else (0, 0)
        sides = {
            "b": instrument.price(bid),
            "B": instrument.size(bid_lots),
            "a": instrument.price(ask),
            "A": instrument.size(ask_lots),
        }
        update = self.market.book.update_id
        if is_spot(self.market):
            return {"u": update, "s": instrument.native_symbol, **sides}
        head = {"e": "bookTicker", "u": update, "E": ms(now_ns), "T": ms(self.market.now_ns)}
        return {**head, "s": instrument.native_symbol, **sides, **type_and_pair(self.market)}


def type_and_pair(market: Market) -> Message:
    """Market type and pair, at the end of most USD-M events."""
    return {"st": UNITED_MARGIN, "ps": market.instrument.native_symbol.partition("_")[0]}


def depth_topic(name: str, market: Market, depth: str, cadence_ms: int | None) -> Topic | None:
    """``depth`` or ``depth<N>`` at a cadence the product has."""
    if cadence_ms is None:
        return None
    if not depth:
        return DiffDepthTopic(name, market, cadence_ms)
    return PartialDepthTopic(name, market, int(depth), cadence_ms) if depth in PARTIAL_DEPTHS else None
