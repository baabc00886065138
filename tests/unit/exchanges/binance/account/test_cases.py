"""Failures that bit other gateways of this venue's accounts, and what must come of them here."""

import pytest
from msgspec import json

from shared.accounts.base import Found
from shared.accounts.messages import Fill, Order
from shared.envelope import RestReply
from shared.exchanges.binance.account import ACCOUNT_ADAPTER
from shared.instruments import InstrumentTable
from tests.contract.account_samples import AccountSample, origin_of, read
from tests.unit.exchanges.binance.account import frames as f
from tests.unit.exchanges.binance.account.samples import LISTED, SPOT, USDM

PLANS = {plan.name: plan for plan in ACCOUNT_ADAPTER.plan("main", ["spot", "usdm"], (), ACCOUNT_ADAPTER.products)}


def parsed(stream: str, data: bytes) -> Found:
    return read(ACCOUNT_ADAPTER, PLANS[stream], LISTED, AccountSample(stream, "case", data, ()))


def caught_up(stream: str, *replies: tuple[str, object]) -> Found:
    plan = PLANS[stream]
    parser = ACCOUNT_ADAPTER.parser(plan, {product: InstrumentTable(LISTED[product]) for product in plan.products})
    rest = [RestReply(f"{plan.endpoints.rest}{path}", 200, json.encode(body)) for path, body in replies]
    return parser.caught_up(origin_of(plan), rest)


def report(**changes: object) -> tuple[Order, list[Fill]]:
    found = parsed(SPOT, f.wrapped(f.execution_report(**changes)))
    assert found.rejections == []
    return found.orders[0], found.fills


def update(**changes: object) -> tuple[Order, list[Fill]]:
    found = parsed(USDM, f.order_update(**changes))
    assert found.rejections == []
    return found.orders[0], found.fills


def codes(found: Found) -> list[str]:
    return [rejection[0] for rejection in found.rejections]


def test_083_extra_fields_do_not_drop_a_fill_and_case_matters() -> None:
    traded = {**f.TRADED, "X": "FILLED", "q": "4.00000000", "V": "EXPIRE_MAKER", "W": f.TS, "zzz_new": {"a": [1]}}
    order, (fill,) = report(**traded)
    assert (fill.execution_id, fill.size, fill.price, fill.liquidity) == (
        "880001",
        "4.00000000",
        "149.50000000",
        "maker",
    )
    assert (fill.fee, fill.fee_asset, fill.order_id, fill.client_order_id) == ("0.00400000", "SOL", "7700001", "mine-1")
    assert (order.status, order.filled_size, order.remaining_size) == ("filled", "4.00000000", "0.00000000")


def test_taker_and_a_fee_without_an_asset() -> None:
    _, (fill,) = report(**{**f.TRADED, "m": False, "n": "0", "N": None})
    assert (fill.liquidity, fill.fee, fill.fee_asset) == ("taker", "0", None)


def test_execution_without_a_trade_id_is_rejected() -> None:
    found = parsed(SPOT, f.wrapped(f.execution_report(**{**f.TRADED, "t": -1})))
    assert (found.orders, found.fills, codes(found)) == ([], [], ["missing_field"])


def test_089_late_news_are_told_with_their_time() -> None:
    filled, _ = report(**{**f.TRADED, "X": "FILLED", "q": "4", "T": f.TS + 66})
    late, _ = report(T=f.TS + 57)
    assert (filled.status, late.status) == ("filled", "new")
    assert (late.ts_updated or 0) < (filled.ts_updated or 0)


def test_093_cancellation_keeps_what_was_filled_and_fills_nothing() -> None:
    partly, fills = report(x="TRADE", X="PARTIALLY_FILLED", q="10", l="3", z="3", L="5.0", Z="15", t=901, m=False)
    assert (partly.status, partly.remaining_size, partly.average_price, len(fills)) == ("partially_filled", "7", "5", 1)
    canceled, none = report(
        x="CANCELED", X="CANCELED", q="10", l="0", z="3", L="0", Z="15", t=-1, c="cancel-9", C="mine-1"
    )
    assert none == []
    assert (canceled.status, canceled.size, canceled.filled_size, canceled.remaining_size) == (
        "canceled",
        "10",
        "3",
        "7",
    )
    assert (canceled.average_price, canceled.client_order_id) == ("5", "mine-1")


def test_replaced_order_has_its_new_client_id() -> None:
    order, fills = report(x="REPLACED", X="NEW", c="mine-2", C="mine-1")
    assert (order.client_order_id, order.status, fills) == ("mine-2", "new", [])


def test_095_listed_assets_are_absolute_and_the_others_are_not_told() -> None:
    found = parsed(SPOT, f.wrapped(f.account_position(("ETH", "7000.5", "0.25"))))
    (balance,) = found.balances
    assert (balance.asset, balance.total, balance.available, balance.locked) == ("ETH", "7000.75", "7000.5", "0.25")
    assert balance.ts_exchange == f.TS * 1_000_000
    assert not found.all_balances
    assert found.changes is None


def test_095_difference_is_told_as_one() -> None:
    found = parsed(SPOT, f.wrapped({"e": "balanceUpdate", "E": f.TS, "a": "BTC", "d": "0.75000000", "T": f.TS - 4}))
    assert found.balances == []
    (change,) = found.changes or []
    assert (change.asset, change.change, change.total, change.available) == ("BTC", "0.75000000", None, None)
    assert (change.reason, change.ts_exchange) == ("transfer", (f.TS - 4) * 1_000_000)


def test_external_lock_is_told_without_a_number() -> None:
    found = parsed(SPOT, f.wrapped({"e": "externalLockUpdate", "E": f.TS, "a": "BTC", "d": "0.75", "T": f.TS}))
    (change,) = found.changes or []
    assert (change.reason, change.change, change.locked) == ("external_lock", None, None)


def test_096_only_what_changed_and_each_leg_by_itself() -> None:
    legs = tuple(f.leg(s="NEARUSDT", pa="0", ep="0.0", ps=side) for side in ("BOTH", "LONG", "SHORT"))
    found = parsed(USDM, f.account_update(f.asset(wb="11.5"), legs=legs))
    assert [(balance.asset, balance.total) for balance in found.balances] == [("USDT", "11.5")]
    assert [(one.symbol, one.leg, one.side, one.size) for one in found.positions] == [
        ("NEAR/USDT:USDT", "net", None, "0"),
        ("NEAR/USDT:USDT", "long", None, "0"),
        ("NEAR/USDT:USDT", "short", None, "0"),
    ]
    assert found.positions_of is None
    assert (found.balances[0].available, found.balances[0].locked) == (None, None)


@pytest.mark.parametrize(
    ("amount", "leg", "side", "size"),
    [
        ("4", "BOTH", "long", "4"),
        ("-4.50", "BOTH", "short", "4.50"),
        ("-2", "SHORT", "short", "2"),
        ("-0", "BOTH", None, "0"),
    ],
)
def test_side_of_a_position(amount: str, leg: str, side: str | None, size: str) -> None:
    (position,) = parsed(USDM, f.account_update(legs=(f.leg(pa=amount, ps=leg),))).positions
    assert (position.side, position.size) == (side, size)
    assert (position.entry_price is None) is (side is None)
    assert (position.margin_mode, position.realized_pnl) == ("cross", "-44.2")


def test_broken_leg_does_not_take_the_others_with_it() -> None:
    legs = (f.leg(pa="many"), f.leg(ps="DIAGONAL"), f.leg(s="?!"), f.leg())
    found = parsed(USDM, f.account_update(f.asset(), legs=legs))
    assert (len(found.balances), len(found.positions)) == (1, 1)
    assert codes(found) == ["bad_number", "unknown_event", "unknown_instrument"]


def test_funding_is_a_change_with_its_reason() -> None:
    (balance,) = parsed(USDM, f.account_update(f.asset(wb="1898.75", bc="-1.25"), reason="FUNDING_FEE")).balances
    assert (balance.total, balance.change, balance.reason) == ("1898.75", "-1.25", "funding")
    (other,) = parsed(USDM, f.account_update(f.asset(bc="0.00000000"), reason="SOMETHING_NEW")).balances
    assert (other.change, other.reason) == (None, "unknown")


def test_fill_comes_once_though_it_is_told_twice() -> None:
    lite = {
        "e": "TRADE_LITE",
        "E": f.TS,
        "T": f.TS,
        "s": "SOLUSDT",
        "i": 7_700_001,
        "l": "4",
        "L": "149.50",
        "t": 880_001,
    }
    found = parsed(USDM, json.encode(lite))
    assert (found.orders, found.fills, found.rejections) == ([], [], [])
    _, fills = update(**f.EXECUTED)
    assert [fill.execution_id for fill in fills] == ["880001"]


@pytest.mark.parametrize(
    ("client_id", "execution", "kind"),
    [
        ("autoclose-77", "CALCULATED", "liquidation"),
        ("adl_autoclose_77", "CALCULATED", "adl"),
        ("adl_autoclose", "TRADE", "adl"),
        ("settlement_autoclose-7", "TRADE", "settlement"),
        ("delivery_autoclose-7", "TRADE", "settlement"),
        ("mine-1", "TRADE", "trade"),
        ("mine-1", "CALCULATED", "liquidation"),
    ],
)
def test_forced_orders_show_in_their_client_ids(client_id: str, execution: str, kind: str) -> None:
    order, (fill,) = update(**f.EXECUTED | {"c": client_id, "x": execution})
    assert (fill.kind, fill.client_order_id, order.client_order_id) == (kind, client_id, client_id)


def test_forced_order_that_has_only_begun_fills_nothing() -> None:
    order, fills = update(c="autoclose-1", x="CALCULATED", X="NEW", t=0)
    assert (order.status, fills) == ("new", [])
    for status in ("NEW_ADL", "NEW_INSURANCE"):
        taken, (fill,) = update(**f.EXECUTED | {"x": "CALCULATED", "X": status, "q": "4.0"})
        assert (taken.status, taken.remaining_size, fill.size) == ("filled", "0.0", "4")
        partly, _ = update(**f.EXECUTED | {"x": "CALCULATED", "X": status})
        assert partly.status == "partially_filled"


def test_fill_of_a_contract() -> None:
    order, (fill,) = update(**f.EXECUTED | {"ps": "LONG"})
    assert (fill.fee, fill.fee_asset, fill.realized_pnl, fill.leg, fill.liquidity) == (
        "0.11960000",
        "USDT",
        "-1.5",
        "long",
        "maker",
    )
    assert (order.leg, order.average_price, order.reduce_only) == ("long", "149.50", False)


def test_coin_m_events_of_the_shared_stream_are_not_this_accounts() -> None:
    event = json.decode(f.order_update(s="SOLUSD_PERP"))
    found = parsed(USDM, json.encode(event | {"st": 2}))
    assert (found.orders, found.rejections) == ([], [])
    assert codes(parsed(USDM, json.encode(event | {"st": 1}))) == ["unknown_instrument"]


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        ("NEW", "pending"),
        ("TRIGGERING", "pending"),
        ("TRIGGERED", "triggered"),
        ("FINISHED", "triggered"),
        ("CANCELED", "canceled"),
        ("EXPIRED", "expired"),
        ("REJECTED", "rejected"),
    ],
)
def test_conditional_orders_are_pending_under_an_id_of_their_own(status: str, wanted: str) -> None:
    (order,) = parsed(USDM, f.algo_update(X=status, aq="4", ai="7700002", rm="Reduce Only reject")).orders
    assert (order.order_id, order.client_order_id, order.status) == ("algo-3300001", "mine-stop-1", wanted)
    assert (order.filled_size, order.order_type, order.stop_price, order.price) == ("0", "stop", "140.00", None)
    assert order.reason == ("Reduce Only reject" if wanted in {"canceled", "expired", "rejected"} else None)
    listed = caught_up(USDM, ("/fapi/v1/allAlgoOrders?symbol=SOLUSDT", [f.algo_row(algoStatus=status)]))
    assert [(one.order_id, one.status) for one in listed.orders] == [("algo-3300001", wanted)]


def test_order_that_closes_a_position_has_no_size() -> None:
    (order,) = parsed(USDM, f.algo_update(q="0", cp=True)).orders
    assert (order.size, order.remaining_size) == (None, None)


@pytest.mark.parametrize(
    ("changes", "kind", "status"),
    [
        ({"o": "LIMIT_MAKER"}, "limit", "new"),
        ({"o": "MARKET", "p": "0.00"}, "market", "new"),
        ({"o": "STOP_LOSS", "w": False}, "stop", "pending"),
        ({"o": "STOP_LOSS_LIMIT", "w": True}, "stop_limit", "new"),
        ({"o": "TAKE_PROFIT_LIMIT", "w": False}, "take_profit", "pending"),
        ({"o": "STOP_LOSS", "w": False, "d": 100}, "trailing_stop", "pending"),
        ({"o": "SOMETHING_NEW"}, "unknown", "new"),
        ({"X": "PENDING_NEW"}, "limit", "pending"),
        ({"x": "TRADE_PREVENTION", "X": "EXPIRED_IN_MATCH"}, "limit", "expired"),
    ],
)
def test_spot_types_and_what_waits_for_a_trigger(changes: dict[str, object], kind: str, status: str) -> None:
    order, fills = report(**changes)
    assert (order.order_type, order.status, fills) == (kind, status, [])


def test_times_in_force() -> None:
    assert [report(f=name)[0].time_in_force for name in ("GTC", "IOC", "FOK", "NEW_ONE")] == [
        "gtc",
        "ioc",
        "fok",
        "unknown",
    ]
    assert report(o="LIMIT_MAKER")[0].time_in_force == "post_only"
    assert [update(f=name)[0].time_in_force for name in ("GTX", "GTD")] == ["post_only", "gtd"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"x": "REJECTED", "X": "REJECTED", "r": "INSUFFICIENT_BALANCES"}, "INSUFFICIENT_BALANCES"),
        ({"x": "EXPIRED", "X": "EXPIRED", "eR": "INSUFFICIENT_LIQUIDITY"}, "INSUFFICIENT_LIQUIDITY"),
        ({"x": "TRADE_PREVENTION", "X": "EXPIRED_IN_MATCH"}, "EXPIRED_IN_MATCH"),
        ({"x": "CANCELED", "X": "CANCELED"}, None),
        ({"r": "SOMETHING"}, None),
    ],
)
def test_reasons(changes: dict[str, object], reason: str | None) -> None:
    assert report(**changes)[0].reason == reason


def test_usdm_reasons_are_numbers() -> None:
    assert update(x="EXPIRED", X="EXPIRED", er="2")[0].reason == "expiry_2"
    assert update(x="EXPIRED", X="EXPIRED", er=0)[0].reason is None


def test_conditional_order_of_the_old_kind_is_pending() -> None:
    order, _ = update(o="TRAILING_STOP_MARKET", ot="TRAILING_STOP_MARKET", sp="7100", p="0")
    assert (order.order_type, order.status, order.stop_price, order.price) == ("trailing_stop", "pending", "7100", None)
    triggered, _ = update(o="MARKET", ot="STOP_MARKET", p="0")
    assert (triggered.order_type, triggered.status) == ("stop", "new")


def test_market_order_by_value_has_no_size_until_it_says_one() -> None:
    order, _ = report(o="MARKET", q="0.00000000", Q="500.0", p="0.00000000")
    assert (order.size, order.remaining_size, order.price) == (None, None, None)


def test_average_price_is_value_by_size() -> None:
    order, _ = report(**{**f.TRADED, "z": "3.00000000", "Z": "1000.00000000"})
    assert order.average_price == "333.333333333333"
    (listed,) = caught_up(SPOT, ("/api/v3/allOrders?symbol=SOLUSDC", [f.order_row(cummulativeQuoteQty="-1.0")])).orders
    assert listed.average_price is None


def test_unknown_execution_type_tells_neither_order_nor_fill() -> None:
    for found in (parsed(SPOT, f.wrapped(f.execution_report(x="WONDER"))), parsed(USDM, f.order_update(x="WONDER"))):
        assert (found.orders, found.fills, codes(found)) == ([], [], ["unknown_event"])


def test_fills_of_a_reconciliation_know_their_orders() -> None:
    found = caught_up(
        USDM,
        ("/fapi/v1/userTrades?symbol=SOLUSDT", [f.usdm_trade_row(), f.usdm_trade_row(id=5, orderId=9)]),
        ("/fapi/v1/allOrders?symbol=SOLUSDT", [f.usdm_order_row(clientOrderId="autoclose-1")]),
    )
    assert [(fill.kind, fill.client_order_id) for fill in found.fills] == [
        ("liquidation", "autoclose-1"),
        ("unknown", None),
    ]
    spot = caught_up(SPOT, ("/api/v3/myTrades?symbol=SOLUSDC", [f.spot_trade_row(isBuyer=False, isMaker=False)]))
    assert [(fill.side, fill.liquidity, fill.kind) for fill in spot.fills] == [("sell", "taker", "trade")]


def test_stream_and_reconciliation_tell_the_same_execution() -> None:
    _, (live,) = report(**f.TRADED)
    found = caught_up(
        SPOT, ("/api/v3/myTrades?symbol=SOLUSDC", [f.spot_trade_row()]), ("/api/v3/openOrders", [f.order_row()])
    )
    (late,) = found.fills
    same = (
        "execution_id",
        "order_id",
        "client_order_id",
        "side",
        "price",
        "size",
        "liquidity",
        "fee",
        "fee_asset",
        "kind",
    )
    assert [getattr(live, name) for name in same] == [getattr(late, name) for name in same]
    assert live.ts_exchange == late.ts_exchange


def test_lists_are_whole_when_they_are_of_all_symbols() -> None:
    none: list[object] = []
    one, two = ("/fapi/v1/openOrders", none), ("/fapi/v1/openAlgoOrders", none)
    risk, assets = ("/fapi/v3/positionRisk", [f.risk_row()]), ("/fapi/v3/balance", [f.balance_row()])
    found = caught_up(USDM, one, two, risk, assets)
    assert (found.open_orders_of, found.positions_of, found.all_balances) == (("usdm",), ("usdm",), True)
    assert caught_up(USDM, one, risk).open_orders_of == ()
    assert caught_up(SPOT, ("/api/v3/openOrders?symbol=SOLUSDC", [])).open_orders_of == ()
    assert caught_up(SPOT, ("/api/v3/openOrders", [])).open_orders_of == ("spot",)


def test_account_lists() -> None:
    (position,) = caught_up(USDM, ("/fapi/v3/positionRisk", [f.risk_row(isolatedMargin="12.5")])).positions
    assert (position.side, position.size, position.margin_mode, position.mark_price) == (
        "short",
        "4",
        "isolated",
        "150.10000000",
    )
    (balance,) = caught_up(USDM, ("/fapi/v3/balance", [f.balance_row()])).balances
    assert (balance.total, balance.available, balance.unrealized_pnl, balance.ts_exchange) == (
        "1900.00000000",
        "1700.00000000",
        "-2.40000000",
        None,
    )


def test_order_that_the_venue_does_not_keep_any_more_is_passed_over() -> None:
    plan = PLANS[SPOT]
    parser = ACCOUNT_ADAPTER.parser(plan, {})
    url = f"{plan.endpoints.rest}/api/v3/order?symbol=SOLUSDC&orderId=5"
    found = parser.caught_up(origin_of(plan), [RestReply(url, 400, b'{"code":-2013,"msg":"Order does not exist."}')])
    assert (found.orders, found.rejections) == ([], [])


def test_events_that_have_no_message_give_nothing_and_unknown_ones_are_rejected() -> None:
    for name in ("ACCOUNT_CONFIG_UPDATE", "MARGIN_CALL", "STRATEGY_UPDATE", "GRID_UPDATE", "listenKeyExpired"):
        found = parsed(USDM, json.encode({"e": name, "E": f.TS, "T": f.TS}))
        assert (found.orders, found.rejections) == ([], [])
    assert codes(parsed(USDM, json.encode({"e": "executionReport"}))) == ["unknown_event"]
    assert codes(parsed(SPOT, json.encode({"e": "ORDER_TRADE_UPDATE"}))) == ["unknown_event"]
    assert codes(parsed(SPOT, b'{"subscriptionId":0}')) == ["missing_field"]
