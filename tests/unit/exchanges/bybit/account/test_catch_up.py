"""Reconciliation against a venue that pages as the documents say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.accounts.base import Call, CatchUp, CatchUpNeeds
from shared.accounts.messages import Fill
from shared.envelope import RestReply
from shared.errors import ParseError
from shared.exchanges.bybit.account import ACCOUNT_ADAPTER
from shared.exchanges.bybit.account.catch_up import MOST_REPLIES, WEEK_MS, WINDOW_PAGES
from shared.instruments import InstrumentTable
from tests.contract.account_samples import NOW, fetched, origin_of
from tests.unit.exchanges.bybit.account import frames as f

PLAN = ACCOUNT_ADAPTER.plan("main", ["linear", "spot"], (), ACCOUNT_ADAPTER.products)[0]
HISTORIES = {"/v5/execution/list", "/v5/order/history"}


class Venue:
    """Lists as the venue gives them: newest first, pages with cursors, windows of at most 7 days."""

    def __init__(self, executions: list[int], orders: list[f.Row] | None = None) -> None:
        self.executions = [
            f.execution(category=None, execId=f"e-{index}", orderId=f"o-{index % 7}", execTime=str(time))
            for index, time in enumerate(sorted(executions, reverse=True))
        ]
        self.orders = orders or []
        self.asked: list[Call] = []

    def __call__(self, call: Call) -> bytes:
        self.asked.append(call)
        given = dict(call.parameters)
        if call.path == "/v5/account/wallet-balance":
            return f.wallet_reply(f.coin())
        if call.path == "/v5/position/list":
            return f.page(given["category"])
        rows = self.rows(call.path, given)
        start = int(given.get("cursor", "at:0").partition(":")[2])
        size = int(given.get("limit", "20"))
        cursor = f"at%3A{start + size}" if start + size < len(rows) else ""
        return f.page(given["category"], *rows[start : start + size], cursor=cursor)

    def rows(self, path: str, given: dict[str, str]) -> list[f.Row]:
        if given["category"] != "linear" or given.get("settleCoin", "USDT") != "USDT":
            return []
        if "orderId" in given:
            return [row for row in self.orders if row["orderId"] == given["orderId"]]
        if path == "/v5/order/realtime":
            wanted = {"0": {"New", "PartiallyFilled", "Untriggered"}, "1": {"Filled", "Cancelled"}}[given["openOnly"]]
            return [row for row in self.orders if row["orderStatus"] in wanted and "old" not in str(row["orderId"])]
        begin, end = int(given["startTime"]), int(given["endTime"])
        assert 0 <= end - begin <= WEEK_MS
        if path == "/v5/order/history":
            return [row for row in self.orders if begin <= int(str(row["createdTime"])) <= end]
        return [row for row in self.executions if begin <= int(str(row["execTime"])) <= end]


def reconcile(venue: Venue, since: int, until: int = NOW) -> tuple[CatchUp, list[RestReply]]:
    catch_up = ACCOUNT_ADAPTER.catch_up(PLAN, CatchUpNeeds(since, until))
    replies = [reply for _, reply in fetched(ACCOUNT_ADAPTER, PLAN, catch_up.begin(), catch_up.replied, venue)]
    return catch_up, replies


def fills(replies: list[RestReply]) -> dict[str, Fill]:
    parser = ACCOUNT_ADAPTER.parser(PLAN, {product: InstrumentTable() for product in PLAN.products})
    found = parser.caught_up(origin_of(PLAN), replies)
    assert found.rejections == []
    return {fill.execution_id: fill for fill in found.fills}


def test_everything_between_the_edges_is_found_edges_included() -> None:
    since = NOW - 3_600_000
    venue = Venue([since - 1, since, since + 1, NOW - 1, NOW, NOW + 1])
    catch_up, replies = reconcile(venue, since)
    times = {fill.ts_exchange for fill in fills(replies).values()}
    assert times == {ms * 1_000_000 for ms in (since, since + 1, NOW - 1, NOW)}
    assert catch_up.covered_ms == NOW


def test_pages_are_followed_to_the_last() -> None:
    venue = Venue([NOW - 10 * index for index in range(950)])
    catch_up, replies = reconcile(venue, NOW - 3_600_000)
    assert len(fills(replies)) == 950
    assert catch_up.covered_ms == NOW
    pages = [
        call
        for call in venue.asked
        if call.path == "/v5/execution/list" and dict(call.parameters)["category"] == "linear"
    ]
    assert len(pages) == 10


def test_weeks_are_asked_for_one_by_one() -> None:
    times = [NOW - week * WEEK_MS - 5_000 for week in range(4)]
    catch_up, replies = reconcile(Venue(times), NOW - 4 * WEEK_MS)
    assert len(fills(replies)) == 4
    assert catch_up.covered_ms == NOW


def test_a_busy_month_is_covered_from_its_beginning_in_bounded_steps() -> None:
    times = [NOW - 30 * 86_400_000 + index * 50 for index in range(12_000)]
    venue = Venue(times)
    since = min(times)
    seen: set[str] = set()
    rounds = 0
    while since < NOW:
        rounds += 1
        before = len(venue.asked)
        catch_up, replies = reconcile(venue, since)
        assert len(venue.asked) - before < MOST_REPLIES + 8 * WINDOW_PAGES
        assert catch_up.covered_ms > since
        seen |= set(fills(replies))
        known = {f"e-{len(times) - 1 - index}" for index, time in enumerate(times) if time <= catch_up.covered_ms}
        assert known <= seen, "covered, but not found"
        since = catch_up.covered_ms
    assert len(seen) == 12_000
    assert 1 < rounds < 20


def test_more_than_a_millisecond_can_hold_is_an_error_and_no_endless_loop() -> None:
    venue = Venue([NOW - 60_000] * (100 * WINDOW_PAGES + 1))
    since = NOW - 3_600_000
    with pytest.raises(ParseError, match="too_large"):  # noqa: PT012 - it gets there in several steps
        for _ in range(20):
            since = reconcile(venue, since)[0].covered_ms
    assert NOW - 61_000 < since < NOW - 60_000


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 20 * 86_400_000), st.integers(1, 900), st.integers(0, 3)), max_size=12),
    st.integers(0, 20 * 86_400_000),
)
def test_what_is_covered_was_found(bursts: list[tuple[int, int, int]], age: int) -> None:
    times = [NOW - 20 * 86_400_000 + begin + index * gap for begin, size, gap in bursts for index in range(size)]
    venue = Venue([time for time in times if time <= NOW])
    since = NOW - age
    catch_up, replies = reconcile(venue, since)
    assert since <= catch_up.covered_ms <= NOW
    wanted = {row["execId"] for row in venue.executions if since <= int(str(row["execTime"])) <= catch_up.covered_ms}
    assert wanted <= set(fills(replies))
    assert catch_up.covered_ms > since or since == NOW


def test_stages_come_one_after_the_other() -> None:
    catch_up = ACCOUNT_ADAPTER.catch_up(PLAN, CatchUpNeeds(NOW - 1_000, NOW))
    venue = Venue([NOW - 500])
    stages = []
    calls = list(catch_up.begin())
    while calls:
        stages.append({(call.path, dict(call.parameters).get("openOnly")) for call in calls})
        following = [catch_up.replied(call, RestReply("https://x.test", 200, venue(call))) for call in calls]
        assert all(not group for group in following[:-1])
        calls = list(following[-1])
    assert stages == [
        {("/v5/order/realtime", "0")},
        {("/v5/order/realtime", "1"), ("/v5/order/history", None)},
        {("/v5/execution/list", None)},
        {("/v5/order/history", None)},
        {("/v5/position/list", None), ("/v5/account/wallet-balance", None)},
    ]


def test_replies_may_come_in_any_order() -> None:
    venue = Venue([NOW - 10 * index for index in range(250)])
    catch_up = ACCOUNT_ADAPTER.catch_up(PLAN, CatchUpNeeds(NOW - 60_000, NOW))
    waiting = list(catch_up.begin())
    while waiting:
        call = waiting.pop()
        waiting.extend(catch_up.replied(call, RestReply("https://x.test", 200, venue(call))))
    assert catch_up.covered_ms == NOW


def test_order_that_only_executions_name_is_asked_for() -> None:
    old = f.order(category=None, orderId="o-0", createdTime=str(NOW - 900 * 86_400_000), orderStatus="Deactivated")
    venue = Venue([NOW - 500], [old])
    _, replies = reconcile(venue, NOW - 1_000)
    parser = ACCOUNT_ADAPTER.parser(PLAN, {product: InstrumentTable() for product in PLAN.products})
    assert [order.order_id for order in parser.caught_up(origin_of(PLAN), replies).orders] == ["o-0"]
    assert sum("orderId" in dict(call.parameters) for call in venue.asked) == 1


def test_recently_ended_order_is_found_however_old_it_is() -> None:
    old = f.order(category=None, orderId="o-8", createdTime=str(NOW - 900 * 86_400_000), orderStatus="Cancelled")
    _, replies = reconcile(Venue([], [old]), NOW - 1_000)
    parser = ACCOUNT_ADAPTER.parser(PLAN, {product: InstrumentTable() for product in PLAN.products})
    found = parser.caught_up(origin_of(PLAN), replies)
    assert [(order.order_id, order.status) for order in found.orders] == [("o-8", "canceled")]
    assert found.open_orders_of == ("linear", "spot")
    assert found.positions_of == ("linear",)


def test_080_what_was_filled_while_nobody_was_connected_is_found() -> None:
    gone = f.order(
        category=None,
        orderId="o-0",
        createdTime=str(NOW - 86_400_000),
        updatedTime=str(NOW - 30_000),
        orderStatus="Filled",
        cumExecQty="12.5",
        leavesQty="0",
        avgPrice="149.95",
    )
    _, replies = reconcile(Venue([NOW - 30_000], [gone]), NOW - 60_000)
    parser = ACCOUNT_ADAPTER.parser(PLAN, {product: InstrumentTable() for product in PLAN.products})
    found = parser.caught_up(origin_of(PLAN), replies)
    assert {(fill.execution_id, fill.order_id, fill.source) for fill in found.fills} == {("e-0", "o-0", "rest")}
    assert {(order.order_id, order.status, order.source) for order in found.orders} == {("o-0", "filled", "rest")}
    assert "linear" in (found.open_orders_of or ())


def test_refused_page_ends_the_reconciliation() -> None:
    catch_up = ACCOUNT_ADAPTER.catch_up(PLAN, CatchUpNeeds(NOW - 1_000, NOW))
    call = catch_up.begin()[0]
    with pytest.raises(ParseError, match="10006") as caught:
        catch_up.replied(
            call, RestReply("https://x.test", 200, b'{"retCode":10006,"retMsg":"key key0planted too many"}')
        )
    assert "key0planted" not in str(caught.value)
