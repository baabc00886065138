"""Failures that bit other gateways of accounts, and what must come of them here; and what the venue's words mean."""

import pytest
from msgspec import json

from shared.accounts.base import Found
from shared.accounts.messages import Balance, Fill, Order, Position
from shared.envelope import RestReply
from shared.exchanges.mexc.account import ACCOUNT_ADAPTER
from shared.exchanges.mexc.push_pb2 import PublicAggreDealsV3Api, PushDataV3ApiWrapper
from shared.instruments import InstrumentTable
from tests.contract.account_samples import AccountSample, origin_of, read
from tests.unit.exchanges.mexc.account import frames as f
from tests.unit.exchanges.mexc.account.samples import FUTURES, LISTED, SPOT

PLANS = {plan.name: plan for plan in ACCOUNT_ADAPTER.plan("main", ["spot", "futures"], (), ACCOUNT_ADAPTER.products)}
DAY_MS = 86_400_000


def parsed(data: bytes) -> Found:
    stream = FUTURES if data.startswith(b"{") else SPOT
    return read(ACCOUNT_ADAPTER, PLANS[stream], LISTED, AccountSample(stream, "case", data, (), binary=stream == SPOT))


def caught_up(stream: str, *replies: tuple[str, object], status: int = 200) -> Found:
    plan = PLANS[stream]
    parser = ACCOUNT_ADAPTER.parser(plan, {product: InstrumentTable(LISTED[product]) for product in plan.products})
    rest = [
        RestReply(f"{f.REST}{path}", status, body if isinstance(body, bytes) else json.encode(body))
        for path, body in replies
    ]
    return parser.caught_up(origin_of(plan), rest)


def order(data: bytes) -> Order:
    found = parsed(data)
    assert found.rejections == []
    return found.orders[0]


def fill(data: bytes) -> Fill:
    found = parsed(data)
    assert found.rejections == []
    return found.fills[0]


def contract(**changes: object) -> Order:
    return order(f.contract_push("order", f.contract_order(**changes)))


def balance(**changes: object) -> Balance:
    return parsed(f.account_update(**changes)).balances[0]


def position(**changes: object) -> Position:
    found = parsed(f.contract_push("position", f.position(**changes)))
    assert found.rejections == []
    return found.positions[0]


def codes(found: Found) -> list[str]:
    return [rejection[0] for rejection in found.rejections]


# --- Spot -------------------------------------------------------------------------------------------------------------


def test_a_spot_order_as_it_is_new() -> None:
    told = order(f.spot_order())
    assert (told.symbol, told.order_id, told.client_order_id) == ("SOL/USDC", "C02__800000000000000001", "mine-1")
    assert (told.side, told.order_type, told.time_in_force, told.status) == ("buy", "limit", "gtc", "new")
    assert (told.price, told.size, told.filled_size, told.remaining_size) == ("150.25", "12.5", "0", "12.5")
    assert (told.average_price, told.leg, told.reduce_only) == (None, None, None)
    assert (told.ts_created, told.ts_updated) == ((f.TS - 500) * 1_000_000, f.TS * 1_000_000)


def test_093_canceled_with_a_part_filled_keeps_what_was_filled() -> None:
    push = f.spot_order(status=5, cumulativeQuantity="4.25", remainQuantity="8.25", avgPrice="149.5")
    told = order(push)
    assert (told.status, told.filled_size, told.remaining_size) == ("canceled", "4.25", "8.25")
    assert parsed(push).fills == []


def test_a_spot_market_order_has_no_price() -> None:
    told = order(f.spot_order(orderType=5, status=2, cumulativeQuantity="12.5", remainQuantity="0", tradeType=2))
    assert (told.side, told.order_type, told.price, told.time_in_force) == ("sell", "market", None, None)
    assert (told.status, told.remaining_size) == ("filled", "0.0")


@pytest.mark.parametrize(
    ("number", "kind", "force"),
    [
        (2, "limit", "post_only"),
        (3, "limit", "ioc"),
        (4, "limit", "fok"),
        (100, "stop_limit", None),
        (77, "unknown", None),
    ],
)
def test_types_of_spot_orders(number: int, kind: str, force: str | None) -> None:
    told = order(f.spot_order(orderType=number, triggerPrice="151"))
    assert (told.order_type, told.time_in_force, told.stop_price) == (kind, force, "151")


def test_a_status_that_is_left_out_is_pending_only_of_an_oco() -> None:
    assert order(f.spot_order(status=0, ocoId="77", orderType=101)).status == "pending"
    assert codes(parsed(f.spot_order(status=0))) == ["unknown_event"]


@pytest.mark.parametrize("data", [f.spot_order(tradeType=0), f.spot_deal(tradeType=3)])
def test_unknown_sides_are_not_guessed(data: bytes) -> None:
    assert codes(parsed(data)) == ["unknown_event"]


def test_a_spot_execution() -> None:
    told = fill(f.spot_deal())
    assert (told.execution_id, told.order_id, told.side) == ("800000000000000077X1", "C02__800000000000000001", "buy")
    assert (told.price, told.size, told.fee, told.fee_asset) == ("149.5", "4.25", "0.127", "USDC")
    assert (told.liquidity, told.kind, told.ts_exchange) == ("maker", "trade", (f.TS - 20) * 1_000_000)


def test_a_flag_that_is_false_is_left_out_on_the_wire() -> None:
    assert fill(f.spot_deal(isMaker=False)).liquidity == "taker"


def test_stream_and_list_name_an_execution_alike() -> None:
    listed = caught_up(SPOT, ("/api/v3/myTrades?symbol=SOLUSDC&startTime=1", [f.trade_row()])).fills[0]
    pushed = fill(f.spot_deal())
    assert (listed.symbol, listed.execution_id, listed.side) == (pushed.symbol, pushed.execution_id, pushed.side)
    assert (listed.price, listed.size, listed.fee, listed.fee_asset) == ("149.5", "4.25", "0.127", "USDC")
    assert (listed.liquidity, listed.ts_exchange) == (pushed.liquidity, pushed.ts_exchange)


def test_both_executions_of_a_trade_with_oneself_are_told() -> None:
    pushed = [fill(f.spot_deal(isSelfTrade=True, tradeType=side)).execution_id for side in (1, 2)]
    rows = [f.trade_row(isSelfTrade=True, isBuyer=buyer) for buyer in (True, False)]
    listed = [one.execution_id for one in caught_up(SPOT, ("/api/v3/myTrades?symbol=SOLUSDC", rows)).fills]
    assert pushed == listed == ["800000000000000077X1-buy", "800000000000000077X1-sell"]


@pytest.mark.parametrize("push", [f.spot_deal(tradeId=""), f.spot_deal(time=0), f.spot_deal(orderId="")])
def test_executions_without_what_tells_them_apart_are_rejected(push: bytes) -> None:
    assert codes(parsed(push)) == ["missing_field"]


def test_a_spot_push_without_a_symbol_is_rejected() -> None:
    assert codes(parsed(f.spot_order(""))) == ["missing_field"]


def test_a_deposit_is_a_change() -> None:
    told = balance()
    assert (told.asset, told.total, told.available, told.locked) == ("USDC", "334.25", "321.5", "12.75")
    assert (told.change, told.reason, told.ts_exchange) == ("100.25", "transfer", (f.TS - 30) * 1_000_000)


@pytest.mark.parametrize(("kind", "reason"), [("ENTRUST_PLACE", "order"), ("ENTRUST", "trade"), ("TRADE_FEE", "fee")])
def test_what_trading_changed_is_in_the_fills(kind: str, reason: str) -> None:
    told = balance(type=kind, balanceAmountChange="-84", frozenAmountChange="84.5")
    assert (told.change, told.reason) == (None, reason)


def test_unknown_reasons_of_a_change_are_told_as_such() -> None:
    told = balance(type="AIRDROP", balanceAmountChange="-2.5", frozenAmountChange="2.25")
    assert (told.change, told.reason) == ("-0.25", "unknown")


def test_market_data_is_no_event_of_an_account() -> None:
    body = PublicAggreDealsV3Api(eventType="x")
    push = PushDataV3ApiWrapper(channel="spot@public.x", symbol="SOLUSDC", publicAggreDeals=body)
    assert codes(parsed(push.SerializeToString())) == ["unknown_event"]


@pytest.mark.parametrize(
    ("text", "status"), [("PARTIALLY_FILLED", "partially_filled"), ("PARTIALLY_CANCELED", "canceled")]
)
def test_a_listed_spot_order(text: str, status: str) -> None:
    row = f.order_row(status=text, executedQty="4", cummulativeQuoteQty="598.4", type="IMMEDIATE_OR_CANCEL")
    told = caught_up(SPOT, ("/api/v3/openOrders?symbol=SOLUSDC", [row])).orders[0]
    assert (told.status, told.average_price, told.remaining_size) == (status, "149.6", "8.5")
    assert (told.order_type, told.time_in_force, told.source) == ("limit", "ioc", "rest")


def test_times_and_numbers_of_lists_are_read_with_quotes_and_without() -> None:
    row = f.trade_row(time=str(f.TS), price=149.5, qty=4.25, commission=0.127)
    told = caught_up(SPOT, ("/api/v3/myTrades?symbol=SOLUSDC", [row])).fills[0]
    assert (told.ts_exchange, told.price, told.size, told.fee) == (f.TS * 1_000_000, "149.5", "4.25", "0.127")
    for time in ("soon", "-5", "9" * 19):
        found = caught_up(SPOT, ("/api/v3/myTrades?symbol=SOLUSDC", [row | {"time": time}]))
        assert (found.fills, codes(found)) == ([], ["bad_time"])


# --- Futures ----------------------------------------------------------------------------------------------------------


def test_037_sizes_of_futures_are_contracts() -> None:
    told = contract(dealVol=40, remainVol=85, dealAvgPrice=149.5)
    assert (told.size, told.filled_size, told.remaining_size) == ("12.5", "4", "8.5")
    assert (told.size_native, told.filled_size_native) == ("125", "40")
    executed = fill(f.contract_push("order.deal", f.deal()))
    assert (executed.size, executed.size_native) == ("4", "40")
    held = position()
    assert (held.size, held.size_native) == ("4", "40")


def test_sizes_of_inverse_contracts_are_worth_what_their_price_says() -> None:
    executed = fill(f.contract_push("order.deal", f.deal(symbol="SOL_USD", price=125, vol=50, feeCurrency=None)))
    assert (executed.size, executed.size_native, executed.fee_asset) == ("4", "50", "SOL")
    told = contract(symbol="SOL_USD", price=160, vol=48, dealVol=16, remainVol=32, dealAvgPrice=125)
    assert (told.size, told.filled_size, told.remaining_size) == ("3", "1.28", "2")
    ended = contract(symbol="SOL_USD", price=160, vol=48, dealVol=48, remainVol=0, dealAvgPrice=125, state=3)
    assert (ended.filled_size, ended.remaining_size) == ("3.84", "0")
    held = position(symbol="SOL_USD", holdVol=50, holdAvgPrice=125)
    assert (held.size, held.size_native) == ("4", "50")


@pytest.mark.parametrize(
    "data",
    [
        f.contract_push("order", f.contract_order(symbol="SOL_USD", orderType=5, dealVol=3)),
        f.contract_push("position", f.position(symbol="SOL_USD", holdAvgPrice=0)),
    ],
)
def test_an_inverse_size_without_a_price_is_rejected(data: bytes) -> None:
    assert codes(parsed(data)) == ["missing_field"]


@pytest.mark.parametrize(
    ("number", "side", "leg"), [(1, "buy", "long"), (2, "buy", "short"), (3, "sell", "short"), (4, "sell", "long")]
)
def test_sides_of_futures(number: int, side: str, leg: str) -> None:
    told, executed = contract(side=number), fill(f.contract_push("order.deal", f.deal(side=number)))
    assert (told.side, told.leg) == (executed.side, executed.leg) == (side, leg)
    assert contract(side=number, positionMode=2).leg == "net"


def test_an_unknown_side_of_futures_is_not_guessed() -> None:
    assert codes(parsed(f.contract_push("order.deal", f.deal(side=5)))) == ["unknown_event"]
    assert codes(parsed(f.contract_push("order", f.contract_order(side=0)))) == ["unknown_event"]
    assert codes(parsed(f.contract_push("position", f.position(positionType=3)))) == ["unknown_event"]


@pytest.mark.parametrize(
    ("state", "filled", "status"),
    [
        (1, 0, "pending"),
        (2, 0, "new"),
        (2, 40, "partially_filled"),
        (3, 125, "filled"),
        (4, 40, "canceled"),
        (5, 0, "rejected"),
        (5, 40, "canceled"),
    ],
)
def test_states_of_futures_orders(state: int, filled: int, status: str) -> None:
    told = contract(state=state, dealVol=filled, remainVol=125 - filled)
    assert told.status == status


def test_versions_order_changes_of_one_millisecond() -> None:
    first, second = contract(version=1), contract(version=2, price=151)
    assert first.ts_updated is not None
    assert second.ts_updated == first.ts_updated + 1
    assert contract(version=None).ts_updated == (f.TS - 400) * 1_000_000


def test_a_rejection_has_its_code() -> None:
    assert contract(state=5, errorCode=2040).reason == "error_2040"
    assert contract(errorCode=0).reason is None


@pytest.mark.parametrize(("category", "kind"), [(1, "trade"), (2, "liquidation"), (3, "unknown"), (4, "adl")])
def test_kinds_of_futures_executions(category: int, kind: str) -> None:
    assert fill(f.contract_push("order.deal", f.deal(category=category))).kind == kind
    assert contract(category=category).order_type == ("liquidation" if category == 2 else "limit")


def test_ids_are_the_same_as_text_and_as_number() -> None:
    executed = fill(f.contract_push("order.deal", f.deal(id="900000077")))
    assert executed.order_id == contract().order_id == "700000000000000001"
    assert executed.execution_id == fill(f.contract_push("order.deal", f.deal())).execution_id


@pytest.mark.parametrize(
    ("flags", "liquidity"),
    [({"isTaker": False}, "maker"), ({"isTaker": None, "taker": True}, "taker"), ({"isTaker": None}, "unknown")],
)
def test_liquidity_of_futures(flags: dict[str, object], liquidity: str) -> None:
    assert fill(f.contract_push("order.deal", f.deal(**flags))).liquidity == liquidity


def test_numbers_in_exponent_form_and_in_quotes_are_exact() -> None:
    data = f.contract_push("order.deal", f.deal(fee="FEE", price="PRICE"))
    data = data.replace(b'"FEE"', b"-4.386e-05").replace(b'"PRICE"', b'"1.4950E+2"')
    told = fill(data)
    assert (told.fee, told.price) == ("-0.00004386", "149.50")


def test_a_closed_position_is_flat() -> None:
    told = position(holdVol=0, state=3)
    assert (told.side, told.size, told.leg, told.entry_price) == (None, "0", "long", None)


def test_the_two_legs_of_a_contract_are_two_positions() -> None:
    short = position(positionType=2, openType=1)
    assert (short.leg, short.side, short.margin_mode) == ("short", "short", "isolated")
    assert (position().leg, position().margin_mode) == ("long", "cross")


def test_no_total_is_made_up_of_a_futures_balance() -> None:
    told = parsed(f.contract_push("asset", {"currency": "USDT", "availableBalance": 812.5})).balances[0]
    assert (told.total, told.available, told.locked) == (None, "812.5", None)
    whole = parsed(f.contract_push("asset", f.asset())).balances[0]
    assert (whole.total, whole.available, whole.locked) == ("1000.25", "812.5", "127.7")


@pytest.mark.parametrize(
    "channel", ["plan.order", "stop.order", "risk.limit", "generic.notify", "leverage.mode", "liquidate.risk"]
)
def test_pushes_without_a_message(channel: str) -> None:
    found = parsed(f.contract_push(channel, {"anything": [1]}))
    assert (found.orders, found.rejections) == ([], [])


@pytest.mark.parametrize("channel", ["push.personal.surprise", "push.deal"])
def test_unknown_pushes_are_rejected(channel: str) -> None:
    assert codes(parsed(json.encode({"channel": channel, "data": {}, "ts": f.TS}))) == ["unknown_event"]


def test_083_extra_fields_and_other_cases_do_not_drop_a_fill() -> None:
    data = f.contract_push("order.deal", {**f.deal(), "Vol": 1, "PRICE": 2, "opponentUid": 7, "zzz_new": {"a": [1]}})
    assert (fill(data).size, fill(data).price) == ("4", "149.5")


# --- Lists ------------------------------------------------------------------------------------------------------------


def test_one_row_that_cannot_be_read_does_not_take_the_others() -> None:
    rows = [f.deal(id=1), f.deal(id=2, vol="x"), {"symbol": 7}, f.deal(id=3), f.deal(id=4, symbol="NEW_USDT")]
    found = caught_up(
        FUTURES, ("/api/v1/private/order/list/order_deals?symbol=SOL_USDT", json.decode(f.answered(rows)))
    )
    assert [one.execution_id for one in found.fills] == ["1", "3"]
    assert codes(found) == ["bad_number", "wrong_type", "unknown_instrument"]


def test_what_a_reconciliation_says_it_has_whole() -> None:
    spot = caught_up(SPOT, ("/api/v3/openOrders?symbol=SOLUSDC", []), ("/api/v3/account", {"balances": []}))
    assert (spot.open_orders_of, spot.positions_of, spot.all_balances) == (("spot",), (), True)
    nothing = caught_up(SPOT, ("/api/v3/account", {"balances": []}))
    assert nothing.open_orders_of == (), "no symbol is known: no order was asked for"
    empty = f.answered([])
    futures = caught_up(
        FUTURES,
        ("/api/v1/private/order/list/open_orders?page_num=1&page_size=100", empty),
        ("/api/v1/private/position/open_positions", empty),
        ("/api/v1/private/account/assets", empty),
    )
    assert (futures.open_orders_of, futures.positions_of) == (("futures",), ("futures",))
    assert futures.all_balances


def test_an_order_that_the_venue_does_not_keep_is_no_failure() -> None:
    gone = json.decode(b'{"success":false,"code":2009,"message":"not found"}')
    assert caught_up(FUTURES, ("/api/v1/private/order/get/77", gone)).rejections == []
    code = {"code": -2013, "msg": "Order does not exist."}
    assert caught_up(SPOT, ("/api/v3/order?symbol=SOLUSDC&orderId=7", code), status=400).orders == []


def test_a_symbol_that_is_gone_is_no_failure() -> None:
    code = {"code": -1121, "msg": "Invalid symbol."}
    found = caught_up(SPOT, ("/api/v3/openOrders?symbol=OLDUSDT", code), status=400)
    assert (found.rejections, found.open_orders_of) == ([], ("spot",))
