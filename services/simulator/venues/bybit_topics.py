"""Bybit v5 public topics (spot, linear, inverse)."""

from datetime import UTC, datetime
from uuid import UUID

from typing_extensions import override

from services.simulator.engine import Liquidation, Market, Trade
from services.simulator.engine.candles import Candle
from services.simulator.instruments import decimal_text
from services.simulator.topics import Levels, LiquidationTopic, Message, Topic, TradeTopic, WatchTopic, ms

__all__ = [
    "BOOK_CADENCES_MS",
    "KLINE_INTERVALS",
    "BookTopic",
    "KlineTopic",
    "LiquidationsTopic",
    "TickerTopic",
    "TradesTopic",
]

BOOK_CADENCES_MS = {1: 10, 50: 20, 200: 100, 1000: 200}
RESEND_NS = 3_000_000_000
"""Depth 1 repeats its snapshot after this long without a change."""

MOST_TRADES = 1024
MINUTE_MS = 60_000
KLINE_INTERVALS = {
    **{str(minutes): minutes * MINUTE_MS for minutes in (1, 3, 5, 15, 30, 60, 120, 240, 360, 720)},
    "D": 1440 * MINUTE_MS,
    "W": 7 * 1440 * MINUTE_MS,
    "M": 0,
}


def _size(market: Market, lots: int) -> str:
    return market.instrument.size(lots) if lots else "0"


class BookTopic(WatchTopic):
    """``orderbook.<depth>.<symbol>``: a snapshot, then deltas whose ``u`` counts up by one; depth 1 only snapshots."""

    def __init__(self, name: str, market: Market, depth: int) -> None:
        super().__init__(name, market)
        self.depth = depth
        self.cadence_ms = BOOK_CADENCES_MS[depth]
        self.update = market.book.update_id // 10_000
        self.sequence = market.book.update_id
        self.sent_ns = 0
        self.bids: dict[int, int] = {}
        self.asks: dict[int, int] = {}
        self._ts_first = depth == 1 or market.instrument.is_spot

    @override
    def started(self, now_ns: int) -> None:
        self.update += 1
        self._take()
        self.sent_ns = now_ns

    @override
    def greet(self, now_ns: int) -> list[Message]:
        return [self._snapshot(now_ns)]

    def restart(self, now_ns: int) -> Message:
        """The service restarted: a snapshot with ``u`` 1 replaces everything."""
        self._take()
        self.update = 1
        return self._snapshot(now_ns)

    def stale_delta(self, now_ns: int) -> Message:
        """The delta that led to the present state, sent again."""
        return self._message("delta", [*self.bids.items()][:1], [], now_ns)

    @override
    def poll(self, now_ns: int) -> list[Message]:
        if not self._touched():
            self.watch.clear()
            return self._resent(now_ns)
        before_bids, before_asks = self.bids, self.asks
        self._take()
        bids = _difference(before_bids, self.bids)
        asks = _difference(before_asks, self.asks)
        if not bids and not asks:
            return self._resent(now_ns)
        self.update += 1
        self.sent_ns = now_ns
        if self.depth == 1:
            return [self._snapshot(now_ns)]
        return [self._message("delta", bids, asks, now_ns)]

    def _touched(self) -> bool:
        """Whether a changed level lies in the window, or could enter it."""
        full_bids, full_asks = len(self.bids) == self.depth, len(self.asks) == self.depth
        bids, asks = self.watch.bids, self.watch.asks
        if bids and (not full_bids or max(bids) >= min(self.bids)):
            return True
        return bool(asks) and (not full_asks or min(asks) <= max(self.asks))

    def _resent(self, now_ns: int) -> list[Message]:
        if self.depth != 1 or now_ns - self.sent_ns < RESEND_NS:
            return []
        self.sent_ns = now_ns
        return [self._snapshot(now_ns)]

    def _take(self) -> None:
        book = self.market.book
        self.bids, self.asks = dict(book.top_bids(self.depth)), dict(book.top_asks(self.depth))
        self.sequence = book.update_id
        self.watch.clear()

    def _snapshot(self, now_ns: int) -> Message:
        return self._message("snapshot", [*self.bids.items()], [*self.asks.items()], now_ns)

    def _message(self, kind: str, bids: Levels, asks: Levels, now_ns: int) -> Message:
        price = self.market.instrument.price
        data = {
            "s": self.symbol,
            "b": [[price(tick), _size(self.market, lots)] for tick, lots in bids],
            "a": [[price(tick), _size(self.market, lots)] for tick, lots in asks],
            "u": self.update,
            "seq": self.sequence,
        }
        head = {"ts": ms(now_ns), "type": kind} if self._ts_first else {"type": kind, "ts": ms(now_ns)}
        return {"topic": self.name, **head, "data": data, "cts": ms(self.market.now_ns)}


def _difference(before: dict[int, int], after: dict[int, int]) -> Levels:
    changes = [(tick, lots) for tick, lots in after.items() if before.get(tick) != lots]
    changes += [(tick, 0) for tick in before if tick not in after]
    return changes


class TradesTopic(TradeTopic):
    """``publicTrade.<symbol>``: real time, at most 1024 a frame, ascending."""

    @override
    def messages(self, trades: list[Trade], now_ns: int) -> list[Message]:
        starts = range(0, len(trades), MOST_TRADES)
        return [self._message(trades[first : first + MOST_TRADES], now_ns) for first in starts]

    def _message(self, trades: list[Trade], now_ns: int) -> Message:
        instrument = self.market.instrument
        derivative = not instrument.is_spot
        data = []
        for trade in trades:
            row: Message = {
                "T": ms(trade.ts_ns),
                "s": instrument.native_symbol,
                "S": "Buy" if trade.buy else "Sell",
                "v": instrument.size(trade.lots),
                "p": instrument.price(trade.tick),
            }
            if derivative:
                row["L"] = trade.direction
            row.update(i=_trade_id(trade, derivative=derivative), BT=False, RPI=False, seq=trade.sequence)
            data.append(row)
        return {"topic": self.name, "type": "snapshot", "ts": ms(now_ns), "data": data}

    @override
    def trade_ids(self, message: Message) -> list[str]:
        return [row["i"] for row in message["data"]]


def _trade_id(trade: Trade, *, derivative: bool) -> str:
    return str(UUID(int=(trade.taker << 64) | trade.id)) if derivative else f"2290000000{trade.id}"


class LiquidationsTopic(LiquidationTopic):
    """``allLiquidation.<symbol>``: every 500 ms; ``S`` is the side of the position, the opposite of the order's."""

    cadence_ms = 500

    @override
    def messages(self, liquidations: list[Liquidation], now_ns: int) -> list[Message]:
        instrument = self.market.instrument
        data = [
            {
                "T": ms(one.ts_ns),
                "s": instrument.native_symbol,
                "S": "Sell" if one.buy else "Buy",
                "v": instrument.size(one.lots),
                "p": instrument.price(one.bankruptcy_tick),
            }
            for one in liquidations
        ]
        return [{"topic": self.name, "type": "snapshot", "ts": ms(now_ns), "data": data}]


class TickerTopic(Topic):
    """``tickers.<symbol>``: derivatives a snapshot, then only what changed; spot always everything."""

    feed = "ticker"

    def __init__(self, name: str, market: Market) -> None:
        super().__init__(name, market)
        self._spot = market.instrument.is_spot
        self.cadence_ms = 50 if self._spot else 100
        self._sent: dict[str, str] = {}

    @override
    def start(self, now_ns: int) -> None:
        self._sent = ticker_fields(self.market)

    @override
    def greet(self, now_ns: int) -> list[Message]:
        return [self._message("snapshot", self._sent, now_ns)]

    @override
    def poll(self, now_ns: int) -> list[Message]:
        fields = ticker_fields(self.market)
        changed = {key: value for key, value in fields.items() if self._sent.get(key) != value}
        self._sent = fields
        if not changed:
            return []
        if self._spot:
            return [self._message("snapshot", fields, now_ns)]
        return [self._message("delta", {"symbol": self.symbol, **changed}, now_ns)]

    def _message(self, kind: str, data: dict[str, str], now_ns: int) -> Message:
        sequence = self.market.book.update_id
        if self._spot:
            return {"topic": self.name, "ts": ms(now_ns), "type": kind, "cs": sequence, "data": data}
        return {"topic": self.name, "type": kind, "data": data, "cs": sequence, "ts": ms(now_ns)}


def ticker_fields(market: Market) -> dict[str, str]:
    """The whole ticker in the venue's order."""
    statistics, instrument = market.statistics, market.instrument
    price = instrument.price
    change = decimal_text((statistics.last - statistics.open) * 10**6 // statistics.open, 6)
    if market.instrument.is_spot:
        return {
            "symbol": instrument.native_symbol,
            "lastPrice": price(statistics.last),
            "highPrice24h": price(statistics.high),
            "lowPrice24h": price(statistics.low),
            "prevPrice24h": price(statistics.open),
            "volume24h": instrument.size(statistics.volume),
            "turnover24h": instrument.turnover(statistics.turnover),
            "price24hPcnt": change,
            "usdIndexPrice": price(market.derivatives.index // 10),
        }
    return {
        "symbol": instrument.native_symbol,
        "tickDirection": statistics.direction,
        "price24hPcnt": change,
        "lastPrice": price(statistics.last),
        "prevPrice24h": price(statistics.open),
        "highPrice24h": price(statistics.high),
        "lowPrice24h": price(statistics.low),
        "prevPrice1h": price(statistics.open_1h),
        **_derivative_fields(market),
        **_best_fields(market),
    }


def _derivative_fields(market: Market) -> dict[str, str]:
    derivatives, instrument, statistics = market.derivatives, market.instrument, market.statistics
    mark_tick = derivatives.mark // 10
    interest = instrument.size(derivatives.open_interest)
    value = _value(market, derivatives.open_interest, mark_tick)
    fields = {
        "markPrice": instrument.price(mark_tick),
        "indexPrice": instrument.price(derivatives.index // 10),
        "openInterest": interest,
        "openInterestValue": value,
        "singleOpenInterest": instrument.size(derivatives.open_interest // 2),
        "singleOpenInterestValue": _value(market, derivatives.open_interest // 2, mark_tick),
        "turnover24h": _turnover(market),
        "volume24h": instrument.size(statistics.volume),
    }
    if derivatives.funded:
        return {
            **fields,
            "fundingIntervalHour": "8",
            "fundingCap": "0.005",
            "nextFundingTime": str(derivatives.next_funding_ms),
            "fundingRate": decimal_text(derivatives.rate, 8),
        }
    basis = decimal_text((mark_tick * 10 - derivatives.index) * 10**8 // derivatives.index, 8)
    return {
        **fields,
        "deliveryTime": datetime.fromtimestamp(instrument.delivery_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "basisRate": basis,
        "deliveryFeeRate": "0.0005",
        "predictedDeliveryPrice": "0.00",
        "basisRateYear": basis,
        "nextFundingTime": "",
        "fundingRate": "",
    }


def _best_fields(market: Market) -> dict[str, str]:
    fields = {}
    for side, levels in (("bid1", market.book.top_bids(1)), ("ask1", market.book.top_asks(1))):
        tick, lots = levels[0] if levels else (0, 0)
        fields[f"{side}Price"] = market.instrument.price(tick) if levels else ""
        fields[f"{side}Size"] = market.instrument.size(lots) if levels else ""
    return fields


def _turnover(market: Market) -> str:
    if market.instrument.kind != "inverse":
        return market.instrument.turnover(market.statistics.turnover)
    return _value(market, market.statistics.volume, market.statistics.last)


def _value(market: Market, lots: int, tick: int) -> str:
    """What lots are worth: quote currency, or the base coin for an inverse contract."""
    instrument = market.instrument
    if instrument.kind == "inverse":
        scale = instrument.price_scale + 8 - instrument.size_scale
        return decimal_text(lots * instrument.lot_units * 10**scale // (tick * instrument.tick_units), 8)
    return instrument.turnover(lots * tick)


class KlineTopic(Topic):
    """``kline.<interval>.<symbol>``: the running candle every second, the closed one with ``confirm``."""

    feed = "candle"
    cadence_ms = 1000

    def __init__(self, name: str, market: Market, interval: str) -> None:
        super().__init__(name, market)
        self.interval = interval
        self._interval_ms = KLINE_INTERVALS[interval]
        self._shown: Candle | None = None
        self._trades = -1

    @override
    def start(self, now_ns: int) -> None:
        self._shown = self.market.candles.get(self._interval_ms, ms(now_ns))

    @override
    def greet(self, now_ns: int) -> list[Message]:
        return [self._message(self.market.candles.get(self._interval_ms, ms(now_ns)), now_ns, confirm=False)]

    @override
    def poll(self, now_ns: int) -> list[Message]:
        candle = self.market.candles.get(self._interval_ms, ms(now_ns))
        messages = []
        if self._shown is not None and candle is not self._shown:
            messages.append(self._message(self._shown, now_ns, confirm=True))
        elif candle.trades == self._trades:
            return []
        self._shown, self._trades = candle, candle.trades
        return [*messages, self._message(candle, now_ns, confirm=False)]

    def _message(self, candle: Candle, now_ns: int, *, confirm: bool) -> Message:
        instrument = self.market.instrument
        row = {
            "start": candle.start_ms,
            "end": candle.end_ms - 1,
            "interval": self.interval,
            "open": instrument.price(candle.open),
            "close": instrument.price(candle.close),
            "high": instrument.price(candle.high),
            "low": instrument.price(candle.low),
            "volume": instrument.size(candle.volume),
            "turnover": instrument.turnover(candle.turnover)
            if instrument.kind != "inverse"
            else _value(self.market, candle.volume, candle.close),
            "confirm": confirm,
            "timestamp": candle.last_ms or ms(now_ns),
        }
        return {"topic": self.name, "data": [row], "ts": ms(now_ns), "type": "snapshot"}
