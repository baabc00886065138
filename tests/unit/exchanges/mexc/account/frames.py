"""MEXC's private pushes and REST rows in the documented shape, with made-up numbers."""

from typing import Any

from msgspec import json

from shared.exchanges.mexc.push_pb2 import (
    PrivateAccountV3Api,
    PrivateDealsV3Api,
    PrivateOrdersV3Api,
    PushDataV3ApiWrapper,
)
from tests.unit.exchanges.mexc.frames import contract, spot

__all__ = [
    "CONTRACTS",
    "REST",
    "SPOTS",
    "TS",
    "account_update",
    "answered",
    "asset",
    "contract_order",
    "contract_push",
    "deal",
    "order_row",
    "position",
    "spot_deal",
    "spot_order",
    "trade_row",
]

TS = 1_790_000_000_123
REST = "https://api.mexc.com"

SPOTS = (spot("SOLUSDC"), spot("BTCUSDT"))
CONTRACTS = (contract("SOL_USDT", "0.1"), contract("SOL_USD", "10"))

Row = dict[str, object]


def spot_order(symbol: str = "SOLUSDC", **changes: Any) -> bytes:
    """A push of a new limit order; nothing filled."""
    fields: dict[str, Any] = {
        "id": "C02__800000000000000001",
        "clientId": "mine-1",
        "price": "150.25",
        "quantity": "12.5",
        "amount": "1878.125",
        "avgPrice": "0",
        "orderType": 1,
        "tradeType": 1,
        "remainAmount": "1878.125",
        "remainQuantity": "12.5",
        "cumulativeQuantity": "0",
        "cumulativeAmount": "0",
        "status": 1,
        "createTime": TS - 500,
    } | changes
    wrapper = PushDataV3ApiWrapper(
        channel="spot@private.orders.v3.api.pb",
        symbol=symbol,
        sendTime=TS,
        privateOrders=PrivateOrdersV3Api(**fields),
    )
    return wrapper.SerializeToString()


def spot_deal(symbol: str = "SOLUSDC", **changes: Any) -> bytes:
    """A push of an execution as a maker."""
    fields: dict[str, Any] = {
        "price": "149.5",
        "quantity": "4.25",
        "amount": "635.375",
        "tradeType": 1,
        "isMaker": True,
        "tradeId": "800000000000000077X1",
        "clientOrderId": "mine-1",
        "orderId": "C02__800000000000000001",
        "feeAmount": "0.127",
        "feeCurrency": "USDC",
        "time": TS - 20,
    } | changes
    wrapper = PushDataV3ApiWrapper(
        channel="spot@private.deals.v3.api.pb",
        symbol=symbol,
        sendTime=TS,
        privateDeals=PrivateDealsV3Api(**fields),
    )
    return wrapper.SerializeToString()


def account_update(**changes: Any) -> bytes:
    """A push of an asset after a deposit."""
    fields: dict[str, Any] = {
        "vcoinName": "USDC",
        "coinId": "00ff",
        "balanceAmount": "321.5",
        "balanceAmountChange": "100.25",
        "frozenAmount": "12.75",
        "frozenAmountChange": "0",
        "type": "DEPOSIT",
        "time": TS - 30,
    } | changes
    wrapper = PushDataV3ApiWrapper(
        channel="spot@private.account.v3.api.pb",
        createTime=TS - 10,
        sendTime=TS,
        privateAccount=PrivateAccountV3Api(**fields),
    )
    return wrapper.SerializeToString()


def order_row(**changes: object) -> Row:
    """An order of spot's lists."""
    return {
        "symbol": "SOLUSDC",
        "orderId": "C02__800000000000000001",
        "orderListId": -1,
        "clientOrderId": "mine-1",
        "price": "150.25",
        "origQty": "12.5",
        "executedQty": "0",
        "cummulativeQuoteQty": "0",
        "status": "NEW",
        "timeInForce": None,
        "type": "LIMIT",
        "side": "BUY",
        "stopPrice": None,
        "time": TS - 500,
        "updateTime": TS - 400,
        "isWorking": True,
    } | changes


def trade_row(**changes: object) -> Row:
    """An execution of spot's lists."""
    return {
        "symbol": "SOLUSDC",
        "id": "800000000000000077X1",
        "orderId": "C02__800000000000000001",
        "price": "149.5",
        "qty": "4.25",
        "quoteQty": "635.375",
        "commission": "0.127",
        "commissionAsset": "USDC",
        "time": TS - 20,
        "isBuyer": True,
        "isMaker": True,
        "isSelfTrade": False,
        "clientOrderId": "mine-1",
    } | changes


def contract_order(**changes: object) -> Row:
    """An order of futures, as pushed and as listed: opens a long, nothing filled."""
    return {
        "orderId": "700000000000000001",
        "symbol": "SOL_USDT",
        "positionId": 4711,
        "price": 150.25,
        "vol": 125,
        "leverage": 10,
        "side": 1,
        "category": 1,
        "orderType": 1,
        "dealAvgPrice": 0,
        "dealVol": 0,
        "remainVol": 125,
        "orderMargin": 187.8125,
        "takerFee": 0,
        "makerFee": 0,
        "profit": 0,
        "feeCurrency": "USDT",
        "openType": 2,
        "state": 2,
        "errorCode": 0,
        "externalOid": "mine-7",
        "createTime": TS - 500,
        "updateTime": TS - 400,
        "version": 1,
        "positionMode": 1,
    } | changes


def deal(**changes: object) -> Row:
    """An execution of futures; its order's id is a number here."""
    return {
        "id": 900_000_077,
        "symbol": "SOL_USDT",
        "side": 1,
        "vol": 40,
        "price": 149.5,
        "fee": 0.1196,
        "feeCurrency": "USDT",
        "timestamp": TS - 20,
        "profit": 0,
        "isTaker": True,
        "category": 1,
        "orderId": 700_000_000_000_000_001,
        "isSelf": False,
        "externalOid": "mine-7",
        "positionMode": 1,
    } | changes


def position(**changes: object) -> Row:
    """A position of futures."""
    return {
        "positionId": 4711,
        "symbol": "SOL_USDT",
        "holdVol": 40,
        "positionType": 1,
        "openType": 2,
        "state": 1,
        "frozenVol": 0,
        "closeVol": 0,
        "holdAvgPrice": 149.5,
        "openAvgPrice": 149.5,
        "closeAvgPrice": 0,
        "liquidatePrice": 91.25,
        "oim": 59.8,
        "im": 59.8,
        "holdFee": 0,
        "realised": -0.1196,
        "leverage": 10,
        "updateTime": TS - 15,
    } | changes


def asset(**changes: object) -> Row:
    """A currency of the futures wallet."""
    return {
        "currency": "USDT",
        "positionMargin": 59.8,
        "frozenBalance": 127.7,
        "availableBalance": 812.5,
        "cashBalance": 1000.25,
        "bonus": 0,
    } | changes


def contract_push(channel: str, data: object) -> bytes:
    """A frame of a futures socket."""
    return json.encode({"channel": f"push.personal.{channel}", "data": data, "ts": TS})


def answered(data: object) -> bytes:
    """A REST reply of futures."""
    return json.encode({"success": True, "code": 0, "data": data})
