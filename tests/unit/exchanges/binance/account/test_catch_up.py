"""Reconciliation against a venue that lists as the documents say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json

from shared.accounts.base import AccountPlan, Call, CatchUp, CatchUpNeeds, Found
from shared.envelope import RestReply
from shared.errors import ParseError
from shared.exchanges.binance.account import ACCOUNT_ADAPTER
from shared.exchanges.binance.account.catch_up import DAY_MS, MOST_REPLIES
from shared.instruments import InstrumentTable
from tests.contract.account_samples import NOW, fetched, origin_of
from tests.unit.exchanges.binance.account import frames as f

SPANS = {"spot": DAY_MS, "usdm": 7 * DAY_MS}
SYMBOL = {"spot": "SOLUSDC", "usdm": "SOLUSDT"}


def plan(product: str, *symbols: str) -> AccountPlan:
    return ACCOUNT_ADAPTER.plan("main", [product], symbols, ACCOUNT_ADAPTER.products)[0]


class Venue:
    """Lists as the venue gives them: by symbol, oldest first from a time on, the latest ones without a time."""

    def __init__(self, product: str, trades: list[int], orders: list[f.Row] | None = None, page: int = 1_000) -> None:
        self.product = product
        row = f.spot_trade_row if product == "spot" else f.usdm_trade_row
        self.trades = [row(id=index, orderId=500 + index % 3, time=time) for index, time in enumerate(sorted(trades))]
        self.orders = orders or []
        self.risks: list[f.Row] = []
        self.page = page
        self.asked: list[Call] = []
        self.weight = 0

    def __call__(self, call: Call) -> bytes:
        self.asked.append(call)
        self.weight += call.weight
        what, given = call.path.rpartition("/")[2], dict(call.parameters)
        if what == "account":
            return json.encode({"balances": [{"asset": "SOL", "free": "1", "locked": "0"}]})
        if what == "order":
            found = [row for row in self.orders if str(row["orderId"]) == given["orderId"]]
            return json.encode(found[0]) if found else b'{"code":-2013,"msg":"Order does not exist."}'
        return json.encode(self.rows(what, given))

    def rows(self, what: str, given: dict[str, str]) -> list[f.Row]:
        symbol = given.get("symbol")
        if what in {"openAlgoOrders", "allAlgoOrders", "balance"}:
            return []
        if what == "positionRisk":
            return self.risks
        if what == "openOrders":
            return [row for row in self.orders if row["status"] in {"NEW", "PARTIALLY_FILLED"}]
        everything = self.trades if what in {"myTrades", "userTrades"} else self.orders
        rows = [row for row in everything if row["symbol"] == symbol]
        rows.sort(key=lambda row: int(str(row["time"])))
        limit = min(int(given["limit"]), self.page)
        if "startTime" not in given:
            return rows[-limit:]
        begin, end = int(given["startTime"]), int(given["endTime"])
        assert 0 <= end - begin < SPANS[self.product], "the venue refuses a longer time"
        return [row for row in rows if begin <= int(str(row["time"])) <= end][:limit]


def reconcile(venue: Venue, since: int, *symbols: str) -> tuple[CatchUp, Found]:
    of = plan(venue.product, *(symbols or (SYMBOL[venue.product],)))
    catch_up = ACCOUNT_ADAPTER.catch_up(of, CatchUpNeeds(since, NOW))
    replies = [reply for _, reply in fetched(ACCOUNT_ADAPTER, of, catch_up.begin(), catch_up.replied, venue)]
    found = ACCOUNT_ADAPTER.parser(of, {of.products[0]: InstrumentTable()}).caught_up(origin_of(of), replies)
    assert found.rejections == []
    return catch_up, found


def ids(found: Found) -> set[int]:
    return {int(fill.execution_id) for fill in found.fills}


@pytest.mark.parametrize("product", ["spot", "usdm"])
def test_everything_between_the_edges_is_found_edges_included(product: str) -> None:
    since = NOW - 3_600_000
    venue = Venue(product, [since - 1, since, since + 1, NOW - 1, NOW, NOW + 1])
    catch_up, found = reconcile(venue, since)
    assert ids(found) == {1, 2, 3, 4}
    assert catch_up.covered_ms == NOW


@pytest.mark.parametrize("product", ["spot", "usdm"])
def test_full_replies_are_followed(product: str) -> None:
    venue = Venue(product, [NOW - 10 * index for index in range(3_500)])
    catch_up, found = reconcile(venue, NOW - 3_600_000)
    assert len(ids(found)) == 3_500
    assert catch_up.covered_ms == NOW


def test_rows_of_one_millisecond_are_not_torn_apart() -> None:
    times = [NOW - 5_000 + index for index in range(997)] + [NOW - 100] * 7
    catch_up, found = reconcile(Venue("spot", times), NOW - 3_600_000)
    assert len(ids(found)) == 1_004
    assert catch_up.covered_ms == NOW


@pytest.mark.parametrize("product", ["spot", "usdm"])
def test_long_absences_are_asked_for_window_by_window(product: str) -> None:
    times = [NOW - day * DAY_MS - 5_000 for day in range(20)]
    catch_up, found = reconcile(Venue(product, times), NOW - 20 * DAY_MS)
    assert len(ids(found)) == 20
    assert catch_up.covered_ms == NOW


def test_covers_less_where_a_bound_was_met_and_goes_on_from_there() -> None:
    since = NOW - 200 * DAY_MS
    symbols = [f"SYM{index}USDC" for index in range(5)]
    rounds = 0
    while since < NOW:
        rounds += 1
        venue = Venue("spot", [])
        catch_up, _ = reconcile(venue, since, *symbols)
        assert len(venue.asked) < MOST_REPLIES + 50
        assert catch_up.covered_ms > since
        since = catch_up.covered_ms
    assert 1 < rounds < 10


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(["spot", "usdm"]),
    st.lists(st.tuples(st.integers(0, 9 * DAY_MS), st.integers(1, 120), st.integers(1, 3)), max_size=8),
    st.integers(0, 9 * DAY_MS),
)
def test_what_is_covered_was_found(product: str, bursts: list[tuple[int, int, int]], age: int) -> None:
    times = [NOW - 9 * DAY_MS + begin + index * gap for begin, size, gap in bursts for index in range(size * 10)]
    venue = Venue(product, [time for time in times if time <= NOW])
    catch_up, found = reconcile(venue, NOW - age)
    wanted = {row["id"] for row in venue.trades if NOW - age <= int(str(row["time"])) <= catch_up.covered_ms}
    assert wanted <= ids(found)
    assert catch_up.covered_ms > NOW - age or age == 0


def test_more_than_a_millisecond_can_hold_is_an_error() -> None:
    with pytest.raises(ParseError, match="too_large"):
        reconcile(Venue("usdm", [NOW - 60_000] * 2_001), NOW - 60_000)


@pytest.mark.parametrize("product", ["spot", "usdm"])
def test_symbols_come_from_settings_frames_open_orders_and_positions(product: str) -> None:
    row = f.order_row if product == "spot" else f.usdm_order_row
    venue = Venue(product, [], [row(symbol="AVAXUSDT", status="NEW")])
    venue.risks = [f.risk_row(symbol="NEARUSDT")]
    of = plan(product, "SOLUSDT")
    catch_up = ACCOUNT_ADAPTER.catch_up(of, CatchUpNeeds(NOW - 1_000, NOW, ("LINKUSDT",)))
    list(fetched(ACCOUNT_ADAPTER, of, catch_up.begin(), catch_up.replied, venue))
    asked = {dict(call.parameters)["symbol"] for call in venue.asked if call.path.endswith("Trades")}
    assert asked == {"SOLUSDT", "LINKUSDT", "AVAXUSDT"} | ({"NEARUSDT"} if product == "usdm" else set())


def test_old_order_that_ended_meanwhile_is_among_the_latest() -> None:
    row = f.order_row(orderId=77, status="CANCELED", time=NOW - 100 * DAY_MS, updateTime=NOW - 500)
    _, found = reconcile(Venue("spot", [], [row]), NOW - 1_000)
    assert [(order.order_id, order.status) for order in found.orders] == [("77", "canceled")]


def test_more_orders_than_the_latest_are_asked_for_by_time() -> None:
    rows = [f.order_row(orderId=index, time=NOW - 5 * (2_500 - index), status="CANCELED") for index in range(2_500)]
    catch_up, found = reconcile(Venue("spot", [], rows), NOW - 3_600_000)
    assert len({order.order_id for order in found.orders}) == 2_500
    assert catch_up.covered_ms == NOW


@pytest.mark.parametrize("product", ["spot", "usdm"])
def test_orders_that_only_executions_name_are_asked_for(product: str) -> None:
    row = f.order_row if product == "spot" else f.usdm_order_row
    venue = Venue(product, [NOW - 3, NOW - 2, NOW - 1], [row(orderId=500, symbol="ELSEUSDT", status="FILLED")])
    _, found = reconcile(venue, NOW - 1_000)
    assert [order.order_id for order in found.orders] == ["500"]
    asked = [dict(call.parameters)["orderId"] for call in venue.asked if call.path.endswith("/order")]
    assert asked == ["500", "501", "502"]


def test_venue_without_a_list_of_conditional_orders_is_gone_without() -> None:
    of = plan("usdm", "SOLUSDT")
    catch_up = ACCOUNT_ADAPTER.catch_up(of, CatchUpNeeds(NOW - 1_000, NOW))
    venue, replies, waiting = Venue("usdm", []), [], list(catch_up.begin())
    while waiting:
        call = waiting.pop(0)
        missing = call.path.endswith("allAlgoOrders")
        reply = RestReply(
            f"https://fapi.binance.com{call.path}", 404 if missing else 200, b"" if missing else venue(call)
        )
        replies.append(reply)
        waiting.extend(catch_up.replied(call, reply))
    found = ACCOUNT_ADAPTER.parser(of, {}).caught_up(origin_of(of), replies)
    assert (found.open_orders_of, catch_up.covered_ms) == (("usdm",), NOW)


def test_stages_come_one_after_the_other() -> None:
    of = plan("usdm", "SOLUSDT", "NEARUSDT")
    catch_up = ACCOUNT_ADAPTER.catch_up(of, CatchUpNeeds(NOW - 1_000, NOW))
    venue = Venue("usdm", [NOW - 500])
    stages = []
    calls = list(catch_up.begin())
    while calls:
        stages.append(sorted({call.path.rpartition("/")[2] for call in calls}))
        following = [catch_up.replied(call, RestReply("https://x.test", 200, venue(call))) for call in calls]
        assert all(not group for group in following[:-1])
        calls = list(following[-1])
    assert stages == [
        ["openAlgoOrders", "openOrders"],
        ["allAlgoOrders", "allOrders"],
        ["userTrades"],
        ["order"],
        ["balance", "positionRisk"],
    ]


def test_a_quiet_minute_of_ten_symbols_costs_little() -> None:
    symbols = [f"SYM{index}USDT" for index in range(10)]
    venue = Venue("spot", [])
    reconcile(venue, NOW - 60_000, *symbols)
    assert venue.weight == 80 + 10 * (20 + 20) + 20
    contracts = Venue("usdm", [])
    reconcile(contracts, NOW - 60_000, *symbols)
    assert contracts.weight == 40 + 40 + 10 * (5 + 5 + 5) + 5 + 5


@pytest.mark.parametrize("product", ["spot", "usdm"])
def test_080_what_was_filled_while_nobody_was_connected_is_found(product: str) -> None:
    row = f.order_row if product == "spot" else f.usdm_order_row
    gone = row(orderId=500, status="FILLED", executedQty="12.5", time=NOW - DAY_MS, updateTime=NOW - 30_000)
    _, found = reconcile(Venue(product, [NOW - 30_000], [gone]), NOW - 60_000)
    assert [(fill.execution_id, fill.order_id, fill.source) for fill in found.fills] == [("0", "500", "rest")]
    assert [(order.order_id, order.status, order.source) for order in found.orders] == [("500", "filled", "rest")]
    assert found.open_orders_of == (product,)


def test_refused_page_ends_the_reconciliation() -> None:
    catch_up = ACCOUNT_ADAPTER.catch_up(plan("spot"), CatchUpNeeds(NOW - 1_000, NOW))
    call = catch_up.begin()[0]
    with pytest.raises(ParseError, match="-1003") as caught:
        catch_up.replied(call, RestReply("https://x.test", 200, b'{"code":-1003,"msg":"of key0planted"}'))
    assert "key0planted" not in str(caught.value)
