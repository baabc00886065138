"""Bybit v5 market REST."""

from typing import Any

from services.simulator.engine import Market
from services.simulator.session import RestReply
from services.simulator.topics import encode_json, ms
from services.simulator.venues.base import Query
from services.simulator.venues.bybit_topics import ticker_fields

__all__ = ["answer", "refusal"]

CATEGORIES = ("spot", "linear", "inverse")
MOST_LEVELS = 1000


def answer(markets: dict[str, dict[str, Market]], page_size: int, path: str, query: Query, now_ns: int) -> RestReply:
    """One GET; ``markets`` are by category and symbol."""
    if path == "/v5/market/time":
        return _ok({"timeSecond": str(now_ns // 10**9), "timeNano": str(now_ns)}, now_ns)
    if path not in ("/v5/market/instruments-info", "/v5/market/tickers", "/v5/market/orderbook"):
        return RestReply(404, encode_json({"retCode": 10001, "retMsg": "not found", "result": {}, "time": ms(now_ns)}))
    category, symbol = query.get("category", ""), query.get("symbol", "")
    wanted = markets.get(category, {})
    if category not in CATEGORIES or (symbol and symbol not in wanted):
        return _error(10001, "Not supported symbols" if category in CATEGORIES else "Illegal category", now_ns)
    chosen = [wanted[symbol]] if symbol else [*wanted.values()]
    if path == "/v5/market/orderbook":
        return _book(chosen, symbol, query, now_ns)
    if path == "/v5/market/tickers":
        return _ok({"category": category, "list": [_ticker(market) for market in chosen]}, now_ns)
    return _instruments(category, chosen, page_size, query, now_ns)


def refusal(status: int) -> RestReply:
    """Bybit's own form of a refusal: 403 is the IP limit, the rest is a plain HTTP error."""
    if status == 403:
        return RestReply(403, b"403, access too frequent", {"Content-Type": "text/plain"})
    if status == 429:
        body = {"retCode": 10006, "retMsg": "Too many visits!", "result": {}, "retExtInfo": {}, "time": 0}
        return RestReply(429, encode_json(body), {"X-Bapi-Limit-Status": "0"})
    return RestReply(status, b"<html><body>upstream failure</body></html>", {"Content-Type": "text/html"})


def _ok(result: dict[str, Any], now_ns: int) -> RestReply:
    body = {"retCode": 0, "retMsg": "OK", "result": result, "retExtInfo": {}, "time": ms(now_ns)}
    return RestReply(200, encode_json(body))


def _error(code: int, text: str, now_ns: int) -> RestReply:
    body = {"retCode": code, "retMsg": text, "result": {}, "retExtInfo": {}, "time": ms(now_ns)}
    return RestReply(200, encode_json(body))


def _book(chosen: list[Market], symbol: str, query: Query, now_ns: int) -> RestReply:
    if not symbol:
        return _error(10001, "params error: symbol invalid", now_ns)
    market = chosen[0]
    limit = query.get("limit", "25")
    if not limit.isdecimal() or not 1 <= int(limit) <= MOST_LEVELS:
        return _error(10001, "params error: limit invalid", now_ns)
    instrument, book = market.instrument, market.book
    result = {
        "s": symbol,
        "b": [[instrument.price(tick), instrument.size(lots)] for tick, lots in book.top_bids(int(limit))],
        "a": [[instrument.price(tick), instrument.size(lots)] for tick, lots in book.top_asks(int(limit))],
        "ts": ms(now_ns),
        "u": book.update_id // 10_000,
        "seq": book.update_id,
        "cts": ms(market.now_ns),
    }
    return _ok(result, now_ns)


def _ticker(market: Market) -> dict[str, str]:
    fields = ticker_fields(market)
    if market.instrument.is_spot:
        best = [("bid1", market.book.top_bids(1)), ("ask1", market.book.top_asks(1))]
        for side, levels in best:
            fields[f"{side}Price"] = market.instrument.price(levels[0][0]) if levels else ""
            fields[f"{side}Size"] = market.instrument.size(levels[0][1]) if levels else ""
    return fields


def _instruments(category: str, chosen: list[Market], page_size: int, query: Query, now_ns: int) -> RestReply:
    if category == "spot":
        rows = [_spot(market) for market in chosen]
        return _ok({"category": category, "list": rows}, now_ns)
    limit = query.get("limit", str(page_size))
    if not limit.isdecimal() or not 1 <= int(limit) <= 1000:
        return _error(10001, "params error: limit invalid", now_ns)
    size = min(int(limit), page_size)
    cursor = query.get("cursor", "")
    first_text = cursor.removeprefix("first%3D").removeprefix("first=") or "0"
    if not first_text.isdecimal():
        return _error(10001, "params error: cursor invalid", now_ns)
    first = int(first_text)
    rows = [_contract(market) for market in chosen[first : first + size]]
    following = f"first%3D{first + size}" if first + size < len(chosen) else ""
    return _ok({"category": category, "nextPageCursor": following, "list": rows}, now_ns)


def _spot(market: Market) -> dict[str, Any]:
    instrument = market.instrument
    return {
        "symbol": instrument.native_symbol,
        "baseCoin": instrument.base,
        "quoteCoin": instrument.quote,
        "innovation": "0",
        "status": "Trading",
        "marginTrading": "utaOnly",
        "stTag": "0",
        "lotSizeFilter": {
            "basePrecision": instrument.lot,
            "quotePrecision": "0.00000001",
            "minOrderQty": instrument.lot,
            "maxOrderQty": "1000000",
            "minOrderAmt": "5",
            "maxOrderAmt": "4000000",
            "maxLimitOrderQty": "1000000",
            "maxMarketOrderQty": "500000",
        },
        "priceFilter": {"tickSize": instrument.tick},
    }


def _contract(market: Market) -> dict[str, Any]:
    instrument = market.instrument
    prefix = "Inverse" if instrument.kind == "inverse" else "Linear"
    return {
        "symbol": instrument.native_symbol,
        "contractType": prefix + ("Futures" if instrument.delivery_ms else "Perpetual"),
        "status": "Trading",
        "baseCoin": instrument.base,
        "quoteCoin": instrument.quote,
        "launchTime": "1585526400000",
        "deliveryTime": str(instrument.delivery_ms),
        "deliveryFeeRate": "0.0005" if instrument.delivery_ms else "",
        "priceScale": str(instrument.price_scale),
        "leverageFilter": {"minLeverage": "1", "maxLeverage": "100.00", "leverageStep": "0.01"},
        "priceFilter": {"minPrice": instrument.tick, "maxPrice": "1999999.80", "tickSize": instrument.tick},
        "lotSizeFilter": {
            "maxOrderQty": "1190000",
            "minOrderQty": instrument.lot,
            "qtyStep": instrument.lot,
            "postOnlyMaxOrderQty": "1190000",
            "maxMktOrderQty": "500000",
            "minNotionalValue": "5",
        },
        "unifiedMarginTrade": True,
        "fundingInterval": 0 if instrument.delivery_ms else 480,
        "settleCoin": instrument.settle,
        "copyTrading": "none",
        "upperFundingRate": "0.005",
        "lowerFundingRate": "-0.005",
        "isPreListing": False,
        "preListingInfo": None,
    }
