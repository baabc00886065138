"""MEXC contract REST."""

from typing import Any

from msgspec import Raw

from services.simulator.engine import Market
from services.simulator.instruments import decimal_text
from services.simulator.session import RestReply
from services.simulator.topics import encode_json, ms
from services.simulator.venues.base import Query
from services.simulator.venues.mexc_futures_topics import level, number, ticker

__all__ = ["answer", "refusal"]

PREFIX = "/api/v1/contract/"
MOST_LEVELS = 1000
KINDS = frozenset({"ping", "detail", "ticker", "depth", "funding_rate"})


def answer(markets: dict[str, Market], path: str, query: Query, now_ns: int) -> RestReply:
    """One GET."""
    kind, _, symbol = path.removeprefix(PREFIX).partition("/")
    if not path.startswith(PREFIX) or kind not in KINDS:
        return RestReply(404, encode_json({"success": False, "code": 404, "message": "Not Found"}))
    if kind == "ping":
        return _ok(ms(now_ns))
    wanted = symbol or query.get("symbol", "")
    market = markets.get(wanted)
    if market is None and (wanted or kind in ("depth", "funding_rate")):
        return _failed(1001, "Contract does not exist!")
    if kind in ("detail", "ticker"):
        return _listed(kind, markets, market, now_ns)
    return _of_market(kind, markets[wanted], query, now_ns)


def _listed(kind: str, markets: dict[str, Market], market: Market | None, now_ns: int) -> RestReply:
    """One contract's row, or every row."""

    def row(one: Market) -> dict[str, Any]:
        return _contract(one) if kind == "detail" else ticker(one, ms(now_ns))

    return _ok(row(market) if market is not None else [row(one) for one in markets.values()])


def _of_market(kind: str, market: Market, query: Query, now_ns: int) -> RestReply:
    return _depth(market, query, now_ns) if kind == "depth" else _funding(market, now_ns)


def refusal(status: int) -> RestReply:
    """The documented code of too many requests is 510, whatever the HTTP status."""
    code, text = (510, "Requests are too frequent, please try again later!") if status == 429 else (500, "Internal")
    return RestReply(status, encode_json({"success": False, "code": code, "message": text}))


def _ok(data: object) -> RestReply:
    return RestReply(200, encode_json({"success": True, "code": 0, "data": data}))


def _failed(code: int, text: str) -> RestReply:
    return RestReply(200, encode_json({"success": False, "code": code, "message": text}))


def _depth(market: Market, query: Query, now_ns: int) -> RestReply:
    limit = query.get("limit", str(MOST_LEVELS))
    if not limit.isdecimal() or not 1 <= int(limit) <= MOST_LEVELS:
        return _failed(600, "Parameter error!")
    book = market.book
    data = {
        "asks": [level(market, tick, lots, buy=False) for tick, lots in book.top_asks(int(limit))],
        "bids": [level(market, tick, lots, buy=True) for tick, lots in book.top_bids(int(limit))],
        "version": book.update_id,
        "timestamp": ms(now_ns),
    }
    return _ok(data)


def _funding(market: Market, now_ns: int) -> RestReply:
    derivatives = market.derivatives
    data = {
        "symbol": market.instrument.native_symbol,
        "fundingRate": number(decimal_text(derivatives.rate, 8)),
        "maxFundingRate": Raw(b"0.003"),
        "minFundingRate": Raw(b"-0.003"),
        "collectCycle": 8,
        "nextSettleTime": derivatives.next_funding_ms,
        "timestamp": ms(now_ns),
    }
    return _ok(data)


def _contract(market: Market) -> dict[str, Any]:
    instrument = market.instrument
    return {
        "symbol": instrument.native_symbol,
        "displayName": instrument.native_symbol,
        "displayNameEn": f"{instrument.native_symbol} PERPETUAL",
        "positionOpenType": 3,
        "baseCoin": instrument.base,
        "quoteCoin": instrument.quote,
        "settleCoin": instrument.settle,
        "contractSize": Raw(instrument.contract_size.encode()),
        "minLeverage": 1,
        "maxLeverage": 200,
        "priceScale": instrument.price_scale,
        "volScale": 0,
        "amountScale": 4,
        "priceUnit": Raw(instrument.tick.encode()),
        "volUnit": 1,
        "minVol": 1,
        "maxVol": 1_000_000,
        "takerFeeRate": Raw(b"0.0002"),
        "makerFeeRate": 0,
        "state": 0,
        "isNew": False,
        "isHot": False,
        "isHidden": False,
        "apiAllowed": True,
        "futureType": 1,
    }
