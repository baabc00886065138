"""Binance's private events and REST rows in the documented shape, with made-up numbers."""

from msgspec import json

__all__ = [
    "REST",
    "TS",
    "account_position",
    "account_update",
    "algo_row",
    "algo_update",
    "asset",
    "balance_row",
    "execution_report",
    "leg",
    "order_row",
    "order_update",
    "risk_row",
    "spot_trade_row",
    "usdm_order_row",
    "usdm_trade_row",
    "wrapped",
]

TS = 1_790_000_000_123
REST = {"spot": "https://api.binance.com", "usdm": "https://fapi.binance.com"}

Row = dict[str, object]


def wrapped(event: Row) -> bytes:
    """An event of the WebSocket API."""
    return json.encode({"subscriptionId": 0, "event": event})


def execution_report(**changes: object) -> Row:
    """``executionReport`` of a new limit order."""
    event: Row = {
        "e": "executionReport",
        "E": TS + 1,
        "s": "SOLUSDC",
        "c": "mine-1",
        "S": "BUY",
        "o": "LIMIT",
        "f": "GTC",
        "q": "12.50000000",
        "p": "150.00000000",
        "P": "0.00000000",
        "F": "0.00000000",
        "g": -1,
        "C": "",
        "x": "NEW",
        "X": "NEW",
        "r": "NONE",
        "i": 7_700_001,
        "l": "0.00000000",
        "z": "0.00000000",
        "L": "0.00000000",
        "n": "0",
        "N": None,
        "T": TS,
        "t": -1,
        "I": 990_001,
        "w": True,
        "m": False,
        "M": False,
        "O": TS - 50,
        "Z": "0.00000000",
        "Y": "0.00000000",
        "Q": "0.00000000",
        "W": TS - 50,
        "V": "NONE",
    }
    return event | changes


TRADED: Row = {
    "x": "TRADE",
    "X": "PARTIALLY_FILLED",
    "l": "4.00000000",
    "z": "4.00000000",
    "L": "149.50000000",
    "Z": "598.00000000",
    "n": "0.00400000",
    "N": "SOL",
    "t": 880_001,
    "m": True,
}
"""What an execution changes in a report."""


def account_position(*rows: tuple[str, str, str]) -> Row:
    """``outboundAccountPosition`` of (asset, free, locked)."""
    balances = [{"a": name, "f": free, "l": locked} for name, free, locked in rows]
    return {"e": "outboundAccountPosition", "E": TS + 2, "u": TS, "B": balances}


def order_update(**changes: object) -> bytes:
    """``ORDER_TRADE_UPDATE`` of a new limit order."""
    order: Row = {
        "s": "SOLUSDT",
        "c": "mine-1",
        "S": "BUY",
        "o": "LIMIT",
        "f": "GTC",
        "q": "12.5",
        "p": "150.00",
        "ap": "0",
        "sp": "0",
        "x": "NEW",
        "X": "NEW",
        "i": 7_700_001,
        "l": "0",
        "z": "0",
        "L": "0",
        "T": TS,
        "t": 0,
        "b": "0",
        "a": "0",
        "m": False,
        "R": False,
        "wt": "CONTRACT_PRICE",
        "ot": "LIMIT",
        "ps": "BOTH",
        "cp": False,
        "rp": "0",
        "V": "EXPIRE_MAKER",
        "er": "0",
    }
    return json.encode({"e": "ORDER_TRADE_UPDATE", "E": TS + 3, "T": TS, "st": 1, "o": order | changes})


EXECUTED: Row = {
    "x": "TRADE",
    "X": "PARTIALLY_FILLED",
    "l": "4",
    "z": "4",
    "L": "149.50",
    "ap": "149.50",
    "N": "USDT",
    "n": "0.11960000",
    "t": 880_001,
    "m": True,
    "rp": "-1.5",
}
"""What an execution changes in an order update."""


def algo_update(**changes: object) -> bytes:
    """``ALGO_UPDATE`` of a new stop."""
    order: Row = {
        "caid": "mine-stop-1",
        "aid": 3_300_001,
        "at": "CONDITIONAL",
        "o": "STOP_MARKET",
        "s": "SOLUSDT",
        "S": "SELL",
        "ps": "BOTH",
        "f": "GTC",
        "q": "4",
        "X": "NEW",
        "ai": "",
        "ap": "0.00000",
        "aq": "0.00000",
        "tp": "140.00",
        "p": "0",
        "R": True,
        "rm": "",
    }
    return json.encode({"e": "ALGO_UPDATE", "T": TS, "E": TS + 4, "o": order | changes})


def asset(**changes: object) -> Row:
    """An asset of ``ACCOUNT_UPDATE``."""
    row: Row = {"a": "USDT", "wb": "1900.00000000", "cw": "1800.00000000", "bc": "0"}
    return row | changes


def leg(**changes: object) -> Row:
    """A leg of ``ACCOUNT_UPDATE``."""
    row: Row = {"s": "SOLUSDT", "pa": "4", "ep": "149.50", "bep": "149.6", "cr": "-44.2", "up": "0.60", "mt": "cross"}
    return row | {"iw": "0", "ps": "BOTH"} | changes


def account_update(*assets: Row, legs: tuple[Row, ...] = (), reason: str = "ORDER") -> bytes:
    """``ACCOUNT_UPDATE``."""
    change = {"m": reason, "B": assets, "P": legs}
    return json.encode({"e": "ACCOUNT_UPDATE", "E": TS + 5, "T": TS, "a": change})


def order_row(**changes: object) -> Row:
    """An order of spot's lists."""
    row: Row = {
        "symbol": "SOLUSDC",
        "orderId": 7_700_001,
        "orderListId": -1,
        "clientOrderId": "mine-1",
        "price": "150.00000000",
        "origQty": "12.50000000",
        "executedQty": "4.00000000",
        "cummulativeQuoteQty": "598.00000000",
        "status": "PARTIALLY_FILLED",
        "timeInForce": "GTC",
        "type": "LIMIT",
        "side": "BUY",
        "stopPrice": "0.00000000",
        "icebergQty": "0.00000000",
        "time": TS - 50,
        "updateTime": TS,
        "isWorking": True,
        "origQuoteOrderQty": "0.00000000",
    }
    return row | changes


def usdm_order_row(**changes: object) -> Row:
    """An order of USD-M's lists."""
    row: Row = {
        "symbol": "SOLUSDT",
        "orderId": 7_700_001,
        "clientOrderId": "mine-1",
        "avgPrice": "149.50",
        "cumQuote": "598",
        "executedQty": "4",
        "origQty": "12.5",
        "origType": "LIMIT",
        "price": "150.00",
        "reduceOnly": False,
        "side": "BUY",
        "positionSide": "BOTH",
        "status": "PARTIALLY_FILLED",
        "stopPrice": "0",
        "closePosition": False,
        "time": TS - 50,
        "timeInForce": "GTC",
        "type": "LIMIT",
        "updateTime": TS,
        "priceProtect": False,
    }
    return row | changes


def algo_row(**changes: object) -> Row:
    """A conditional order of USD-M's lists."""
    row: Row = {
        "algoId": 3_300_001,
        "clientAlgoId": "mine-stop-1",
        "algoType": "CONDITIONAL",
        "orderType": "STOP_MARKET",
        "symbol": "SOLUSDT",
        "side": "SELL",
        "positionSide": "BOTH",
        "timeInForce": "GTC",
        "quantity": "4",
        "algoStatus": "NEW",
        "triggerPrice": "140.00",
        "price": "0.00",
        "closePosition": False,
        "reduceOnly": True,
        "createTime": TS - 40,
        "updateTime": TS - 40,
        "triggerTime": 0,
    }
    return row | changes


def spot_trade_row(**changes: object) -> Row:
    """An execution of spot's list."""
    row: Row = {
        "symbol": "SOLUSDC",
        "id": 880_001,
        "orderId": 7_700_001,
        "orderListId": -1,
        "price": "149.50000000",
        "qty": "4.00000000",
        "quoteQty": "598.00000000",
        "commission": "0.00400000",
        "commissionAsset": "SOL",
        "time": TS,
        "isBuyer": True,
        "isMaker": True,
        "isBestMatch": True,
    }
    return row | changes


def usdm_trade_row(**changes: object) -> Row:
    """An execution of USD-M's list."""
    row: Row = {
        "buyer": True,
        "commission": "0.11960000",
        "commissionAsset": "USDT",
        "id": 880_001,
        "maker": True,
        "orderId": 7_700_001,
        "price": "149.50",
        "qty": "4",
        "quoteQty": "598",
        "realizedPnl": "-1.5",
        "side": "BUY",
        "positionSide": "BOTH",
        "symbol": "SOLUSDT",
        "time": TS,
    }
    return row | changes


def risk_row(**changes: object) -> Row:
    """A leg of ``positionRisk``."""
    row: Row = {
        "symbol": "SOLUSDT",
        "positionSide": "BOTH",
        "positionAmt": "-4",
        "entryPrice": "149.50",
        "breakEvenPrice": "149.4",
        "markPrice": "150.10000000",
        "unRealizedProfit": "-2.40000000",
        "liquidationPrice": "190.2",
        "isolatedMargin": "0",
        "notional": "-600.4",
        "marginAsset": "USDT",
        "updateTime": TS,
    }
    return row | changes


def balance_row(**changes: object) -> Row:
    """An asset of USD-M's list."""
    row: Row = {
        "accountAlias": "SgsR",
        "asset": "USDT",
        "balance": "1900.00000000",
        "crossWalletBalance": "1800.00000000",
        "crossUnPnl": "-2.40000000",
        "availableBalance": "1700.00000000",
        "maxWithdrawAmount": "1700.00000000",
        "marginAvailable": True,
        "updateTime": TS,
    }
    return row | changes
