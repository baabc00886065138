"""Binance spot and USD-M: frames of a ``/stream`` socket in the documented shape."""

from collections.abc import Callable
from typing import Final

from msgspec import json

from services.bench.case import Case
from services.bench.market import Asset
from services.bench.venues import binance_floor as floor
from shared.envelope import RestReply

__all__ = ["CASES"]


def _frame(asset: Asset, suffix: str, data: dict[str, object]) -> bytes:
    return json.encode({"stream": f"{asset.native.lower()}@{suffix}", "data": data})


def _next(asset: Asset) -> int:
    asset.step()
    asset.sequence += 1
    return asset.sequence


def _trade(asset: Asset) -> bytes:
    number = _next(asset)
    head = {"e": "trade", "E": asset.ms, "s": asset.native, "t": number, "p": asset.price(), "q": asset.size()}
    return _frame(asset, "trade", head | {"T": asset.ms - 1, "m": asset.random.random() < 0.5, "M": True})


def _aggregate(asset: Asset) -> bytes:
    number = _next(asset)
    head = {"e": "aggTrade", "E": asset.ms, "s": asset.native, "a": number, "p": asset.price(), "q": asset.size()}
    ids = {"f": number * 2, "l": number * 2 + 1}
    return _frame(asset, "aggTrade", head | ids | {"T": asset.ms - 1, "m": asset.random.random() < 0.5})


def _best(asset: Asset) -> dict[str, object]:
    return {"b": asset.price(), "B": asset.size(), "a": asset.price(1), "A": asset.size()}


def _spot_quote(asset: Asset) -> bytes:
    return _frame(asset, "bookTicker", {"u": _next(asset), "s": asset.native} | _best(asset))


def _usdm_quote(asset: Asset) -> bytes:
    head: dict[str, object] = {"e": "bookTicker", "u": _next(asset), "s": asset.native}
    return _frame(asset, "bookTicker", head | _best(asset) | {"T": asset.ms - 2, "E": asset.ms})


def _spot_depth(asset: Asset) -> bytes:
    first = _next(asset)
    asset.sequence += asset.random.randrange(30)
    head = {"e": "depthUpdate", "E": asset.ms, "s": asset.native, "U": first, "u": asset.sequence}
    return _frame(asset, "depth@100ms", head | {"b": asset.levels(-1, 15), "a": asset.levels(1, 15)})


def _usdm_depth(asset: Asset) -> bytes:
    previous = asset.sequence
    first = previous + 40
    asset.step()
    asset.sequence = first + asset.random.randrange(1, 900)
    head = {"e": "depthUpdate", "E": asset.ms, "T": asset.ms - 2, "s": asset.native}
    ids = {"U": first, "u": asset.sequence, "pu": previous}
    return _frame(asset, "depth@0ms", head | ids | {"b": asset.levels(-1, 15), "a": asset.levels(1, 15)})


def _ticker(*, best: bool) -> Callable[[Asset], bytes]:
    def frame(asset: Asset) -> bytes:
        number = _next(asset)
        data = {"e": "24hrTicker", "E": asset.ms, "s": asset.native, "p": "12.30", "P": "1.204", "w": asset.price()}
        data |= {"c": asset.price(), "Q": asset.size()}
        if best:
            data |= _best(asset)
        data |= {"o": asset.price(-900), "h": asset.price(700), "l": asset.price(-1_200)}
        data |= {"v": asset.fixed(asset.ms % 10**9, 3), "q": asset.fixed(asset.ms % 10**12, 4)}
        data |= {"O": asset.ms - 86_400_000, "C": asset.ms - 4, "F": number - 90_000, "L": number, "n": 90_001}
        return _frame(asset, "ticker", data)

    return frame


def _mark_price(asset: Asset) -> bytes:
    _next(asset)
    head = {"e": "markPriceUpdate", "E": asset.ms, "s": asset.native, "p": asset.price(), "i": asset.price(2)}
    return _frame(asset, "markPrice@1s", head | {"P": asset.price(5), "r": "0.00010000", "T": 1_760_025_600_000})


def _seed(path: str) -> Callable[[bytes], RestReply]:
    def reply(frame: bytes) -> RestReply:
        data = json.decode(frame)["data"]
        body = {"lastUpdateId": data.get("pu", data["U"] - 1), "bids": [["1", "1"]], "asks": [["1000000", "1"]]}
        return RestReply(f"https://bench.invalid{path}?symbol={data['s']}&limit=1000", 200, json.encode(body))

    return reply


CASES: Final = (
    Case("binance", "spot", "trade", _trade, floor.trade),
    Case("binance", "spot", "quote", _spot_quote, floor.quote),
    Case("binance", "spot", "ticker", _ticker(best=True), floor.ticker),
    Case("binance", "spot", "book_delta", _spot_depth, floor.book, seed=_seed("/api/v3/depth")),
    Case("binance", "usdm", "trade", _aggregate, floor.trade),
    Case("binance", "usdm", "quote", _usdm_quote, floor.quote),
    Case("binance", "usdm", "ticker", _ticker(best=False), floor.ticker),
    Case("binance", "usdm", "book_delta", _usdm_depth, floor.book, seed=_seed("/fapi/v1/depth")),
    Case("binance", "usdm", "mark_price", _mark_price, floor.mark_price),
)
