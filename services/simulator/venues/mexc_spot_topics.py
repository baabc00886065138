"""MEXC spot v3 public topics: protobuf, one message a frame."""

from hashlib import md5

from typing_extensions import override

from services.simulator.engine import Market, Trade
from services.simulator.engine.candles import Candle
from services.simulator.instruments import decimal_text
from services.simulator.protobuf import encode
from services.simulator.topics import Levels, Message, QuoteTopic, Topic, TradeTopic, WatchTopic, ms

__all__ = [
    "KLINE_INTERVALS",
    "BatchQuotesTopic",
    "DealsTopic",
    "DepthTopic",
    "KlineTopic",
    "LimitDepthTopic",
    "MiniTickersTopic",
    "QuotesTopic",
]

MINUTE_MS = 60_000
KLINE_INTERVALS = {
    "Min1": MINUTE_MS,
    "Min5": 5 * MINUTE_MS,
    "Min15": 15 * MINUTE_MS,
    "Min30": 30 * MINUTE_MS,
    "Min60": 60 * MINUTE_MS,
    "Hour4": 240 * MINUTE_MS,
    "Hour8": 480 * MINUTE_MS,
    "Day1": 1440 * MINUTE_MS,
    "Week1": 7 * 1440 * MINUTE_MS,
    "Month1": 0,
}
MERGED_CADENCE_MS = 100


class PushTopic(Topic):
    """A topic whose messages are wrappers."""

    binary = True

    def encode(self, message: Message) -> bytes:
        return encode(message)

    @property
    def event_type(self) -> str:
        """The channel without the symbol, as the venue repeats it inside the body."""
        return self.name.rpartition("@")[0]

    def wrapper(self, now_ns: int, body: str, content: Message) -> Message:
        """The envelope, fields in the order of their numbers."""
        return {"channel": self.name, "symbol": self.symbol, "sendTime": ms(now_ns), body: content}


def _levels(market: Market, levels: Levels) -> list[Message]:
    instrument = market.instrument
    return [{"price": instrument.price(tick), "quantity": instrument.size(lots)} for tick, lots in levels]


class DealsTopic(PushTopic, TradeTopic):
    """``spot@public.aggre.deals``: the trades of 10 or 100 ms."""

    def __init__(self, name: str, market: Market, cadence_ms: int) -> None:
        super().__init__(name, market)
        self.cadence_ms = cadence_ms

    @override
    def messages(self, trades: list[Trade], now_ns: int) -> list[Message]:
        deals = [
            {
                "price": self.market.instrument.price(trade.tick),
                "quantity": self.market.instrument.size(trade.lots),
                "tradeType": 1 if trade.buy else 2,
                "time": ms(trade.ts_ns),
                "tradeId": f"{trade.maker}X{trade.id}_{trade.taker}X{trade.id}",
            }
            for trade in trades
        ]
        return [self.wrapper(now_ns, "publicAggreDeals", {"deals": deals, "eventType": self.event_type})]

    @override
    def trade_ids(self, message: Message) -> list[str]:
        body = message.get("publicAggreDeals")
        return [str(deal["tradeId"]) for deal in body["deals"]] if body else []


class DepthTopic(PushTopic, WatchTopic):
    """``spot@public.aggre.depth``: changed levels, versions without a hole."""

    def __init__(self, name: str, market: Market, cadence_ms: int) -> None:
        super().__init__(name, market)
        self.cadence_ms = cadence_ms
        self._version = 0

    @override
    def started(self, now_ns: int) -> None:
        self._version = self.market.book.update_id

    @override
    def poll(self, now_ns: int) -> list[Message]:
        if not self.watch:
            return []
        bids, asks = self.changed()
        first, self._version = self._version + 1, self.market.book.update_id
        body = {
            "asks": _levels(self.market, asks),
            "bids": _levels(self.market, bids),
            "eventType": self.event_type,
            "fromVersion": str(first),
            "toVersion": str(self._version),
            "lastOrderCreateTime": ms(self.market.now_ns),
        }
        return [self.wrapper(now_ns, "publicAggreDepths", body)]


class LimitDepthTopic(PushTopic, WatchTopic):
    """``spot@public.limit.depth``: the best 5, 10 or 20 levels whenever something changed."""

    cadence_ms = MERGED_CADENCE_MS

    def __init__(self, name: str, market: Market, depth: int) -> None:
        super().__init__(name, market)
        self._depth = depth

    @property
    @override
    def event_type(self) -> str:
        return "spot@public.limit.depth.v3.api.pb"

    @override
    def greet(self, now_ns: int) -> list[Message]:
        return [self._message(now_ns)]

    @override
    def poll(self, now_ns: int) -> list[Message]:
        if not self.watch:
            return []
        self.watch.clear()
        return [self._message(now_ns)]

    def _message(self, now_ns: int) -> Message:
        book = self.market.book
        body = {
            "asks": _levels(self.market, book.top_asks(self._depth)),
            "bids": _levels(self.market, book.top_bids(self._depth)),
            "eventType": self.event_type,
            "version": str(book.update_id),
            "lastOrderCreateTime": ms(self.market.now_ns),
        }
        return self.wrapper(now_ns, "publicLimitDepths", body)


class QuotesTopic(PushTopic, QuoteTopic):
    """``spot@public.aggre.bookTicker``: at 10 ms the venue repeats an unchanged quote every time."""

    def __init__(self, name: str, market: Market, cadence_ms: int) -> None:
        super().__init__(name, market)
        self.cadence_ms = cadence_ms
        self._repeats = cadence_ms == 10

    @override
    def greet(self, now_ns: int) -> list[Message]:
        return [self.message(now_ns)]

    @override
    def poll(self, now_ns: int) -> list[Message]:
        return super().poll(now_ns) or ([self.message(now_ns)] if self._repeats else [])

    @override
    def message(self, now_ns: int) -> Message:
        body = quote(self.market, self.last)
        body["version"] = str(self.market.book.update_id)
        body["lastOrderCreateTime"] = ms(self.market.now_ns)
        return self.wrapper(now_ns, "publicAggreBookTicker", body)


class BatchQuotesTopic(PushTopic, QuoteTopic):
    """``spot@public.bookTicker.batch``: the quote inside a list."""

    cadence_ms = MERGED_CADENCE_MS

    @override
    def message(self, now_ns: int) -> Message:
        body = {
            "items": [quote(self.market, self.last)],
            "version": str(self.market.book.update_id),
            "lastOrderCreateTime": ms(self.market.now_ns),
        }
        return self.wrapper(now_ns, "publicBookTickerBatch", body)


def quote(market: Market, best: tuple[Levels, Levels]) -> Message:
    """The four fields; an empty side has none."""
    fields: Message = {}
    for side, levels in zip(("bid", "ask"), best, strict=True):
        if levels:
            tick, lots = levels[0]
            fields[side + "Price"] = market.instrument.price(tick)
            fields[side + "Quantity"] = market.instrument.size(lots)
    return fields


class KlineTopic(PushTopic):
    """``spot@public.kline``: seconds, no flag for closed, its own wrapper fields."""

    feed = "candle"
    cadence_ms = 1000

    def __init__(self, name: str, market: Market, interval: str) -> None:
        super().__init__(name, market)
        self.interval = interval
        self._symbol_id = md5(self.symbol.encode(), usedforsecurity=False).hexdigest()
        self._sent: tuple[Candle | None, int] = (None, -1)

    @override
    def start(self, now_ns: int) -> None:
        self._sent = (None, -1)

    @override
    def poll(self, now_ns: int) -> list[Message]:
        candle = self.market.candles.get(KLINE_INTERVALS[self.interval], ms(now_ns))
        before = self._sent
        if before == (candle, candle.trades):
            return []
        self._sent = (candle, candle.trades)
        last = [self._message(before[0], now_ns)] if before[0] is not None and before[0] is not candle else []
        return [*last, self._message(candle, now_ns)]

    def _message(self, candle: Candle, now_ns: int) -> Message:
        instrument = self.market.instrument
        body = {
            "interval": self.interval,
            "windowStart": candle.start_ms // 1000,
            "openingPrice": instrument.price(candle.open),
            "closingPrice": instrument.price(candle.close),
            "highestPrice": instrument.price(candle.high),
            "lowestPrice": instrument.price(candle.low),
            "volume": instrument.size(candle.volume),
            "amount": instrument.turnover(candle.turnover),
            "windowEnd": candle.end_ms // 1000,
        }
        return {
            "channel": self.name,
            "symbol": self.symbol,
            "symbolId": self._symbol_id,
            "createTime": ms(now_ns),
            "publicSpotKline": body,
        }


class MiniTickersTopic(PushTopic):
    """``spot@public.miniTicker`` and, with every market, ``miniTickers``: 24 hour statistics every three seconds."""

    feed = "ticker"
    cadence_ms = 3000

    def __init__(self, name: str, markets: list[Market], *, single: bool) -> None:
        super().__init__(name, markets[0])
        self._markets = markets
        self._single = single

    @property
    @override
    def symbol(self) -> str:
        return super().symbol if self._single else ""

    @override
    def poll(self, now_ns: int) -> list[Message]:
        items = [_mini_ticker(market) for market in self._markets]
        if self._single:
            return [self.wrapper(now_ns, "publicMiniTicker", items[0])]
        return [{"channel": self.name, "sendTime": ms(now_ns), "publicMiniTickers": {"items": items}}]


def _mini_ticker(market: Market) -> Message:
    statistics, instrument = market.statistics, market.instrument
    rate = decimal_text((statistics.last - statistics.open) * 10**4 // statistics.open, 4)
    high, low = instrument.price(statistics.high), instrument.price(statistics.low)
    return {
        "symbol": instrument.native_symbol,
        "price": instrument.price(statistics.last),
        "rate": rate,
        "zonedRate": rate,
        "high": high,
        "low": low,
        "volume": instrument.turnover(statistics.turnover),
        "quantity": instrument.size(statistics.volume),
        "lastCloseRate": rate,
        "lastCloseZonedRate": rate,
        "lastCloseHigh": high,
        "lastCloseLow": low,
    }
