"""Bybit linear: frames in the documented shape."""

from typing import Final
from uuid import UUID

from msgspec import json

from services.bench.case import Case
from services.bench.market import Asset
from services.bench.venues import bybit_floor as floor

__all__ = ["CASES"]


def _frame(topic: str, kind: str, asset: Asset, data: object, *, cts: bool = False) -> bytes:
    head = {"topic": f"{topic}.{asset.native}", "type": kind, "ts": asset.ms, "data": data}
    return json.encode(head | {"cts": asset.ms - 2} if cts else head)


def _trade(asset: Asset) -> bytes:
    return _frame("publicTrade", "snapshot", asset, [_deal(asset) for _ in range(asset.random.choice((1, 1, 1, 2, 3)))])


def _deal(asset: Asset) -> dict[str, object]:
    asset.step()
    asset.sequence += 1
    return {
        "T": asset.ms - 3,
        "s": asset.native,
        "S": asset.random.choice(("Buy", "Sell")),
        "v": asset.size(),
        "p": asset.price(),
        "L": "PlusTick",
        "i": str(UUID(int=asset.random.getrandbits(128))),
        "BT": False,
        "RPI": False,
        "seq": asset.sequence,
    }


def _quote(asset: Asset) -> bytes:
    asset.step()
    asset.sequence += 1
    bid, ask = [[asset.price(), asset.size()]], [[asset.price(1), asset.size()]]
    data = {"s": asset.native, "b": bid, "a": ask, "u": asset.sequence, "seq": asset.sequence * 7}
    return _frame("orderbook.1", "snapshot", asset, data, cts=True)


def _book(asset: Asset) -> bytes:
    asset.step()
    asset.sequence += 1
    sides = {"b": asset.levels(-1, 11), "a": asset.levels(1, 11)}
    data = {"s": asset.native, **sides, "u": asset.sequence, "seq": asset.sequence * 7}
    return _frame("orderbook.50", "delta", asset, data, cts=True)


def _book_snapshot(asset: Asset) -> bytes:
    sides = {side: [[asset.price(sign * n), "1"] for n in range(1, 50)] for side, sign in (("b", -1), ("a", 1))}
    data = {"s": asset.native, **sides, "u": asset.sequence, "seq": asset.sequence * 7}
    return _frame("orderbook.50", "snapshot", asset, data, cts=True)


def _ticker(asset: Asset) -> bytes:
    """A delta: always a new best price, each third time new statistics, each tenth a new mark price."""
    asset.step()
    random = asset.random
    data = {"symbol": asset.native, "bid1Price": asset.price(), "bid1Size": asset.size()}
    data |= {"ask1Price": asset.price(1), "ask1Size": asset.size()}
    if random.random() < 0.33:
        data |= {"lastPrice": asset.price(), "tickDirection": "PlusTick", "price24hPcnt": "0.012043"}
        data |= {"volume24h": asset.fixed(asset.ms % 10**9, 3), "turnover24h": asset.fixed(asset.ms % 10**12, 4)}
    if random.random() < 0.1:
        data |= {"markPrice": asset.price(), "indexPrice": asset.price(3)}
    return _frame("tickers", "delta", asset, data)


def _ticker_snapshot(asset: Asset) -> bytes:
    return _frame("tickers", "snapshot", asset, {"symbol": asset.native} | floor.WHOLE)


CASES: Final = (
    Case("bybit", "linear", "trade", _trade, floor.trade),
    Case("bybit", "linear", "quote", _quote, floor.quote),
    Case("bybit", "linear", "ticker", _ticker, floor.ticker, _ticker_snapshot),
    Case("bybit", "linear", "book_delta", _book, floor.book, _book_snapshot),
)
