"""Failures that bit other gateways of this venue's accounts, and what must come of them here."""

import pytest

from shared.accounts.base import AccountPlan, Found
from shared.accounts.messages import Fill, Order, Position
from shared.envelope import RestReply
from shared.exchanges.bybit.account import ACCOUNT_ADAPTER
from tests.contract.account_samples import AccountSample, origin_of, read
from tests.unit.exchanges.bybit.account import frames as f
from tests.unit.exchanges.bybit.account.samples import LISTED, PRODUCTS, STREAM


def plan(*products: str) -> AccountPlan:
    return ACCOUNT_ADAPTER.plan("main", products or PRODUCTS, (), ACCOUNT_ADAPTER.products)[0]


def parsed(data: bytes, url: str | None = None, *products: str) -> Found:
    return read(ACCOUNT_ADAPTER, plan(*products), LISTED, AccountSample(STREAM, "case", data, (), url=url))


def fill_of(**changes: object) -> Fill:
    (fill,) = parsed(f.message("execution", f.execution(**changes))).fills
    return fill


def order_of(**changes: object) -> Order:
    (order,) = parsed(f.message("order", f.order(**changes))).orders
    return order


def positions_of(*rows: dict[str, object]) -> list[Position]:
    found = parsed(f.message("position", *rows))
    assert found.rejections == []
    return found.positions


def test_048_empty_wallet_numbers_are_not_zero() -> None:
    found = parsed(f.wallet(f.coin(walletBalance="1900.25", equity="1888", unrealisedPnl="-12.25", locked="0")))
    (balance,) = found.balances
    assert (balance.asset, balance.total, balance.equity, balance.unrealized_pnl, balance.locked) == (
        "USDT",
        "1900.25",
        "1888",
        "-12.25",
        "0",
    )
    assert balance.available is None
    assert not found.all_balances


def test_048_wallet_of_the_barest_form() -> None:
    (balance,) = parsed(f.message("wallet", {"coin": [{"coin": "ODD", "walletBalance": "7.5"}]})).balances
    assert (balance.total, balance.available, balance.equity, balance.locked) == ("7.5", None, None, None)


def test_048_broken_coin_does_not_take_the_others_with_it() -> None:
    found = parsed(f.wallet(f.coin(equity="lots"), f.coin(coin="SOL")))
    assert [balance.asset for balance in found.balances] == ["SOL"]
    assert [rejection[0] for rejection in found.rejections] == ["bad_number"]


def test_083_unknown_fields_cost_nothing() -> None:
    assert fill_of(zzz={"new": [1]}, EXECQTY="9", execqty="8").size == "4"


def test_085_funding_is_no_fill() -> None:
    found = parsed(
        f.message(
            "execution",
            f.execution(execId="f-1", execType="Funding", execQty="77", execFee="2.75", orderId="", feeCurrency=""),
            f.execution(execId="t-1", execType="Trade", side="Sell", execQty="1", execPrice="151.2"),
            f.execution(execId="a-1", execType="AdlTrade", side="Sell", execQty="2", execFee="0"),
            f.execution(execId="b-1", execType="BustTrade", side="Sell", execQty="3"),
            f.execution(execId="s-1", execType="Settle", side="Sell", execQty="4", orderId=""),
        )
    )
    assert found.rejections == []
    assert [(fill.execution_id, fill.kind, fill.size) for fill in found.fills] == [
        ("t-1", "trade", "1"),
        ("a-1", "adl", "2"),
        ("b-1", "liquidation", "3"),
        ("s-1", "settlement", "4"),
    ]
    (payment,) = found.changes or []
    assert (payment.asset, payment.change, payment.reason, payment.symbol) == (
        "USDT",
        "-2.75",
        "funding",
        "SOL/USDT:USDT",
    )
    assert (payment.total, payment.available) == (None, None)
    assert found.positions == []
    assert found.orders == []


def test_085_received_funding_and_none_at_all() -> None:
    received = f.message("execution", f.execution(execType="Funding", execFee="-0.4", side="", isMaker=None))
    (payment,) = parsed(received).changes or []
    assert payment.change == "0.4"
    found = parsed(f.message("execution", f.execution(execType="Funding", execFee="0")))
    assert found.changes is None
    assert found.rejections == []


def test_085_unknown_execution_type_is_not_guessed() -> None:
    found = parsed(f.message("execution", f.execution(execType="CorporateAction"), f.execution(execId="ok")))
    assert [fill.execution_id for fill in found.fills] == ["ok"]
    assert [rejection[0] for rejection in found.rejections] == ["unknown_event"]


@pytest.mark.parametrize(("currency", "asset"), [("ETH", "ETH"), ("", None), (None, None)])
def test_086_fee_currency_is_told_or_null_and_never_inferred(currency: str | None, asset: str | None) -> None:
    fill = fill_of(category="spot", symbol="ETHUSDC", execFee="0.002", feeCurrency=currency)
    assert (fill.symbol, fill.fee, fill.fee_asset) == ("ETH/USDC", "0.002", asset)


def test_086_key_of_the_fee_currency_is_missing() -> None:
    row = f.execution(category="spot", symbol="ETHUSDC")
    del row["feeCurrency"]
    (fill,) = parsed(f.message("execution", row)).fills
    assert fill.fee_asset is None


def test_rebate_is_a_negative_fee() -> None:
    assert fill_of(execFee="-0.03").fee == "-0.03"


def test_089_late_news_are_told_with_their_time() -> None:
    done = {"orderStatus": "Filled", "cumExecQty": "12.5", "leavesQty": "0", "updatedTime": str(f.TS + 66)}
    filled, late = order_of(**done), order_of(updatedTime=str(f.TS + 57))
    assert (filled.status, filled.remaining_size, late.status) == ("filled", "0.0", "new")
    assert (late.ts_updated or 0) < (filled.ts_updated or 0)


def test_093_canceled_order_keeps_what_was_filled() -> None:
    order = order_of(
        orderStatus="Cancelled",
        cancelType="CancelByUser",
        qty="12.5",
        cumExecQty="4",
        avgPrice="149.95",
        leavesQty="0",
    )
    assert (order.status, order.size, order.filled_size, order.remaining_size) == ("canceled", "12.5", "4", "8.5")
    assert (order.average_price, order.reason) == ("149.95", "CancelByUser")
    spot = order_of(category="spot", orderStatus="PartiallyFilledCanceled", cumExecQty="1", leavesQty="0")
    assert (spot.status, spot.filled_size, spot.remaining_size) == ("canceled", "1", "11.5")


def test_zero_execution_is_no_fill() -> None:
    found = parsed(f.message("execution", f.execution(execQty="0.000")))
    assert (found.fills, [rejection[0] for rejection in found.rejections]) == ([], ["bad_number"])


def test_098_legs_are_told_apart_whatever_their_order() -> None:
    short = f.position(symbol="GUNUSDT", positionIdx=2, side="Sell", size="3340", entryPrice="0.0301")
    long = f.position(symbol="GUNUSDT", positionIdx=1, side="", size="0", entryPrice="0")
    for rows in ((short, long), (long, short)):
        told = {position.leg: (position.side, position.size) for position in positions_of(*rows)}
        assert told == {"short": ("short", "3340"), "long": (None, "0")}


@pytest.mark.parametrize("side", ["", "None", None])
def test_098_flat_position_has_no_side(side: str | None) -> None:
    (position,) = positions_of(f.position(side=side, size="0.000", entryPrice="0", positionIdx=0))
    assert (position.leg, position.side, position.size, position.entry_price) == ("net", None, "0.000", None)


def test_098_row_without_category_is_of_the_product_that_has_the_symbol() -> None:
    (position,) = positions_of({"symbol": "GUNUSDT", "positionIdx": 2, "side": "Sell", "size": "5"})
    assert (position.symbol, position.side) == ("GUN/USDT:USDT", "short")


def test_open_position_without_a_side_is_rejected() -> None:
    for changes in ({"side": ""}, {"side": "Both"}, {"side": "Buy", "positionIdx": 2}, {"positionIdx": 3}):
        found = parsed(f.message("position", f.position(**changes)))
        assert (found.positions, [rejection[0] for rejection in found.rejections]) == ([], ["unknown_event"])


def test_two_filled_messages_for_one_order_say_the_same() -> None:
    first = {"orderStatus": "Filled", "cumExecQty": "12.5", "avgPrice": "149.9", "leavesQty": "0"}
    second = {"cancelType": "CancelByUser", "rejectReason": "EC_OrigClOrdIDDoesNotExist"}
    assert order_of(**first) == order_of(**first, **second)


def test_same_id_is_another_instrument_in_another_product() -> None:
    assert order_of(category="spot").symbol == "SOL/USDT"
    assert order_of(category="linear").symbol == "SOL/USDT:USDT"
    assert (order_of(category="spot").leg, order_of(category="linear", positionIdx=1).leg) == (None, "long")


def test_product_that_the_account_does_not_have_is_a_rejection() -> None:
    found = parsed(f.message("order", f.order(category="spot"), f.order()), None, "linear")
    assert len(found.orders) == 1
    assert [rejection[0] for rejection in found.rejections] == ["unknown_event"]
    option = parsed(f.message("order", f.order(category="option", symbol="BTC-25DEC26-90000-C")))
    assert [rejection[0] for rejection in option.rejections] == ["unknown_event"]


def test_inverse_sizes_are_in_base_units_with_the_venues_own_beside_them() -> None:
    inverse = {"category": "inverse", "symbol": "BTCUSD"}
    fill = fill_of(**inverse, execQty="100", execPrice="40000")
    assert (fill.symbol, fill.size, fill.size_native) == ("BTC/USD:BTC", "0.0025", "100")
    order = order_of(
        **inverse,
        qty="500",
        price="50000",
        orderStatus="PartiallyFilled",
        cumExecQty="100",
        avgPrice="40000",
        leavesQty="400",
    )
    assert (order.size, order.size_native) == ("0.01", "500")
    assert (order.filled_size, order.filled_size_native) == ("0.0025", "100")
    assert order.remaining_size == "0.008"
    ended = order_of(
        **inverse, orderStatus="Filled", qty="100", cumExecQty="100", avgPrice="39999", cumExecValue="0.00250006"
    )
    assert ended.filled_size == "0.00250006"
    (position,) = positions_of(f.position(**inverse, size="300", entryPrice="60000"))
    assert (position.size, position.size_native) == ("0.005", "300")
    (valued,) = positions_of(f.position(**inverse, size="300", entryPrice="60000", positionValue="0.00500001"))
    assert (valued.size, valued.size_native) == ("0.00500001", "300")
    (priced,) = positions_of(f.position(**inverse, size="300", entryPrice="", markPrice="75000"))
    assert (priced.size, priced.entry_price) == ("0.004", None)


def test_inverse_market_order_has_no_size_in_base_units_before_it_is_filled() -> None:
    market = {"category": "inverse", "symbol": "BTCUSD", "orderType": "Market", "qty": "500", "price": "61000"}
    order = order_of(**market)
    assert (order.price, order.size, order.size_native, order.filled_size) == (None, None, "500", "0")
    filled = order_of(**market, orderStatus="Filled", cumExecQty="500", avgPrice="", cumExecValue="0.0081")
    assert (filled.filled_size, filled.filled_size_native) == ("0.0081", "500")
    nothing = parsed(
        f.message("order", f.order(**market, cumExecQty="1", cumExecValue="0", avgPrice="", orderStatus="Filled"))
    )
    assert [rejection[0] for rejection in nothing.rejections] == ["missing_field"]


@pytest.mark.parametrize(
    ("side", "unit", "size", "native"),
    [
        ("Buy", "", None, "250"),
        ("Buy", "quoteCoin", None, "250"),
        ("Buy", "baseCoin", "250", None),
        ("Sell", "", "250", None),
    ],
)
def test_spot_market_order_by_value_has_no_size(side: str, unit: str, size: str | None, native: str | None) -> None:
    order = order_of(category="spot", orderType="Market", side=side, marketUnit=unit, qty="250", leavesQty="")
    assert (order.order_type, order.size, order.size_native) == ("market", size, native)
    assert order.remaining_size == size


@pytest.mark.parametrize(
    ("stop", "kind", "wanted"),
    [
        ("Stop", "Market", "stop"),
        ("StopLoss", "Limit", "stop_limit"),
        ("PartialTakeProfit", "Market", "take_profit"),
        ("TrailingStop", "Market", "trailing_stop"),
        ("tpslOrder", "Limit", "unknown"),
        ("UNKNOWN", "Limit", "limit"),
        ("", "Market", "market"),
        (None, "UNKNOWN", "unknown"),
    ],
)
def test_order_types(stop: str | None, kind: str, wanted: str) -> None:
    assert order_of(stopOrderType=stop, orderType=kind).order_type == wanted


def test_forced_orders_are_liquidations() -> None:
    assert order_of(createType="CreateByTakeOver_PassThrough").order_type == "liquidation"
    assert order_of(createType="CreateByLiq").order_type == "liquidation"
    assert order_of(createType="CreateByAdl_PassThrough").order_type == "limit"


def test_times_in_force() -> None:
    told = [order_of(timeInForce=name).time_in_force for name in ("GTC", "IOC", "FOK", "PostOnly", "RPI", "")]
    assert told == ["gtc", "ioc", "fok", "post_only", "unknown", None]


def test_triggered_order_goes_on_under_its_id_until_a_list_of_ended_orders_has_it() -> None:
    row = f.order(orderStatus="Triggered", stopOrderType="Stop")
    assert order_of(**row).status == "pending"
    url = f"{f.REST}/v5/order/realtime?category=linear&settleCoin=USDT&openOnly="
    assert [parsed(f.page("linear", row), url + only).orders[0].status for only in "01"] == ["pending", "triggered"]
    assert order_of(orderStatus="Deactivated").status == "canceled"


def test_conditional_order_that_closes_a_position_has_no_size() -> None:
    order = order_of(orderStatus="Untriggered", stopOrderType="StopLoss", orderType="Market", qty="0", leavesQty="0")
    assert (order.status, order.size, order.remaining_size) == ("pending", None, None)


def test_times_are_nanoseconds_of_the_venues_clock() -> None:
    order, fill = order_of(), fill_of()
    assert (order.ts_created, order.ts_updated, order.ts_exchange) == tuple(
        ms * 1_000_000 for ms in (f.TS - 900, f.TS - 5, f.TS - 5)
    )
    assert fill.ts_exchange == (f.TS - 7) * 1_000_000
    assert parsed(f.wallet(f.coin())).balances[0].ts_exchange == f.TS * 1_000_000
    broken = parsed(f.message("execution", f.execution(execTime="yesterday")))
    assert [rejection[0] for rejection in broken.rejections] == ["bad_time"]


def test_wallet_of_another_kind_of_account_is_a_rejection() -> None:
    found = parsed(f.wallet(f.coin(), accountType="CONTRACT"))
    assert (found.balances, [rejection[0] for rejection in found.rejections]) == ([], ["unknown_event"])


def test_topics_that_nobody_asked_for_are_rejected() -> None:
    for topic in ("greeks", "strategy", "dcp.future", "orders"):
        assert [code for code, _ in parsed(f.message(topic, {})).rejections] == ["unknown_event"]


def test_lists_are_whole_when_all_their_pages_are_there() -> None:
    parser = ACCOUNT_ADAPTER.parser(plan("linear", "spot"), {})
    base = f"{f.REST}/v5/order/realtime?category="
    usdt = (f"{base}linear&settleCoin=USDT&openOnly=0&limit=50", f.page("linear", f.order(), cursor="a%3D1"))
    usdt_2 = (f"{base}linear&settleCoin=USDT&openOnly=0&limit=50&cursor=a%3D1", f.page("linear"))
    usdc = (f"{base}linear&settleCoin=USDC&openOnly=0&limit=50", f.page("linear"))
    spot = (f"{base}spot&openOnly=0&limit=50", f.page("spot"))
    ended = (f"{base}spot&openOnly=1&limit=50", f.page("spot"))

    def whole(*pages: tuple[str, bytes]) -> tuple[str, ...] | None:
        return parser.caught_up(origin_of(plan()), [RestReply(url, 200, body) for url, body in pages]).open_orders_of

    assert whole(usdt, usdt_2, usdc, spot) == ("linear", "spot")
    assert whole(usdt, usdc, spot) == ("spot",)
    assert whole(usdt, usdt_2, spot) == ("spot",)
    assert whole(usdt, usdt_2, usdc, ended) == ("linear",)
