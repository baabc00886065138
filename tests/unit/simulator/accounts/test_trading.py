from dataclasses import replace
from decimal import Decimal

import pytest

from services.simulator import AccountSpec, Refused
from services.simulator.accounts.requests import (
    AmendRequest,
    CancelRequest,
    FillRequest,
    PositionRequest,
    TransferRequest,
)
from services.simulator.accounts.trading import MOST_OPEN
from tests.unit.simulator.accounts.offices import Office, audited

BYBIT = {"spot": "unified", "linear": "unified", "inverse": "unified"}
LINEAR = ("linear", "BTCUSDT")
SPOT = ("spot", "BTCUSDT")


@pytest.fixture
def office() -> Office:
    return Office("bybit", "BTCUSDT", "BTCUSD")


def kinds(office: Office) -> list[tuple[str, str]]:
    (wallet,) = office.account().wallets.values()
    return [(one.kind, one.order.status) for one in wallet.happenings if one.order is not None]


def test_an_order_that_rests_locks_its_money_until_it_is_taken_back(office: Office) -> None:
    order = office.order(*SPOT, "buy", 1000, office.best(*SPOT, buy=True) - 100)
    row = office.ledger()["balances"]["unified"]["USDT"]
    assert Decimal(row["locked"]) == Decimal(office.ledger()["orders"][order.id]["price"]) * Decimal("0.001")
    ended = office.desk.trading.cancel(office.account(), CancelRequest(order.id))
    assert (ended.status, ended.cause) == ("canceled", "user")
    assert office.ledger()["balances"]["unified"]["USDT"]["locked"] == "0"
    with pytest.raises(Refused, match="no order"):
        office.desk.trading.cancel(office.account(), CancelRequest(order.id))
    audited(office.ledger(), BYBIT)


def test_a_market_order_takes_level_after_level(office: Office) -> None:
    order = office.order(*LINEAR, "buy", 400)
    assert order.status == "filled"
    executions = office.ledger()["executions"]
    prices = [Decimal(one["price"]) for one in executions]
    assert len(executions) > 1
    assert prices == sorted(prices)
    assert {one["liquidity"] for one in executions} == {"taker"}
    audited(office.ledger(), BYBIT)


def test_the_crowd_fills_a_resting_order_in_its_turn(office: Office) -> None:
    order = office.order(*LINEAR, "buy", 10, office.best(*LINEAR, buy=True))
    part = office.desk.trading.reach(office.account(), FillRequest(order.id, "0.004"))
    assert (part.status, part.filled_lots) == ("partially_filled", 4)
    whole = office.desk.trading.reach(office.account(), FillRequest(order.id))
    assert whole.status == "filled"
    assert [one["liquidity"] for one in office.ledger()["executions"]] == ["maker", "maker"]
    assert not office.market(*LINEAR).tracked
    unreached = office.order(*LINEAR, "buy", 10, office.best(*LINEAR, buy=True) - 300)
    assert office.desk.trading.reach(office.account(), FillRequest(unreached.id), 1).filled_lots == 0


def test_the_market_fills_a_resting_order_by_itself_and_never_takes_it_back(office: Office) -> None:
    order = office.order(*LINEAR, "buy", 10, office.best(*LINEAR, buy=True))
    office.pass_time(20)
    told = office.ledger()["orders"][order.id]
    assert told["status"] == "filled"
    audited(office.ledger(), BYBIT)


@pytest.mark.parametrize(
    ("tif", "away", "statuses"),
    [
        ("ioc", 5, [("new", "new"), ("ended", "canceled")]),
        ("fok", 0, [("new", "new"), ("ended", "canceled")]),
        ("post_only", 0, [("ended", "rejected")]),
    ],
)
def test_orders_that_cannot_stay_end_at_once(office: Office, tif: str, away: int, statuses: list[object]) -> None:
    tick = office.best(*LINEAR, buy=False) - away
    office.order(*LINEAR, "buy", 40_000 if tif == "fok" else 10, tick, tif=tif)  # type: ignore[arg-type]
    assert kinds(office) == statuses
    assert not office.market(*LINEAR).tracked


def test_the_rest_of_an_immediate_order_is_canceled_with_what_it_filled(office: Office) -> None:
    touch = office.best(*LINEAR, buy=False)
    there = office.market(*LINEAR).book.size_at(touch, buy=False)
    order = office.order(*LINEAR, "buy", there + 7, touch, tif="ioc")
    assert (order.status, order.cause, order.filled_lots) == ("canceled", "immediate", there)


def test_an_account_does_not_trade_with_itself_but_with_others() -> None:
    office = Office("bybit", "BTCUSDT", names=("main", "second"))
    instrument = office.market(*LINEAR).instrument
    mine = office.order(*LINEAR, "buy", 10, instrument.start_tick)
    far = office.order(*LINEAR, "buy", 10, office.best(*LINEAR, buy=True) - 200)
    office.order(*LINEAR, "sell", 5, instrument.start_tick)
    orders = office.ledger()["orders"]
    assert (orders[mine.id]["status"], orders[mine.id]["cause"]) == ("canceled", "self_match")
    assert orders[far.id]["status"] == "new"
    theirs = office.order(*LINEAR, "buy", 5, instrument.start_tick, name="second")
    assert theirs.status == "filled"
    first, second = office.ledger()["executions"], office.ledger("second")["executions"]
    assert [one["liquidity"] for one in (*first, *second)] == ["maker", "taker"]
    assert first[0]["execution_id"] != second[0]["execution_id"]


def test_an_amended_order_keeps_its_id_and_what_was_filled(office: Office) -> None:
    trading, account = office.desk.trading, office.account()
    tick = office.best(*LINEAR, buy=True)
    order = office.order(*LINEAR, "buy", 10, tick)
    trading.reach(account, FillRequest(order.id, "0.004"))
    changed = trading.amend(account, AmendRequest(order.id, office.market(*LINEAR).instrument.price(tick - 3), "0.006"))
    assert (changed.id, changed.status, changed.lots, changed.filled_lots) == (order.id, "partially_filled", 6, 4)
    assert office.market(*LINEAR).book.size_at(tick - 3, buy=True) >= 2
    with pytest.raises(Refused, match="more than what is filled"):
        trading.amend(account, AmendRequest(order.id, size="0.004"))
    through = trading.amend(
        account, AmendRequest(order.id, office.market(*LINEAR).instrument.price(office.best(*LINEAR, buy=False)))
    )
    assert through.status == "filled"
    quiet = office.order(*LINEAR, "buy", 10, tick - 50, tif="post_only")
    with pytest.raises(Refused, match="must not take"):
        trading.amend(account, AmendRequest(quiet.id, "99999.9"))
    audited(office.ledger(), BYBIT)


def test_venues_differ_in_what_can_be_amended() -> None:
    mexc, binance = Office("mexc", "BTCUSDT", "BTC_USDT"), Office("binance", "BTCUSDT")
    for office, match in ((mexc, "no amendments"), (binance, "only a smaller size")):
        order = office.order(*SPOT, "buy", 1000, office.best(*SPOT, buy=True) - 100)
        with pytest.raises(Refused, match=match):
            office.desk.trading.amend(office.account(), AmendRequest(order.id, size="0.5"))
    (opened,) = binance.account().wallets["spot"].view.open
    smaller = binance.desk.trading.amend(binance.account(), AmendRequest(opened, size="0.00400"))
    assert (smaller.status, smaller.lots) == ("new", 400)


def test_hedged_legs_open_and_close_apart() -> None:
    office, where = Office("mexc", "BTC_USDT"), ("futures", "BTC_USDT")
    office.order(*where, "buy", 50)
    office.order(*where, "sell", 30)
    office.order(*where, "sell", 20, leg="long")
    held = {one["leg"]: (one["side"], one["size_native"]) for one in office.ledger()["positions"]}
    assert held == {"long": ("long", "30"), "short": ("short", "30")}
    resting = office.order(*where, "sell", 25, office.best(*where, buy=False) + 50, leg="long")
    with pytest.raises(Refused, match="no position of this size"):
        office.order(*where, "sell", 10, leg="long")
    with pytest.raises(Refused, match="leg must be long or short"):
        office.order(*where, "buy", 10, leg="net")
    office.desk.forced.liquidate(office.account(), PositionRequest(*where, "long"))
    told = office.ledger()
    assert (told["orders"][resting.id]["status"], told["orders"][resting.id]["cause"]) == ("canceled", "liquidation")
    assert [one["side"] for one in told["positions"]] == [None, "short"]
    audited(told, {"futures": "futures", "spot": "spot"})


def test_a_liquidation_does_not_meet_the_accounts_other_leg() -> None:
    office, where = Office("mexc", "BTC_USDT"), ("futures", "BTC_USDT")
    office.order(*where, "buy", 50, leg="long")
    inside = office.order(*where, "buy", 50, office.market(*where).instrument.start_tick, leg="long")
    office.order(*where, "sell", 10, leg="short")
    closing = office.order(*where, "buy", 10, office.market(*where).instrument.start_tick, leg="short")
    office.desk.forced.liquidate(office.account(), PositionRequest(*where, "long"))
    told = office.ledger()
    assert {told["orders"][one.id]["cause"] for one in (inside, closing)} <= {"liquidation", "self_match"}
    assert len({one["execution_id"] for one in told["executions"]}) == len(told["executions"])


def test_forced_closes_and_payments_are_booked(office: Office) -> None:
    forced, account = office.desk.forced, office.account()
    office.order(*LINEAR, "sell", 30)
    assert forced.fund(account) == 1
    assert forced.fund(account, "inverse") == 0
    forced.deleverage(account, PositionRequest(*LINEAR, size="0.01"))
    forced.liquidate(account, PositionRequest(*LINEAR))
    told = office.ledger()
    assert [one["kind"] for one in told["executions"] if one["kind"] != "trade"][:2] == ["adl", "liquidation"]
    assert told["positions"][0]["side"] is None
    with pytest.raises(Refused, match="no net position"):
        forced.liquidate(account, PositionRequest(*LINEAR))
    forced.transfer(account, TransferRequest("spot", "DOGE", "-2000000"))
    with pytest.raises(Refused, match="less than"):
        forced.transfer(account, TransferRequest("spot", "DOGE", "-1"))
    audited(office.ledger(), BYBIT)


@pytest.mark.parametrize(
    ("side", "lots", "tick", "match"),
    [
        ("sell", 30_000_000, None, "insufficient balance"),
        ("buy", 30_000_000, 8_000_000, "insufficient balance"),
    ],
)
def test_nobody_can_spend_what_he_has_not(office: Office, side: str, lots: int, tick: int | None, match: str) -> None:
    with pytest.raises(Refused, match=match):
        office.order(*SPOT, side, lots, tick)
    with pytest.raises(Refused, match=match):
        office.order(*LINEAR, side, lots, 800_000)
    assert kinds(office) == []


def test_requests_that_make_no_sense_are_refused(office: Office) -> None:
    for product, symbol in (("moon", "BTCUSDT"), ("linear", "NOPE")):
        with pytest.raises(Refused, match="has no"):
            office.desk.trading.market("bybit", product, symbol)
    with pytest.raises(Refused, match="leg must be net"):
        office.order(*LINEAR, "buy", 10, 800_000, leg="long")
    with pytest.raises(Refused, match="no position of this size"):
        office.order(*LINEAR, "sell", 10, reduce_only=True)
    request = replace(AccountSpec("bybit", "x", "k", "s"), name="y")
    assert office.desk.open(request).name == "y"
    for spec in (
        {"exchange": "moon", "name": "a", "key": "b", "secret": "c"},
        {"exchange": "bybit", "name": "", "key": "b", "secret": "c"},
        {"exchange": "bybit", "name": "a", "key": "b", "secret": "c", "balances": {"USDT": "lots"}},
    ):
        with pytest.raises(Refused):
            AccountSpec(**spec)
    with pytest.raises(Refused, match="already"):
        office.desk.open(request)
    with pytest.raises(Refused, match="not simulated here"):
        office.desk.open(AccountSpec("mexc", "x", "k", "s"))


def test_open_orders_of_a_wallet_are_bounded(office: Office) -> None:
    tick = office.best(*SPOT, buy=True) - 1000
    for number in range(MOST_OPEN):
        office.order(*SPOT, "buy", 1, tick - number)
    with pytest.raises(Refused, match="too many orders"):
        office.order(*SPOT, "buy", 1, tick)
