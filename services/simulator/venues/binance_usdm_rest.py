"""Binance USD-M REST."""

from typing import Any

from services.simulator.engine import Market
from services.simulator.instruments import decimal_text
from services.simulator.session import RestReply
from services.simulator.topics import encode_json, ms
from services.simulator.venues.base import Query
from services.simulator.venues.binance import depth_sides, invalid

__all__ = ["answer"]

DEPTH_LIMITS = frozenset({"5", "10", "20", "50", "100", "500", "1000"})
PERPETUAL_DELIVERY_MS = 4_133_404_800_000
"""What the venue prints for contracts that are never delivered."""


def answer(markets: dict[str, Market], path: str, query: Query, now_ns: int) -> RestReply:
    """One GET."""
    match path:
        case "/fapi/v1/ping":
            return RestReply(200, b"{}")
        case "/fapi/v1/time":
            return RestReply(200, encode_json({"serverTime": ms(now_ns)}))
        case "/fapi/v1/exchangeInfo":
            return _exchange_info(markets, now_ns)
        case "/fapi/v1/premiumIndex" if not query.get("symbol"):
            return RestReply(200, encode_json([_premium(market, now_ns) for market in markets.values()]))
        case "/fapi/v1/depth" | "/fapi/v1/openInterest" | "/fapi/v1/premiumIndex":
            return _of_symbol(markets, path, query, now_ns)
    return RestReply(404, encode_json({"code": -5000, "msg": f"Path {path}, Method GET is invalid"}))


def _of_symbol(markets: dict[str, Market], path: str, query: Query, now_ns: int) -> RestReply:
    symbol = query.get("symbol", "")
    if not symbol:
        return invalid(-1102, "Mandatory parameter 'symbol' was not sent, was empty/null, or malformed.")
    market = markets.get(symbol)
    if market is None:
        return invalid(-1121, "Invalid symbol.")
    if path == "/fapi/v1/premiumIndex":
        return RestReply(200, encode_json(_premium(market, now_ns)))
    if path == "/fapi/v1/openInterest":
        derivatives = market.derivatives
        interest = market.instrument.size(derivatives.open_interest)
        return RestReply(200, encode_json({"openInterest": interest, "symbol": symbol, "time": ms(now_ns)}))
    return _depth(market, query, now_ns)


def _depth(market: Market, query: Query, now_ns: int) -> RestReply:
    limit = query.get("limit", "500")
    if limit not in DEPTH_LIMITS:
        return invalid(-4021, f"{limit} is not valid depth limit (5, 10, 20, 50, 100, 500, 1000).")
    body = {"lastUpdateId": market.book.update_id, "E": ms(now_ns), "T": ms(market.now_ns)}
    return RestReply(200, encode_json({**body, **depth_sides(market, int(limit))}))


def _premium(market: Market, now_ns: int) -> dict[str, Any]:
    derivatives, instrument = market.derivatives, market.instrument
    index = instrument.price(derivatives.index // 10)
    return {
        "symbol": instrument.native_symbol,
        "markPrice": instrument.price(derivatives.mark // 10),
        "indexPrice": index,
        "estimatedSettlePrice": index,
        "lastFundingRate": decimal_text(derivatives.rate, 8) if derivatives.funded else "",
        "interestRate": "0.00010000" if derivatives.funded else "",
        "nextFundingTime": derivatives.next_funding_ms if derivatives.funded else 0,
        "time": ms(now_ns),
    }


def _exchange_info(markets: dict[str, Market], now_ns: int) -> RestReply:
    body = {
        "timezone": "UTC",
        "serverTime": ms(now_ns),
        "futuresType": "U_MARGINED",
        "rateLimits": [
            {"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1, "limit": 2400},
        ],
        "exchangeFilters": [],
        "assets": [],
        "symbols": [_listing(market) for market in markets.values()],
    }
    return RestReply(200, encode_json(body))


def _listing(market: Market) -> dict[str, Any]:
    instrument = market.instrument
    return {
        "symbol": instrument.native_symbol,
        "pair": instrument.native_symbol.partition("_")[0],
        "contractType": "NEXT_QUARTER" if instrument.delivery_ms else "PERPETUAL",
        "deliveryDate": instrument.delivery_ms or PERPETUAL_DELIVERY_MS,
        "onboardDate": 1_569_398_400_000,
        "status": "TRADING",
        "baseAsset": instrument.base,
        "quoteAsset": instrument.quote,
        "marginAsset": instrument.settle,
        "pricePrecision": instrument.price_scale,
        "quantityPrecision": instrument.size_scale,
        "baseAssetPrecision": 8,
        "quotePrecision": 8,
        "underlyingType": "COIN",
        "underlyingSubType": ["PoW"],
        "triggerProtect": "0.0500",
        "liquidationFee": "0.012500",
        "marketTakeBound": "0.05",
        "maxMoveOrderLimit": 10000,
        "filters": [
            {
                "filterType": "PRICE_FILTER",
                "minPrice": instrument.price(1),
                "maxPrice": "4529764",
                "tickSize": instrument.price(1),
            },
            {"filterType": "LOT_SIZE", "minQty": instrument.lot, "maxQty": "1000", "stepSize": instrument.lot},
            {"filterType": "MIN_NOTIONAL", "notional": "5"},
        ],
        "orderTypes": ["LIMIT", "MARKET", "STOP", "STOP_MARKET", "TAKE_PROFIT", "TAKE_PROFIT_MARKET"],
        "timeInForce": ["GTC", "IOC", "FOK", "GTX", "GTD"],
    }
