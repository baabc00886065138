"""What the account conformance tests know of Binance."""

from msgspec import json

from shared.accounts.base import Call
from shared.exchanges.binance.symbols import named
from shared.instruments import Instrument
from tests.contract.account_samples import AccountSample, Event, Refused, answer, message
from tests.unit.exchanges.binance.account import frames as f

__all__ = [
    "CLOCKS",
    "CONTROLS",
    "ENDINGS",
    "LISTED",
    "OPENINGS",
    "PRODUCTS",
    "REFUSALS",
    "REFUSED",
    "SAMPLES",
    "SPOT",
    "SYMBOLS",
    "UNKNOWN_STATUSES",
    "USDM",
    "empty",
    "endless",
]

SPOT, USDM = "binance.main.spot", "binance.main.usdm"
PRODUCTS = ("spot", "usdm")
SYMBOLS = ("SOLUSDC", "SOLUSDT")


def _instrument(product: str, native_symbol: str) -> Instrument:
    found = named(product, native_symbol)
    assert found is not None
    return found


LISTED: dict[str, tuple[Instrument, ...]] = {
    "spot": (_instrument("spot", "SOLUSDC"), _instrument("spot", "BTCUSDT")),
    "usdm": (_instrument("usdm", "SOLUSDT"), _instrument("usdm", "NEARUSDT")),
}


def _event(*names: str) -> tuple[tuple[str | int, ...], ...]:
    return tuple(("event", name) for name in names)


def _order(*names: str) -> tuple[tuple[str | int, ...], ...]:
    return tuple(("o", name) for name in names)


def _row(*names: str) -> tuple[tuple[str | int, ...], ...]:
    return tuple((0, name) for name in names)


_SPOT_SAMPLES = (
    AccountSample(
        SPOT, "new", f.wrapped(f.execution_report()), ("order",), _event("q", "p", "z"), symbols=("SOLUSDC",)
    ),
    AccountSample(
        SPOT,
        "trade",
        f.wrapped(f.execution_report(**f.TRADED)),
        ("order", "fill"),
        _event("l", "L", "n"),
        symbols=("SOLUSDC",),
    ),
    AccountSample(SPOT, "unwrapped", json.encode(f.execution_report()), ("order",), symbols=("SOLUSDC",)),
    AccountSample(
        SPOT,
        "stop",
        f.wrapped(f.execution_report(o="STOP_LOSS_LIMIT", P="140.5", w=False)),
        ("order",),
        _event("P"),
        symbols=("SOLUSDC",),
    ),
    AccountSample(
        SPOT,
        "position",
        f.wrapped(f.account_position(("SOL", "8.5", "4"), ("USDC", "100", "0"))),
        ("balance", "balance"),
        (("event", "B", 0, "f"), ("event", "B", 1, "l")),
    ),
    AccountSample(
        SPOT,
        "deposit",
        f.wrapped({"e": "balanceUpdate", "E": f.TS, "a": "SOL", "d": "-2.50000000", "T": f.TS}),
        ("balance",),
        _event("d"),
    ),
    AccountSample(
        SPOT,
        "lock",
        f.wrapped({"e": "externalLockUpdate", "E": f.TS, "a": "SOL", "d": "2.50000000", "T": f.TS}),
        ("balance",),
    ),
    AccountSample(
        SPOT,
        "list",
        f.wrapped({"e": "listStatus", "E": f.TS, "s": "SOLUSDC", "g": 2, "c": "OCO"}),
        (),
        symbols=("SOLUSDC",),
    ),
    AccountSample(
        SPOT,
        "open-orders",
        json.encode([f.order_row()]),
        ("order",),
        _row("price", "origQty", "executedQty"),
        url=f"{f.REST['spot']}/api/v3/openOrders",
    ),
    AccountSample(
        SPOT,
        "orders",
        json.encode([f.order_row(status="CANCELED")]),
        ("order",),
        _row("price", "origQty", "executedQty"),
        url=f"{f.REST['spot']}/api/v3/allOrders?symbol=SOLUSDC&limit=1000",
    ),
    AccountSample(
        SPOT,
        "trades",
        json.encode([f.spot_trade_row()]),
        ("fill",),
        _row("price", "qty", "commission"),
        url=f"{f.REST['spot']}/api/v3/myTrades?symbol=SOLUSDC&startTime=1&endTime=2&limit=1000",
    ),
    AccountSample(
        SPOT,
        "account",
        json.encode({"makerCommission": 1, "balances": [{"asset": "SOL", "free": "8.5", "locked": "4"}]}),
        ("balance",),
        (("balances", 0, "free"), ("balances", 0, "locked")),
        url=f"{f.REST['spot']}/api/v3/account",
    ),
)

_USDM_SAMPLES = (
    AccountSample(USDM, "new", f.order_update(), ("order",), _order("q", "p", "z"), symbols=("SOLUSDT",)),
    AccountSample(
        USDM,
        "trade",
        f.order_update(**f.EXECUTED),
        ("order", "fill"),
        _order("l", "L", "n", "ap", "rp"),
        symbols=("SOLUSDT",),
    ),
    AccountSample(
        USDM,
        "combined",
        json.encode({"stream": "a-key", "data": json.decode(f.order_update())}),
        ("order",),
        symbols=("SOLUSDT",),
    ),
    AccountSample(USDM, "algo", f.algo_update(), ("order",), _order("q", "tp"), symbols=("SOLUSDT",)),
    AccountSample(
        USDM,
        "account",
        f.account_update(f.asset(), legs=(f.leg(), f.leg(s="NEARUSDT", pa="-3", ps="SHORT"))),
        ("balance", "position", "position"),
        (("a", "B", 0, "wb"), ("a", "P", 0, "pa"), ("a", "P", 0, "ep"), ("a", "P", 0, "up"), ("a", "P", 0, "cr")),
        symbols=("SOLUSDT", "NEARUSDT"),
    ),
    AccountSample(
        USDM,
        "funding",
        f.account_update(f.asset(bc="-1.25"), reason="FUNDING_FEE"),
        ("balance",),
        (("a", "B", 0, "bc"),),
    ),
    AccountSample(
        USDM,
        "lite",
        json.encode({"e": "TRADE_LITE", "E": f.TS, "T": f.TS, "s": "SOLUSDT", "q": "1", "t": 880_001, "l": "1"}),
        (),
        symbols=("SOLUSDT",),
    ),
    AccountSample(
        USDM,
        "open-orders",
        json.encode([f.usdm_order_row()]),
        ("order",),
        _row("price", "origQty", "executedQty", "avgPrice"),
        url=f"{f.REST['usdm']}/fapi/v1/openOrders",
    ),
    AccountSample(
        USDM,
        "algo-orders",
        json.encode([f.algo_row()]),
        ("order",),
        _row("quantity", "triggerPrice"),
        url=f"{f.REST['usdm']}/fapi/v1/openAlgoOrders",
    ),
    AccountSample(
        USDM,
        "orders",
        json.encode([f.usdm_order_row(status="CANCELED")]),
        ("order",),
        _row("price", "origQty", "executedQty", "avgPrice"),
        url=f"{f.REST['usdm']}/fapi/v1/allOrders?symbol=SOLUSDT&limit=1000",
    ),
    AccountSample(
        USDM,
        "ended-algo-orders",
        json.encode([f.algo_row(algoStatus="CANCELED")]),
        ("order",),
        _row("quantity", "triggerPrice"),
        url=f"{f.REST['usdm']}/fapi/v1/allAlgoOrders?symbol=SOLUSDT",
    ),
    AccountSample(
        USDM,
        "trades",
        json.encode([f.usdm_trade_row()]),
        ("fill",),
        _row("price", "qty", "commission", "realizedPnl"),
        url=f"{f.REST['usdm']}/fapi/v1/userTrades?symbol=SOLUSDT&limit=1000",
    ),
    AccountSample(
        USDM,
        "positions",
        json.encode([f.risk_row()]),
        ("position",),
        _row("positionAmt", "entryPrice", "markPrice", "liquidationPrice", "unRealizedProfit"),
        url=f"{f.REST['usdm']}/fapi/v3/positionRisk",
    ),
    AccountSample(
        USDM,
        "balances",
        json.encode([f.balance_row()]),
        ("balance",),
        _row("balance", "availableBalance", "crossUnPnl"),
        url=f"{f.REST['usdm']}/fapi/v3/balance",
    ),
)

SAMPLES = (*_SPOT_SAMPLES, *_USDM_SAMPLES)

UNKNOWN_STATUSES = (
    AccountSample(SPOT, "stream", f.wrapped(f.execution_report(X="PONDERING")), ()),
    AccountSample(
        SPOT,
        "rest",
        json.encode([f.order_row(status="new")]),
        (),
        url=f"{f.REST['spot']}/api/v3/allOrders?symbol=SOLUSDC",
    ),
    AccountSample(USDM, "stream", f.order_update(X="PONDERING"), ()),
    AccountSample(USDM, "execution", f.order_update(x="PONDERING"), ()),
    AccountSample(USDM, "algo", f.algo_update(X="PONDERING"), ()),
    AccountSample(
        USDM,
        "algo-rest",
        json.encode([f.algo_row(algoStatus="PONDERING")]),
        (),
        url=f"{f.REST['usdm']}/fapi/v1/openAlgoOrders",
    ),
)

_SUBSCRIBED = message(b'{"id":"account","status":200,"result":{"subscriptionId":0},"rateLimits":[]}')
_KEY = answer(b'{"listenKey":"l1stenKey0f4test"}')

OPENINGS: dict[str, tuple[Event, ...]] = {SPOT: (_SUBSCRIBED,), USDM: (_KEY,)}

CONTROLS: dict[str, tuple[Event, ...]] = {
    SPOT: (_SUBSCRIBED, message(b'{"id":"other","status":200,"result":{}}')),
}

REFUSALS: dict[str, tuple[tuple[Event, ...], ...]] = {
    SPOT: tuple(
        (message(json.encode({"id": "account", "status": 400, "error": {"code": code, "msg": text}})),)
        for code, text in (
            (-1022, "Signature for this request is not valid."),
            (-1021, "Timestamp for this request is outside of the recvWindow."),
            (-2015, "Invalid API-key, IP, or permissions for action."),
            (-2014, "API-key format invalid."),
        )
    ),
    USDM: (
        (answer(b'{"code":-2015,"msg":"Invalid API-key, IP, or permissions for action."}', 401),),
        (answer(b'{"code":-2014,"msg":"API-key format invalid."}', 401),),
        (answer(b"", 401),),
    ),
}

ENDINGS: dict[str, tuple[tuple[Event, ...], ...]] = {
    SPOT: (
        (message(f.wrapped({"e": "eventStreamTerminated", "E": f.TS})),),
        (message(json.encode({"e": "serverShutdown", "E": f.TS})),),
        (message(b'{"id":null,"status":429,"error":{"code":-1003,"msg":"Too many requests."}}'),),
    ),
    USDM: (
        (message(json.encode({"e": "listenKeyExpired", "E": f.TS, "listenKey": "l1stenKey0f4test"})),),
        (message(json.encode({"e": "serverShutdown", "E": f.TS})),),
    ),
}

REFUSED = (
    Refused(401, b'{"code":-2015,"msg":"Invalid API-key, IP, or permissions for action."}', "key"),
    Refused(400, b'{"code":-2014,"msg":"API-key format invalid."}', "key"),
    Refused(400, b'{"code":-1022,"msg":"Signature for this request is not valid."}', "signature"),
    Refused(400, b'{"code":-1021,"msg":"Timestamp for this request was 1000ms ahead."}', "clock"),
    Refused(401, b'{"code":-1002,"msg":"You are not authorized."}', "permission"),
    Refused(401, b"", "key"),
    Refused(400, b'{"code":-1121,"msg":"Invalid symbol."}', None),
    Refused(200, b"[]", None),
    Refused(502, b"<html>", None),
)

CLOCKS: tuple[tuple[bytes, int | None], ...] = (
    (b'{"serverTime":1790000000777}', 1_790_000_000_777),
    (b'{"serverTime":1790000000777123}', None),
    (b'{"code":-1003,"msg":"Too many requests."}', None),
    (b"", None),
)


def empty(call: Call) -> bytes:
    """Nothing of anything."""
    return b'{"balances":[]}' if call.path.endswith("/account") else b"[]"


def endless(call: Call, seed: int) -> bytes:
    """Full lists, each of other rows."""
    given = dict(call.parameters)
    what = call.path.rpartition("/")[2]
    if what == "account":
        return b'{"balances":[]}'
    time = min(int(given.get("endTime", f.TS)), int(given.get("startTime", f.TS - 1_000)) + 1 + seed % 3)
    symbol = given.get("symbol", f"N{seed}USDT")
    row = {
        "myTrades": f.spot_trade_row(symbol=symbol, time=time),
        "userTrades": f.usdm_trade_row(symbol=symbol, time=time),
        "positionRisk": f.risk_row(symbol=symbol),
        "balance": f.balance_row(),
        "openAlgoOrders": f.algo_row(symbol=symbol),
        "allAlgoOrders": f.algo_row(symbol=symbol),
    }.get(what, f.order_row(symbol=symbol, time=time))
    ids = {"id": "id", "orderId": "orderId"}
    rows = [row | {name: 1_000_000 * seed + index for name in ids if name in row} for index in range(1_000)]
    return json.encode(rows[0] if what == "order" else rows)
