"""MEXC contract topics: JSON whose prices and sizes are bare numbers, sometimes with an exponent."""

from msgspec import Raw
from typing_extensions import override

from services.simulator.engine import Market, Trade
from services.simulator.engine.candles import Candle
from services.simulator.instruments import decimal_text
from services.simulator.topics import Levels, Message, Topic, TradeTopic, WatchTopic, ms

__all__ = [
    "KLINE_INTERVALS",
    "DealTopic",
    "DepthTopic",
    "FullDepthTopic",
    "FundingTopic",
    "KlineTopic",
    "PriceTopic",
    "RawDepthTopic",
    "TickerTopic",
    "TickersTopic",
    "level",
    "number",
    "price",
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
LONG_ZEROS = "." + "0" * 30
MOST_RAW_FRAMES = 5000
Change = tuple[int, bool, int, int]
"""(id, whether a bid, tick, lots)."""


def number(text: str) -> Raw:
    """A bare JSON number without the zeros behind its point."""
    return Raw((text.rstrip("0").rstrip(".") if "." in text else text).encode())


def price(market: Market, tick: int) -> Raw:
    """A price as a bare number."""
    return number(market.instrument.price(tick))


def level(market: Market, tick: int, lots: int, *, buy: bool) -> list[Raw | int]:
    """``[price, contracts, orders]``. A price that ends in zeros comes in exponent form (``8.67E+4``)."""
    held = (market.book.bids if buy else market.book.asks).get(tick)
    orders = len(held.orders) if held is not None else 0
    text = market.instrument.price(tick)
    whole = text.rstrip("0").rstrip(".") if "." in text else text
    digits = whole.rstrip("0")
    if "." in whole or len(whole) - len(digits) < 1 or len(digits) < 2:
        return [Raw(whole.encode()), lots, orders]
    exponent = Raw(f"{digits[0]}.{digits[1:]}E+{len(whole) - 1}".encode())
    return [exponent, Raw(f"{lots}{LONG_ZEROS}".encode()) if lots else 0, orders]


class PushTopic(Topic):
    """A topic whose messages are ``{symbol, data, channel, ts}``."""

    channel = ""

    def push(self, data: object, now_ns: int) -> Message:
        """The envelope."""
        return {"symbol": self.symbol, "data": data, "channel": self.channel, "ts": ms(now_ns)}


class DealTopic(PushTopic, TradeTopic):
    """``sub.deal``: trades of 10 ms in one array, or one object a frame without compression."""

    channel = "push.deal"

    def __init__(self, name: str, market: Market, *, merged: bool) -> None:
        super().__init__(name, market)
        self._merged = merged

    @override
    def messages(self, trades: list[Trade], now_ns: int) -> list[Message]:
        deals = [
            {
                "p": price(self.market, trade.tick),
                "v": trade.lots,
                "T": 1 if trade.buy else 2,
                "O": 3,
                "M": 2,
                "t": ms(trade.ts_ns),
                "i": str(trade.id),
                "cts": str(ms(trade.ts_ns)),
            }
            for trade in trades
        ]
        return [self.push(deals, now_ns)] if self._merged else [self.push(deal, now_ns) for deal in deals]

    @override
    def trade_ids(self, message: Message) -> list[str]:
        data = message["data"]
        return [str(deal.get("i")) for deal in (data if isinstance(data, list) else [data])]


class DepthTopic(PushTopic, WatchTopic):
    """``sub.depth``, merged: levels in no order, ``begin`` follows the last ``end``."""

    channel = "push.depth"
    cadence_ms = 50

    def __init__(self, name: str, market: Market) -> None:
        super().__init__(name, market)
        self._version = 0

    @override
    def started(self, now_ns: int) -> None:
        self._version = self.market.book.update_id

    @override
    def poll(self, now_ns: int) -> list[Message]:
        if not self.watch:
            return []
        bids, asks = [*self.watch.bids], [*self.watch.asks]
        self.watch.clear()
        begin, self._version = self._version + 1, self.market.book.update_id
        book = self.market.book
        data = {
            "cts": ms(self.market.now_ns),
            "asks": [level(self.market, tick, book.size_at(tick, buy=False), buy=False) for tick in asks],
            "bids": [level(self.market, tick, book.size_at(tick, buy=True), buy=True) for tick in bids],
            "end": self._version,
            "begin": begin,
            "version": self._version,
        }
        return [self.push(data, now_ns)]


class RawDepthTopic(PushTopic, WatchTopic):
    """``sub.depth`` with ``compress: false``: one change and one version a frame."""

    channel = "push.depth"

    @override
    def started(self, now_ns: int) -> None:
        self.watch.log = []

    @override
    def poll(self, now_ns: int) -> list[Message]:
        log = self.watch.log or []
        if not log:
            return []
        self.watch.clear()
        self.watch.log = []
        return [self._message(change, now_ns) for change in log[-MOST_RAW_FRAMES:]]

    def _message(self, change: Change, now_ns: int) -> Message:
        version, buy, tick, lots = change
        row = [price(self.market, tick), lots, 1 if lots else 0]
        data = {"asks": [] if buy else [row], "bids": [row] if buy else [], "version": version}
        return self.push(data, now_ns)


class FullDepthTopic(PushTopic, WatchTopic):
    """``sub.depth.full``: the best levels when something changed."""

    channel = "push.depth.full"
    cadence_ms = 270

    def __init__(self, name: str, market: Market, depth: int) -> None:
        super().__init__(name, market)
        self._depth = depth

    @override
    def poll(self, now_ns: int) -> list[Message]:
        if not self.watch:
            return []
        self.watch.clear()
        book = self.market.book
        data = {
            "asks": self._levels(book.top_asks(self._depth), buy=False),
            "bids": self._levels(book.top_bids(self._depth), buy=True),
            "version": book.update_id,
            "cts": ms(self.market.now_ns),
        }
        return [self.push(data, now_ns)]

    def _levels(self, levels: Levels, *, buy: bool) -> list[list[Raw | int]]:
        return [level(self.market, tick, lots, buy=buy) for tick, lots in levels]


def _rate(market: Market) -> Raw:
    statistics = market.statistics
    return number(decimal_text((statistics.last - statistics.open) * 10**4 // statistics.open, 4))


def _tenths(market: Market, tenths: int) -> Raw:
    instrument = market.instrument
    return number(decimal_text(tenths * instrument.tick_units, instrument.price_scale + 1))


def _amount(market: Market, turnover: int) -> Raw:
    """Ticks times contracts as quote currency."""
    size, _, places = market.instrument.contract_size.partition(".")
    factor = int(size + places)
    units = turnover * market.instrument.tick_units * factor
    return number(decimal_text(units, market.instrument.price_scale + len(places)))


class TickerTopic(PushTopic):
    """``sub.ticker``: statistics every 2.75 seconds."""

    channel = "push.ticker"
    feed = "ticker"
    cadence_ms = 2750

    @override
    def greet(self, now_ns: int) -> list[Message]:
        return self.poll(now_ns)

    @override
    def poll(self, now_ns: int) -> list[Message]:
        return [self.push(ticker(self.market, ms(now_ns)), now_ns)]


def ticker(market: Market, now_ms: int) -> Message:
    """The whole ticker, keys in alphabetical order as the venue has them."""
    statistics, derivatives, book = market.statistics, market.derivatives, market.book
    reference = int(market.flow.reference)
    return {
        "amount24": _amount(market, statistics.turnover),
        "ask1": price(market, book.best_ask or 0),
        "bid1": price(market, book.best_bid or 0),
        "contractId": 10,
        "fairPrice": _tenths(market, derivatives.mark),
        "fundingRate": number(decimal_text(derivatives.rate, 8)),
        "high24Price": price(market, statistics.high),
        "holdVol": derivatives.open_interest,
        "indexPrice": _tenths(market, derivatives.index),
        "lastPrice": price(market, statistics.last),
        "lower24Price": price(market, statistics.low),
        "maxBidPrice": price(market, reference * 11 // 10),
        "minAskPrice": price(market, reference * 9 // 10),
        "riseFallRate": _rate(market),
        "riseFallValue": price(market, statistics.last - statistics.open),
        "symbol": market.instrument.native_symbol,
        "timestamp": now_ms,
        "volume24": statistics.volume,
    }


class TickersTopic(PushTopic):
    """``sub.tickers``: a line for every contract."""

    channel = "push.tickers"
    feed = "ticker"
    cadence_ms = 1500

    def __init__(self, name: str, markets: list[Market]) -> None:
        super().__init__(name, markets[0])
        self._markets = markets

    @property
    @override
    def symbol(self) -> str:
        return ""

    @override
    def poll(self, now_ns: int) -> list[Message]:
        keys = ("fairPrice", "lastPrice", "riseFallRate", "symbol", "volume24")
        rows = [ticker(market, ms(now_ns)) for market in self._markets]
        data = [{key: row[key] for key in keys} for row in rows]
        return [{"channel": self.channel, "data": data, "ts": ms(now_ns)}]


class FundingTopic(PushTopic):
    """``sub.funding.rate``."""

    channel = "push.funding.rate"
    feed = "funding"
    cadence_ms = 3000

    @override
    def greet(self, now_ns: int) -> list[Message]:
        return self.poll(now_ns)

    @override
    def poll(self, now_ns: int) -> list[Message]:
        derivatives = self.market.derivatives
        data = {
            "rate": number(decimal_text(derivatives.rate, 8)),
            "symbol": self.symbol,
            "nextSettleTime": derivatives.next_funding_ms,
        }
        return [self.push(data, now_ns)]


class PriceTopic(PushTopic):
    """``sub.index.price`` and ``sub.fair.price`` (the mark)."""

    feed = "mark_price"
    cadence_ms = 1000

    def __init__(self, name: str, market: Market, *, fair: bool) -> None:
        super().__init__(name, market)
        self.channel = "push.fair.price" if fair else "push.index.price"
        self._fair = fair

    @override
    def poll(self, now_ns: int) -> list[Message]:
        derivatives = self.market.derivatives
        tenths = derivatives.mark if self._fair else derivatives.index
        return [self.push({"price": _tenths(self.market, tenths), "symbol": self.symbol}, now_ns)]


class KlineTopic(PushTopic):
    """``sub.kline``: seconds; ``q`` is contracts, ``a`` quote currency; no flag for closed."""

    channel = "push.kline"
    feed = "candle"
    cadence_ms = 1000

    def __init__(self, name: str, market: Market, interval: str) -> None:
        super().__init__(name, market)
        self.interval = interval
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
        opened, close = price(self.market, candle.open), price(self.market, candle.close)
        high, low = price(self.market, candle.high), price(self.market, candle.low)
        data = {
            "a": _amount(self.market, candle.turnover),
            "c": close,
            "h": high,
            "interval": self.interval,
            "l": low,
            "o": opened,
            "q": candle.volume,
            "rc": close,
            "rh": high,
            "rl": low,
            "ro": opened,
            "symbol": self.symbol,
            "t": candle.start_ms // 1000,
        }
        return self.push(data, now_ns)
