"""Binance streams of candles and statistics, and the all-market arrays, as spot and USD-M have them."""

from collections.abc import Callable

from typing_extensions import override

from services.simulator.engine import Market
from services.simulator.engine.candles import Candle
from services.simulator.instruments import decimal_text
from services.simulator.topics import Message, Topic, ms
from services.simulator.venues.binance_topics import is_spot, type_and_pair

__all__ = ["KLINE_INTERVALS", "AllTopic", "KlineTopic", "MiniTickerTopic", "TickerTopic", "plain_topic", "quote_amount"]

SECOND_MS = 1000
MINUTE_MS = 60_000
DAY_MS = 86_400_000
KLINE_INTERVALS = {
    **{f"{minutes}m": minutes * MINUTE_MS for minutes in (1, 3, 5, 15, 30)},
    **{f"{hours}h": hours * 60 * MINUTE_MS for hours in (1, 2, 4, 6, 8, 12)},
    "1d": DAY_MS,
    "3d": 3 * DAY_MS,
    "1w": 7 * DAY_MS,
    "1M": 0,
}


class KlineTopic(Topic):
    """``<s>@kline_<i>``: the running candle when it changed, and once more with ``x`` when it closed."""

    feed = "candle"

    def __init__(self, name: str, market: Market, interval: str) -> None:
        super().__init__(name, market)
        self.interval = interval
        self._interval_ms = SECOND_MS if interval == "1s" else KLINE_INTERVALS[interval]
        spot_cadence_ms = 1000 if interval == "1s" else 2000
        self.cadence_ms = spot_cadence_ms if is_spot(market) else 250
        self._shown: Candle | None = None
        self._trades = -1

    @override
    def start(self, now_ns: int) -> None:
        self._shown = self.market.candles.get(self._interval_ms, ms(now_ns))
        self._trades = -1

    @override
    def poll(self, now_ns: int) -> list[Message]:
        candle = self.market.candles.get(self._interval_ms, ms(now_ns))
        messages = []
        if self._shown is not None and candle is not self._shown:
            messages.append(self._message(self._shown, now_ns, closed=True))
        elif candle.trades == self._trades:
            return []
        self._shown, self._trades = candle, candle.trades
        return [*messages, self._message(candle, now_ns, closed=False)]

    def _message(self, candle: Candle, now_ns: int, *, closed: bool) -> Message:
        instrument = self.market.instrument
        row = {
            "t": candle.start_ms,
            "T": candle.end_ms - 1,
            "s": instrument.native_symbol,
            "i": self.interval,
            "f": candle.first_trade,
            "L": candle.last_trade,
            "o": instrument.price(candle.open),
            "c": instrument.price(candle.close),
            "h": instrument.price(candle.high),
            "l": instrument.price(candle.low),
            "v": instrument.size(candle.volume),
            "n": candle.trades,
            "x": closed,
            "q": quote_amount(self.market, candle.turnover),
            "V": instrument.size(candle.buy_volume),
            "Q": quote_amount(self.market, candle.buy_turnover),
            "B": "0",
        }
        return {"e": "kline", "E": ms(now_ns), "s": self.symbol, "k": row}


def quote_amount(market: Market, turnover: int) -> str:
    """Ticks times lots as quote currency with the eight places that spot prints."""
    instrument = market.instrument
    if not instrument.is_spot:
        return instrument.turnover(turnover)
    scale = instrument.price_scale + instrument.size_scale
    return decimal_text(turnover * instrument.tick_units * instrument.lot_units // 10 ** (scale - 8), 8)


class MiniTickerTopic(Topic):
    """``<s>@miniTicker``."""

    feed = "ticker"

    def __init__(self, name: str, market: Market, cadence_ms: int) -> None:
        super().__init__(name, market)
        self.cadence_ms = cadence_ms

    @override
    def poll(self, now_ns: int) -> list[Message]:
        statistics, instrument = self.market.statistics, self.market.instrument
        message: Message = {
            "e": "24hrMiniTicker",
            "E": ms(now_ns),
            "s": instrument.native_symbol,
            "c": instrument.price(statistics.last),
            "o": instrument.price(statistics.open),
            "h": instrument.price(statistics.high),
            "l": instrument.price(statistics.low),
            "v": instrument.size(statistics.volume),
            "q": quote_amount(self.market, statistics.turnover),
        }
        return [message if is_spot(self.market) else {**message, **type_and_pair(self.market)}]


class TickerTopic(Topic):
    """``<s>@ticker``: 24 hours; USD-M leaves the quote and the first price out."""

    feed = "ticker"

    def __init__(self, name: str, market: Market, cadence_ms: int) -> None:
        super().__init__(name, market)
        self.cadence_ms = cadence_ms

    @override
    def poll(self, now_ns: int) -> list[Message]:
        statistics, instrument, book = self.market.statistics, self.market.instrument, self.market.book
        spot = is_spot(self.market)
        average = statistics.turnover // statistics.volume if statistics.volume else statistics.last
        message: Message = {
            "e": "24hrTicker",
            "E": ms(now_ns),
            "s": instrument.native_symbol,
            "p": instrument.price(statistics.last - statistics.open),
            "P": decimal_text((statistics.last - statistics.open) * 100_000 // statistics.open, 3),
            "w": instrument.price(average),
        }
        if spot:
            message["x"] = instrument.price(statistics.open)
        message["c"] = instrument.price(statistics.last)
        message["Q"] = instrument.size(statistics.last_lots)
        if spot:
            for keys, levels in (("bB", book.top_bids(1)), ("aA", book.top_asks(1))):
                tick, lots = levels[0] if levels else (0, 0)
                message[keys[0]], message[keys[1]] = instrument.price(tick), instrument.size(lots)
        message.update(self._window(now_ns))
        return [message if spot else {**message, **type_and_pair(self.market)}]

    def _window(self, now_ns: int) -> Message:
        statistics, instrument = self.market.statistics, self.market.instrument
        return {
            "o": instrument.price(statistics.open),
            "h": instrument.price(statistics.high),
            "l": instrument.price(statistics.low),
            "v": instrument.size(statistics.volume),
            "q": quote_amount(self.market, statistics.turnover),
            "O": ms(now_ns) - DAY_MS,
            "C": ms(now_ns),
            "F": statistics.first_trade,
            "L": statistics.last_trade,
            "n": statistics.trades,
        }


class AllTopic(Topic):
    """``!<kind>@arr``: what the single streams of every market say, in one array; ``!bookTicker`` one frame each."""

    def __init__(self, name: str, topics: list[Topic], cadence_ms: int, *, array: bool = True) -> None:
        super().__init__(name, topics[0].market)
        self.feed = topics[0].feed
        self.cadence_ms = cadence_ms
        self._topics = topics
        self._array = array

    @property
    @override
    def symbol(self) -> str:
        return ""

    @override
    def start(self, now_ns: int) -> None:
        for topic in self._topics:
            topic.start(now_ns)

    @override
    def stop(self) -> None:
        for topic in self._topics:
            topic.stop()

    @override
    def poll(self, now_ns: int) -> list[Message]:
        rows = [message for topic in self._topics for message in topic.poll(now_ns)]
        if not self._array:
            return rows
        return [{ARRAY: rows}] if rows else []

    @override
    def encode(self, message: Message) -> bytes:
        rows = message.get(ARRAY)
        return super().encode(message) if rows is None or len(message) > 1 else super().encode(rows)


ARRAY = "\0rows"
"""Stands for the array that is the whole message; a fault that adds fields beside it makes an object of it."""


def plain_topic(plain: dict[str, Callable[[str, Market], Topic]], name: str, market: Market, kind: str) -> Topic | None:
    """A kline, or a stream without options out of the product's table."""
    interval = kind.removeprefix("kline_")
    if interval != kind and interval in KLINE_INTERVALS:
        return KlineTopic(name, market, interval)
    return plain[kind](name, market) if kind in plain else None
