"""Frames as Binance documents them, with made-up numbers."""

from typing import Any

from msgspec import json

from shared.envelope import Frame
from shared.exchanges.binance import ADAPTER
from shared.instruments import Instrument, InstrumentKind
from tests.contract.driving import Driver, rest, text

__all__ = [
    "DATED",
    "PERPETUAL",
    "SPOT",
    "UNICODE",
    "E",
    "agg_trade",
    "bare",
    "book_ticker",
    "depth",
    "depth_reply",
    "driver",
    "force_order",
    "kline",
    "mark_price",
    "open_interest_reply",
    "spot_ticker",
    "trade",
    "usdm_ticker",
    "wrapped",
]

E = 1_790_000_000_123
"""Milliseconds; the venue's clock in these frames."""

SPOT = Instrument("binance", "spot", "ETH/USDT", "ETHUSDT", "ETH", "USDT", None, InstrumentKind.SPOT)
UNICODE = Instrument("binance", "spot", "币安人生/USDT", "币安人生USDT", "币安人生", "USDT", None, InstrumentKind.SPOT)
PERPETUAL = Instrument("binance", "usdm", "ETH/USDT:USDT", "ETHUSDT", "ETH", "USDT", "USDT", InstrumentKind.PERPETUAL)
DATED = Instrument(
    "binance",
    "usdm",
    "ETH/USDT:USDT-270326",
    "ETHUSDT_270326",
    "ETH",
    "USDT",
    "USDT",
    InstrumentKind.FUTURE,
    expiry="270326",
)

Event = dict[str, Any]


def bare(event: object) -> bytes:
    """As a ``/ws`` socket sends it."""
    return json.encode(event)


def wrapped(topic: str, event: object) -> bytes:
    """As a ``/stream`` socket sends it."""
    return json.encode({"stream": topic, "data": event})


def trade(number: int = 7_001, *, price: str = "3120.55", maker: bool = True, **more: object) -> Event:
    return {"e": "trade", "E": E, "s": "ETHUSDT", "t": number, "p": price, "q": "0.2500", "T": E - 2, "m": maker} | more


def agg_trade(number: int = 9_001, **more: object) -> Event:
    return {
        "e": "aggTrade", "E": E, "a": number, "s": "ETHUSDT", "p": "3121.10", "q": "1.750", "nq": "1.500",
        "f": 41, "l": 44, "T": E - 3, "m": False, "st": 1,
    } | more  # fmt: skip


def book_ticker(update: int = 501, **more: object) -> Event:
    return {"u": update, "s": "ETHUSDT", "b": "3120.50", "B": "4.2000", "a": "3120.60", "A": "0.9000"} | more


def spot_ticker(**more: object) -> Event:
    return {
        "e": "24hrTicker", "E": E, "s": "ETHUSDT", "p": "-20.10", "P": "-0.640", "w": "3131.77", "x": "3140.65",
        "c": "3120.55", "Q": "0.2500", "b": "3120.50", "B": "4.2000", "a": "3120.60", "A": "0.9000", "o": "3140.65",
        "h": "3190.00", "l": "3088.12", "v": "99123.4400", "q": "310432111.98", "O": E - 86_400_000, "C": E,
        "F": 1, "L": 2, "n": 3,
    } | more  # fmt: skip


def usdm_ticker(**more: object) -> Event:
    without = {key: value for key, value in spot_ticker(st=1).items() if key not in {"x", "b", "B", "a", "A"}}
    return without | more


def mark_price(**more: object) -> Event:
    return {
        "e": "markPriceUpdate", "E": E, "s": "ETHUSDT", "p": "3120.71000000", "i": "3121.04000000",
        "P": "3119.90000000", "r": "-0.00012500", "ap": "3120.80000000", "T": 1_790_006_400_000, "st": 1,
    } | more  # fmt: skip


def force_order(**more: object) -> Event:
    order = {
        "s": "ETHUSDT", "S": "SELL", "o": "LIMIT", "f": "IOC", "q": "14.500", "p": "3055.20", "ap": "3061.07",
        "X": "FILLED", "l": "2.100", "z": "14.500", "T": E - 5,
    }  # fmt: skip
    return {"e": "forceOrder", "E": E, "o": order | more, "ps": "ETHUSDT", "st": 1}


def kline(**more: object) -> Event:
    bar = {
        "t": 1_789_999_980_000, "T": 1_790_000_039_999, "s": "ETHUSDT", "i": "1m", "f": 10, "L": 52, "o": "3119.00",
        "c": "3120.55", "h": "3121.90", "l": "3118.40", "v": "88.1000", "n": 43, "x": False, "q": "274890.15",
        "V": "40.0", "Q": "124800.2", "B": "0",
    }  # fmt: skip
    return {"e": "kline", "E": E, "s": "ETHUSDT", "k": bar | more}


def depth(first: int, last: int, previous: int | None = None, **more: object) -> Event:
    event: Event = {
        "e": "depthUpdate", "E": E, "s": "ETHUSDT", "U": first, "u": last,
        "b": [["3120.50", "4.3000"]], "a": [["3120.60", "0.0000"], ["3120.70", "2.1000"]],
    }  # fmt: skip
    if previous is not None:
        event |= {"T": E - 4, "pu": previous, "ps": "ETHUSDT", "st": 1}
    return event | more


def depth_reply(product: str, last: int, native_symbol: str = "ETHUSDT", **more: object) -> Frame:
    body: Event = {
        "lastUpdateId": last,
        "bids": [["3120.50", "4.2000"], ["3120.40", "1.0000"]],
        "asks": [["3120.60", "0.9000"], ["3120.80", "7.0000"]],
    }
    if product == "usdm":
        body |= {"E": E, "T": E - 1}
    base = "https://api.binance.com/api/v3" if product == "spot" else "https://fapi.binance.com/fapi/v1"
    return rest(f"{base}/depth?symbol={native_symbol}&limit=1000", json.encode(body | more))


def open_interest_reply(value: str = "10659.509", native_symbol: str = "ETHUSDT") -> Frame:
    body = {"openInterest": value, "symbol": native_symbol, "time": E}
    return rest(f"https://fapi.binance.com/fapi/v1/openInterest?symbol={native_symbol}", json.encode(body))


def driver(product: str = "spot") -> Driver:
    """A stream that knows the instruments above."""
    known = (SPOT, UNICODE) if product == "spot" else (PERPETUAL, DATED)
    return Driver(ADAPTER, product, known)


def sent(stream: Driver, *frames: bytes) -> None:
    """Text frames, in order."""
    stream.send(*(text(frame) for frame in frames))
