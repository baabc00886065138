"""Bybit's private frames and REST pages in the documented shape, with made-up numbers."""

from collections.abc import Mapping

from msgspec import json

__all__ = [
    "REST",
    "TS",
    "coin",
    "execution",
    "message",
    "order",
    "page",
    "position",
    "wallet",
    "wallet_reply",
]

TS = 1_790_000_000_123
REST = "https://api.bybit.com"

Row = dict[str, object]


def message(topic: str, *rows: Mapping[str, object], ts: int = TS) -> bytes:
    """A message of a private topic."""
    return json.encode({"id": "f3a1-77x", "topic": topic, "creationTime": ts, "data": rows})


def order(**changes: object) -> Row:
    """A row of ``order``."""
    row: Row = {
        "category": "linear",
        "symbol": "SOLUSDT",
        "orderId": "a0b1c2d3-0001",
        "orderLinkId": "mine-0001",
        "blockTradeId": "",
        "side": "Buy",
        "positionIdx": 0,
        "orderStatus": "New",
        "createType": "CreateByUser",
        "cancelType": "UNKNOWN",
        "rejectReason": "EC_NoError",
        "avgPrice": "",
        "leavesQty": "12.5",
        "leavesValue": "1875",
        "cumExecQty": "0",
        "cumExecValue": "0",
        "cumExecFee": "0",
        "timeInForce": "GTC",
        "orderType": "Limit",
        "stopOrderType": "",
        "marketUnit": "",
        "triggerPrice": "",
        "reduceOnly": False,
        "price": "150.00",
        "qty": "12.5",
        "createdTime": str(TS - 900),
        "updatedTime": str(TS - 5),
        "cumFeeDetail": {},
    }
    return row | changes


def execution(**changes: object) -> Row:
    """A row of ``execution``."""
    row: Row = {
        "category": "linear",
        "symbol": "SOLUSDT",
        "orderId": "a0b1c2d3-0001",
        "orderLinkId": "mine-0001",
        "side": "Buy",
        "orderPrice": "150.00",
        "orderQty": "12.5",
        "leavesQty": "8.5",
        "execFee": "0.12",
        "execId": "e-7001",
        "execPrice": "149.95",
        "execQty": "4",
        "execPnl": "0",
        "execType": "Trade",
        "execValue": "599.8",
        "execTime": str(TS - 7),
        "isMaker": True,
        "feeRate": "0.0002",
        "feeCurrency": "USDT",
        "seq": 9_100_000_000_001,
        "extraFees": "",
    }
    return row | changes


def position(**changes: object) -> Row:
    """A row of ``position``."""
    row: Row = {
        "category": "linear",
        "symbol": "SOLUSDT",
        "positionIdx": 0,
        "side": "Buy",
        "size": "4",
        "entryPrice": "149.95",
        "leverage": "5",
        "markPrice": "150.10",
        "liqPrice": "121.3",
        "unrealisedPnl": "0.6",
        "curRealisedPnl": "-0.12",
        "cumRealisedPnl": "-44.2",
        "tradeMode": 0,
        "updatedTime": str(TS - 3),
        "seq": 9_100_000_000_001,
    }
    return row | changes


def coin(**changes: object) -> Row:
    """A coin of a wallet."""
    row: Row = {
        "coin": "USDT",
        "equity": "1900.60",
        "usdValue": "1900.1",
        "walletBalance": "1900.00",
        "availableToWithdraw": "",
        "borrowAmount": "0",
        "unrealisedPnl": "0.60",
        "locked": "25.5",
        "collateralSwitch": True,
    }
    return row | changes


def wallet(*coins: Mapping[str, object], **changes: object) -> bytes:
    """A message of ``wallet``."""
    row: Row = {"accountType": "UNIFIED", "totalEquity": "1900.6", "totalAvailableBalance": "", "coin": coins}
    return message("wallet", row | changes)


def page(category: str | None, *rows: Mapping[str, object], cursor: str = "") -> bytes:
    """A page of a list."""
    result = {"category": category, "list": rows, "nextPageCursor": cursor}
    return json.encode({"retCode": 0, "retMsg": "OK", "result": result, "retExtInfo": {}, "time": TS})


def wallet_reply(*coins: Mapping[str, object]) -> bytes:
    """The reply about the wallet."""
    result = {"list": [{"accountType": "UNIFIED", "coin": coins}]}
    return json.encode({"retCode": 0, "retMsg": "OK", "result": result, "retExtInfo": {}, "time": TS})
