"""What the account conformance tests know of Bybit."""

from shared.accounts.base import Call
from shared.instruments import Instrument
from tests.contract.account_samples import AccountSample, Event, Refused, message
from tests.unit.exchanges.bybit.account import frames as f
from tests.unit.exchanges.bybit.frames import instrument

__all__ = [
    "CLOCKS",
    "CONTROLS",
    "ENDINGS",
    "LISTED",
    "OPENING",
    "OPENINGS",
    "PRODUCTS",
    "REFUSALS",
    "REFUSED",
    "SAMPLES",
    "STREAM",
    "UNKNOWN_STATUSES",
    "empty",
    "endless",
]

STREAM = "bybit.main"
PRODUCTS = ("spot", "linear", "inverse")

LISTED: dict[str, tuple[Instrument, ...]] = {
    "spot": (instrument("spot", "ETHUSDC"), instrument("spot", "SOLUSDT")),
    "linear": (instrument("linear", "SOLUSDT"), instrument("linear", "BTCPERP")),
    "inverse": (instrument("inverse", "BTCUSD"),),
}


def _rows(*names: str) -> tuple[tuple[str | int, ...], ...]:
    return tuple(("data", 0, name) for name in names)


def _listed(*names: str) -> tuple[tuple[str | int, ...], ...]:
    return tuple(("result", "list", 0, name) for name in names)


_INVERSE = {"category": "inverse", "symbol": "BTCUSD"}

SAMPLES = (
    AccountSample(STREAM, "order", f.message("order", f.order()), ("order",), _rows("price", "qty", "leavesQty")),
    AccountSample(
        STREAM,
        "order-filling",
        f.message(
            "order.linear",
            f.order(orderStatus="PartiallyFilled", cumExecQty="4", avgPrice="149.95", leavesQty="8.5"),
        ),
        ("order",),
        _rows("cumExecQty", "avgPrice"),
    ),
    AccountSample(
        STREAM,
        "order-conditional",
        f.message("order", f.order(orderStatus="Untriggered", stopOrderType="Stop", triggerPrice="140")),
        ("order",),
        _rows("triggerPrice"),
    ),
    AccountSample(
        STREAM,
        "order-inverse",
        f.message(
            "order",
            f.order(
                **_INVERSE,
                qty="500",
                price="50000",
                orderStatus="PartiallyFilled",
                cumExecQty="100",
                avgPrice="40000",
                leavesQty="400",
            ),
        ),
        ("order",),
        _rows("qty", "cumExecQty"),
    ),
    AccountSample(
        STREAM, "two-orders", f.message("order", f.order(), f.order(orderId="a0b1c2d3-0002")), ("order", "order")
    ),
    AccountSample(
        STREAM,
        "execution",
        f.message("execution", f.execution()),
        ("fill",),
        _rows("execPrice", "execQty", "execFee", "execPnl"),
    ),
    AccountSample(
        STREAM,
        "execution-inverse",
        f.message("execution.inverse", f.execution(**_INVERSE, execQty="100", execPrice="40000")),
        ("fill",),
        _rows("execQty", "execPrice"),
    ),
    AccountSample(
        STREAM,
        "funding",
        f.message("execution", f.execution(execType="Funding", orderId="", execFee="1.25")),
        ("balance",),
        _rows("execFee"),
    ),
    AccountSample(STREAM, "fast", f.message("execution.fast", f.execution()), ()),
    AccountSample(
        STREAM,
        "position",
        f.message("position", f.position()),
        ("position",),
        _rows("size", "entryPrice", "markPrice", "liqPrice", "unrealisedPnl", "curRealisedPnl", "leverage"),
    ),
    AccountSample(
        STREAM,
        "position-inverse",
        f.message("position.inverse", f.position(**_INVERSE, size="300", entryPrice="60000")),
        ("position",),
        _rows("size", "entryPrice"),
    ),
    AccountSample(
        STREAM,
        "wallet",
        f.wallet(f.coin(), f.coin(coin="SOL", availableToWithdraw="3")),
        ("balance", "balance"),
        tuple(
            ("data", 0, "coin", 1, name)
            for name in ("walletBalance", "equity", "locked", "borrowAmount", "unrealisedPnl", "availableToWithdraw")
        ),
    ),
    AccountSample(
        STREAM,
        "open-orders",
        f.page("linear", f.order(avgPrice=None, blockTradeId=None), cursor="page_args%3Dx%26"),
        ("order",),
        _listed("price", "qty"),
        url=f"{f.REST}/v5/order/realtime?category=linear&settleCoin=USDT&openOnly=0&limit=50",
    ),
    AccountSample(
        STREAM,
        "ended-orders",
        f.page("spot", f.order(category=None, symbol="ETHUSDC", orderStatus="Cancelled", leavesQty="0")),
        ("order",),
        _listed("cumExecQty"),
        url=f"{f.REST}/v5/order/history?category=spot&startTime=1&endTime=2&limit=50",
    ),
    AccountSample(
        STREAM,
        "executions",
        f.page("linear", f.execution(category=None, execPnl=None), f.execution(category=None, execId="e-7002")),
        ("fill", "fill"),
        _listed("execPrice", "execQty"),
        url=f"{f.REST}/v5/execution/list?category=linear&startTime=1&endTime=2&limit=100",
    ),
    AccountSample(
        STREAM,
        "positions",
        f.page("linear", f.position(category=None, entryPrice=None, avgPrice="149.95", seq="-1")),
        ("position",),
        _listed("size", "avgPrice"),
        url=f"{f.REST}/v5/position/list?category=linear&settleCoin=USDT&limit=200",
    ),
    AccountSample(
        STREAM,
        "balances",
        f.wallet_reply(f.coin()),
        ("balance",),
        (("result", "list", 0, "coin", 0, "walletBalance"),),
        url=f"{f.REST}/v5/account/wallet-balance?accountType=UNIFIED",
    ),
)

UNKNOWN_STATUSES = (
    AccountSample(STREAM, "stream", f.message("order", f.order(orderStatus="Pondering")), ()),
    AccountSample(
        STREAM,
        "rest",
        f.page("linear", f.order(orderStatus="new")),
        (),
        url=f"{f.REST}/v5/order/history?category=linear",
    ),
)

_LOGGED_IN = message(b'{"req_id":"auth","success":true,"ret_msg":"","op":"auth","conn_id":"c0ffee-1"}')
OPENING: tuple[Event, ...] = (
    _LOGGED_IN,
    message(b'{"success":true,"ret_msg":"","op":"subscribe","conn_id":"c0ffee-1","req_id":"account"}'),
)
OPENINGS = {STREAM: OPENING}

CONTROLS = {
    STREAM: (
        message(b'{"req_id":"ping","op":"pong","args":["1790000000500"],"conn_id":"c0ffee-1"}'),
        message(b'{"success":true,"ret_msg":"pong","conn_id":"c0ffee-1","req_id":"","op":"ping"}'),
        _LOGGED_IN,
        OPENING[1],
    )
}

REFUSALS: dict[str, tuple[tuple[Event, ...], ...]] = {
    STREAM: (
        (message(b'{"conn_id":"c0ffee-1","op":"auth","ret_msg":"Params Error","success":false}'),),
        (message(b'{"op":"auth","success":false,"retCode":10003,"retMsg":"Invalid apikey","connId":"c0ffee-1"}'),),
        (message(b'{"op":"auth","retCode":10004,"retMsg":"error sign!","connId":"c0ffee-1"}'),),
        (message(b'{"op":"auth","ret_msg":"neither yes nor no"}'),),
    )
}

ENDINGS: dict[str, tuple[tuple[Event, ...], ...]] = {
    STREAM: (
        (message(b'{"success":false,"ret_msg":"error:handler not found,topic:wallet","op":"subscribe"}'),),
        (message(b'{"success":false,"ret_msg":"something is wrong"}'),),
    )
}

REFUSED = (
    Refused(200, b'{"retCode":10003,"retMsg":"API key is invalid.","result":{},"time":1790000000000}', "key"),
    Refused(200, b'{"retCode":10004,"retMsg":"error sign! origin_string[...]","result":{}}', "signature"),
    Refused(200, b'{"retCode":10002,"retMsg":"invalid request, req_timestamp ...","result":{}}', "clock"),
    Refused(200, b'{"retCode":10005,"retMsg":"Permission denied","result":{}}', "permission"),
    Refused(200, b'{"retCode":10010,"retMsg":"Unmatched IP","result":{}}', "address"),
    Refused(401, b"", "key"),
    Refused(200, b'{"retCode":10006,"retMsg":"Too many visits!","result":{}}', None),
    Refused(200, b'{"retCode":0,"retMsg":"OK","result":{}}', None),
    Refused(502, b"<html>", None),
)

CLOCKS: tuple[tuple[bytes, int | None], ...] = (
    (b'{"retCode":0,"retMsg":"OK","result":{"timeSecond":"1790000000"},"time":1790000000777}', 1_790_000_000_777),
    (b'{"retCode":10006,"retMsg":"Too many visits!","result":{},"time":1790000000777}', None),
    (b'{"retCode":0,"result":{}}', None),
    (b"", None),
)


def empty(call: Call) -> bytes:
    """Nothing of anything."""
    parameters = dict(call.parameters)
    if call.path == "/v5/account/wallet-balance":
        return f.wallet_reply()
    return f.page(parameters["category"])


def endless(call: Call, seed: int) -> bytes:
    """Full pages, each with another cursor, whose rows are as old as the window allows."""
    parameters = dict(call.parameters)
    if call.path == "/v5/account/wallet-balance":
        return f.wallet_reply(f.coin())
    time = str(int(parameters.get("endTime", f.TS)) - seed % 7)
    row = {
        "/v5/execution/list": f.execution(execId=f"e-{seed}", orderId=f"o-{seed}", execTime=time),
        "/v5/position/list": f.position(),
    }.get(call.path, f.order(orderId=f"p-{seed}", createdTime=time))
    return f.page(parameters["category"], *(row | {"category": None} for _ in range(50)), cursor=f"page%3D{seed}%26")
