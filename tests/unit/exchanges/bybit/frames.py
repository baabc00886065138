"""Bybit frames in the documented shape and key order, with made-up numbers."""

from collections.abc import Mapping, Sequence

from msgspec import json

from shared.exchanges.bybit.symbols import named
from shared.instruments import Instrument

__all__ = ["TS", "book", "candle", "instrument", "liquidation", "listing", "ticker", "ticker_fields", "trade", "trades"]

TS = 1_790_000_000_123
"""The venue's clock in these frames, in milliseconds."""

Levels = Sequence[tuple[str, str]]


def instrument(product: str, native_symbol: str) -> Instrument:
    """An instrument that the venue's naming rule explains."""
    found = named(product, native_symbol)
    assert found is not None, native_symbol
    return found


def book(kind: str, bids: Levels, asks: Levels, update: int, symbol: str = "BTCUSDT", depth: int = 50) -> bytes:
    """``orderbook.{depth}``."""
    return json.encode(
        {
            "topic": f"orderbook.{depth}.{symbol}",
            "type": kind,
            "ts": TS + 4,
            "data": {"s": symbol, "b": bids, "a": asks, "u": update, "seq": 9_000_000_000},
            "cts": TS,
        }
    )


def trade(trade_id: str, price: str = "84000.10", size: str = "0.015", side: str = "Buy") -> dict[str, object]:
    """One entry of ``publicTrade``."""
    row: dict[str, object] = {"T": TS, "s": "BTCUSDT", "S": side, "v": size, "p": price}
    return row | {"L": "PlusTick", "i": trade_id, "BT": False, "RPI": False, "seq": 9_000_000_001}


def trades(*rows: Mapping[str, object], symbol: str = "BTCUSDT") -> bytes:
    """``publicTrade``."""
    data = [{**row, "s": symbol} for row in rows]
    return json.encode({"topic": f"publicTrade.{symbol}", "type": "snapshot", "ts": TS + 2, "data": data})


def ticker_fields(**changes: str) -> dict[str, str]:
    """The fields of a linear ticker snapshot."""
    fields = {
        "tickDirection": "ZeroPlusTick",
        "price24hPcnt": "0.0123",
        "lastPrice": "84000.10",
        "prevPrice24h": "82979.40",
        "highPrice24h": "84500.00",
        "lowPrice24h": "82100.00",
        "prevPrice1h": "83990.00",
        "markPrice": "84000.55",
        "indexPrice": "84010.12",
        "openInterest": "51234.567",
        "openInterestValue": "4303731807.72",
        "turnover24h": "6123456789.1234",
        "volume24h": "73210.4560",
        "nextFundingTime": "1790006400000",
        "fundingRate": "-0.00012500",
        "bid1Price": "84000.00",
        "bid1Size": "3.210",
        "ask1Price": "84000.10",
        "ask1Size": "1.050",
        "fundingIntervalHour": "8",
    }
    return fields | changes


def ticker(kind: str, fields: dict[str, str], symbol: str = "BTCUSDT", ts: int = TS) -> bytes:
    """``tickers`` of a derivative: ``data`` before ``cs`` and ``ts``."""
    data = {"symbol": symbol} | fields
    return json.encode({"topic": f"tickers.{symbol}", "type": kind, "data": data, "cs": 9_000_000_002, "ts": ts})


def liquidation(side: str = "Buy", size: str = "0.250", price: str = "83120.50", symbol: str = "BTCUSDT") -> bytes:
    """``allLiquidation``."""
    data = [{"T": TS - 9, "s": symbol, "S": side, "v": size, "p": price}]
    return json.encode({"topic": f"allLiquidation.{symbol}", "type": "snapshot", "ts": TS, "data": data})


def candle(interval: str = "1", symbol: str = "BTCUSDT", *, confirm: bool = False, **changes: object) -> bytes:
    """``kline``."""
    row: dict[str, object] = {
        "start": 1_789_999_980_000,
        "end": 1_790_000_039_999,
        "interval": interval,
        "open": "83990.00",
        "close": "84000.10",
        "high": "84005.00",
        "low": "83985.50",
        "volume": "12.345",
        "turnover": "1036980.00",
        "confirm": confirm,
        "timestamp": TS - 50,
    }
    frame = {"topic": f"kline.{interval}.{symbol}", "data": [row | changes], "ts": TS, "type": "snapshot"}
    return json.encode(frame)


def listing(category: str, *rows: Mapping[str, object], cursor: str = "") -> bytes:
    """A page of the instrument list."""
    result = {"category": category, "list": rows, "nextPageCursor": cursor}
    return json.encode({"retCode": 0, "retMsg": "OK", "result": result, "retExtInfo": {}, "time": TS})
