"""What the account conformance tests know of MEXC."""

from msgspec import json

from shared.accounts.base import Call
from shared.exchanges.mexc.account.dialogue import TOPICS
from shared.exchanges.mexc.push_pb2 import PushDataV3ApiWrapper
from shared.instruments import Instrument
from tests.contract.account_samples import AccountSample, Event, Refused, answer, message
from tests.contract.samples import Path
from tests.unit.exchanges.mexc.account import frames as f

__all__ = [
    "CLOCKS",
    "CONTROLS",
    "ENDINGS",
    "FUTURES",
    "LISTED",
    "OPENINGS",
    "PRODUCTS",
    "REFUSALS",
    "REFUSED",
    "SAMPLES",
    "SPOT",
    "SYMBOLS",
    "UNKNOWN_STATUSES",
    "empty",
    "endless",
]

SPOT, FUTURES = "mexc.main.spot", "mexc.main.futures"
PRODUCTS = ("spot", "futures")
SYMBOLS = ("SOLUSDC", "SOL_USDT")
LISTED: dict[str, tuple[Instrument, ...]] = {"spot": f.SPOTS, "futures": f.CONTRACTS}

API = f"{f.REST}/api/v3"
PRIVATE = f"{f.REST}/api/v1/private"


def _of(first: str, *names: str) -> tuple[Path, ...]:
    return tuple((first, name) for name in names)


def _row(*names: str) -> tuple[Path, ...]:
    return tuple((0, name) for name in names)


def _data(*names: str) -> tuple[Path, ...]:
    return tuple(("data", 0, name) for name in names)


_SPOT_SAMPLES = (
    AccountSample(
        SPOT,
        "order",
        f.spot_order(),
        ("order",),
        _of("privateOrders", "price", "quantity", "cumulativeQuantity", "remainQuantity", "avgPrice"),
        symbols=("SOLUSDC",),
        binary=True,
    ),
    AccountSample(
        SPOT,
        "deal",
        f.spot_deal(),
        ("fill",),
        _of("privateDeals", "price", "quantity", "feeAmount"),
        symbols=("SOLUSDC",),
        binary=True,
    ),
    AccountSample(
        SPOT,
        "account",
        f.account_update(),
        ("balance",),
        _of("privateAccount", "balanceAmount", "frozenAmount", "balanceAmountChange"),
        binary=True,
    ),
    AccountSample(
        SPOT, "bodiless", PushDataV3ApiWrapper(channel=TOPICS[0], sendTime=f.TS).SerializeToString(), (), binary=True
    ),
    AccountSample(
        SPOT,
        "open-orders",
        json.encode([f.order_row()]),
        ("order",),
        _row("price", "origQty", "executedQty"),
        url=f"{API}/openOrders?symbol=SOLUSDC",
    ),
    AccountSample(
        SPOT,
        "order-by-id",
        json.encode(f.order_row(status="FILLED", executedQty="12.5")),
        ("order",),
        (("price",), ("origQty",)),
        url=f"{API}/order?symbol=SOLUSDC&orderId=C02__800000000000000001",
    ),
    AccountSample(
        SPOT,
        "trades",
        json.encode([f.trade_row()]),
        ("fill",),
        _row("price", "qty", "commission"),
        url=f"{API}/myTrades?symbol=SOLUSDC&startTime=1&endTime=2&limit=100",
    ),
    AccountSample(
        SPOT,
        "balances",
        json.encode({"canTrade": True, "balances": [{"asset": "SOL", "free": "8.5", "locked": "4"}]}),
        ("balance",),
        (("balances", 0, "free"), ("balances", 0, "locked")),
        url=f"{API}/account",
    ),
)

_FUTURES_SAMPLES = (
    AccountSample(
        FUTURES,
        "order",
        f.contract_push("order", f.contract_order()),
        ("order",),
        _of("data", "price", "vol", "dealVol", "remainVol", "dealAvgPrice"),
        symbols=("SOL_USDT",),
    ),
    AccountSample(
        FUTURES,
        "deal",
        f.contract_push("order.deal", f.deal()),
        ("fill",),
        _of("data", "price", "vol", "fee", "profit"),
        symbols=("SOL_USDT",),
    ),
    AccountSample(
        FUTURES,
        "inverse-deal",
        f.contract_push("order.deal", f.deal(symbol="SOL_USD", feeCurrency="SOL")),
        ("fill",),
        symbols=("SOL_USD",),
    ),
    AccountSample(
        FUTURES,
        "position",
        f.contract_push("position", f.position()),
        ("position",),
        _of("data", "holdVol", "holdAvgPrice", "liquidatePrice", "realised", "leverage"),
        symbols=("SOL_USDT",),
    ),
    AccountSample(
        FUTURES,
        "asset",
        f.contract_push("asset", f.asset()),
        ("balance",),
        _of("data", "availableBalance", "frozenBalance", "cashBalance"),
    ),
    AccountSample(FUTURES, "adl-level", f.contract_push("adl.level", {"adlLevel": 1, "positionId": 4711}), ()),
    AccountSample(
        FUTURES,
        "open-orders",
        f.answered([f.contract_order()]),
        ("order",),
        _data("price", "vol", "dealVol"),
        url=f"{PRIVATE}/order/list/open_orders?page_num=1&page_size=100",
    ),
    AccountSample(
        FUTURES,
        "order-by-id",
        f.answered(f.contract_order(state=3, dealVol=125, remainVol=0, dealAvgPrice=149.5)),
        ("order",),
        _of("data", "vol", "dealAvgPrice"),
        url=f"{PRIVATE}/order/get/700000000000000001",
    ),
    AccountSample(
        FUTURES,
        "deals",
        f.answered([f.deal()]),
        ("fill",),
        _data("price", "vol", "fee"),
        url=f"{PRIVATE}/order/list/order_deals?symbol=SOL_USDT&start_time=1&end_time=2&page_num=1&page_size=100",
    ),
    AccountSample(
        FUTURES,
        "positions",
        f.answered([f.position()]),
        ("position",),
        _data("holdVol", "holdAvgPrice"),
        url=f"{PRIVATE}/position/open_positions",
    ),
    AccountSample(
        FUTURES,
        "assets",
        f.answered([f.asset(equity=1010.5, unrealized=10.25)]),
        ("balance",),
        _data("availableBalance", "cashBalance", "equity", "unrealized"),
        url=f"{PRIVATE}/account/assets",
    ),
)

SAMPLES = (*_SPOT_SAMPLES, *_FUTURES_SAMPLES)

UNKNOWN_STATUSES = (
    AccountSample(SPOT, "stream", f.spot_order(status=9), (), binary=True),
    AccountSample(SPOT, "none", f.spot_order(status=0), (), binary=True),
    AccountSample(SPOT, "rest", json.encode([f.order_row(status="PONDERING")]), (), url=f"{API}/allOrders?symbol=X"),
    AccountSample(FUTURES, "stream", f.contract_push("order", f.contract_order(state=9)), ()),
    AccountSample(
        FUTURES, "rest", f.answered([f.contract_order(state=0)]), (), url=f"{PRIVATE}/order/list/history_orders"
    ),
)

_KEY = answer(b'{"listenKey":"l1stenKey0f4test"}')
_SUBSCRIBED = message(json.encode({"id": 1, "code": 0, "msg": ",".join(TOPICS)}))
_LOGGED_IN = message(b'{"channel":"rs.login","data":"success","ts":1790000000000}')
_FILTERED = message(b'{"channel":"rs.personal.filter","data":"success","ts":1790000000005}')

OPENINGS: dict[str, tuple[Event, ...]] = {SPOT: (_KEY, _SUBSCRIBED), FUTURES: (_LOGGED_IN, _FILTERED)}

CONTROLS: dict[str, tuple[Event, ...]] = {
    SPOT: (_SUBSCRIBED, message(b'{"id":0,"code":0,"msg":"PONG"}')),
    FUTURES: (
        _LOGGED_IN,
        _FILTERED,
        message(b'{"channel":"pong","data":1790000003000,"ts":1790000003000}'),
        message(b'{"channel":"rs.sub.deal","data":"success","ts":1790000003000}'),
    ),
}


def _error(text: str) -> Event:
    return message(json.encode({"channel": "rs.error", "data": text, "ts": f.TS}))


def _complaint(code: int, status: int = 400) -> Event:
    return answer(json.encode({"code": code, "msg": "Something is not valid."}), status)


REFUSALS: dict[str, tuple[tuple[Event, ...], ...]] = {
    SPOT: (
        *((_complaint(code),) for code in (10_072, 700_001, 700_002, 700_003, 700_006, 700_007)),
        (_complaint(401, 401),),
        (answer(b"", 401),),
    ),
    FUTURES: (
        (_error("Signature verification failed!"),),
        (_error("reqTime is not valid!"),),
        (message(b'{"channel":"rs.login","data":"failed","ts":1790000000000}'),),
    ),
}

ENDINGS: dict[str, tuple[tuple[Event, ...], ...]] = {
    SPOT: (
        (message(b"Invalid listen key"),),
        (message(f"Invalid listen key: {f.TS}".encode()),),
        (message('{"id":1,"code":0,"msg":"Not Subscribed successfully! [a].  Reason\uff1a Blocked! "}'.encode()),),
        (message(b'{"id":1,"code":500,"msg":"busy"}'),),
    ),
    FUTURES: (
        (_error("more than 60 seconds no response, close the channel"),),
        (_error("Contract [NOPE_USDT] not exists"),),
    ),
}

REFUSED = (
    Refused(400, b'{"code":10072,"msg":"Api key info invalid"}', "key"),
    Refused(400, b'{"code":700002,"msg":"Signature for this request is not valid."}', "signature"),
    Refused(400, b'{"code":700003,"msg":"Timestamp for this request is outside of the recvWindow."}', "clock"),
    Refused(400, b'{"code":700006,"msg":"IP non white list"}', "address"),
    Refused(400, b'{"code":700007,"msg":"No permission to access the endpoint"}', "permission"),
    Refused(200, b'{"success":false,"code":401,"message":"No authority!"}', "key"),
    Refused(200, b'{"success":false,"code":402,"message":"Api_key expired!"}', "key"),
    Refused(200, b'{"success":false,"code":602,"message":"Signature verification failed!"}', "signature"),
    Refused(200, b'{"success":false,"code":513,"message":"Invalid request"}', "clock"),
    Refused(200, b'{"success":false,"code":406,"message":"IP is not in the whitelist"}', "address"),
    Refused(401, b"", "key"),
    Refused(200, b'{"success":false,"code":510,"message":"Requests are too frequent"}', None),
    Refused(200, b'{"success":true,"code":0,"data":[]}', None),
    Refused(400, b'{"code":-1121,"msg":"Invalid symbol."}', None),
    Refused(200, b"[]", None),
    Refused(502, b"<html>", None),
)

CLOCKS: tuple[tuple[bytes, int | None], ...] = (
    (b'{"serverTime":1790000000777}', 1_790_000_000_777),
    (b'{"success":true,"code":0,"data":1790000000778}', 1_790_000_000_778),
    (b'{"serverTime":1790000000777123456}', None),
    (b'{"success":false,"code":510,"message":"Requests are too frequent"}', None),
    (b"", None),
)


def empty(call: Call) -> bytes:
    """Nothing of anything."""
    if call.path.startswith("/api/v1/"):
        return f.answered([])
    return b'{"balances":[]}' if call.path.endswith("/account") else b"[]"


def endless(call: Call, seed: int) -> bytes:
    """Full lists, each of other rows."""
    given = dict(call.parameters)
    what = call.path.rpartition("/")[2]
    if what == "account":
        return b'{"balances":[]}'
    begin = given.get("startTime") or given.get("start_time") or f.TS
    end = given.get("endTime") or given.get("end_time") or f.TS
    time = min(int(begin) + 1 + seed % 3, int(end))
    if call.path.startswith("/api/v1/"):
        symbol = given.get("symbol", f"N{seed}_USDT")
        row = {
            "order_deals": f.deal(symbol=symbol, timestamp=time),
            "open_positions": f.position(symbol=symbol),
            "assets": f.asset(),
        }.get(what, f.contract_order(symbol=symbol, createTime=time))
        rows = [row | {"id": 1_000 * seed + at, "orderId": 1_000 * seed + at} for at in range(100)]
        return f.answered(rows[0] if "/order/get/" in call.path else rows)
    symbol = given.get("symbol", "")
    if what == "order":
        return json.encode(f.order_row(symbol=symbol))
    row = f.trade_row(symbol=symbol, time=time) if what == "myTrades" else f.order_row(symbol=symbol, time=time)
    return json.encode([row | {"id": f"{seed}X{at}", "orderId": f"C{seed}_{at}"} for at in range(1_000)])
