"""Reconciliation against a venue that lists as the documents say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json

from shared.accounts.base import AccountPlan, Call, CatchUp, CatchUpNeeds, Found
from shared.errors import ParseError
from shared.exchanges.mexc.account import ACCOUNT_ADAPTER
from shared.exchanges.mexc.account import catch_up as module
from shared.exchanges.mexc.account.catch_up import MINUTE_MS, OLDER_WEEKS, WEEK_MS
from shared.instruments import InstrumentTable
from tests.contract.account_samples import NOW, fetched, origin_of, reply_to
from tests.unit.exchanges.mexc.account import frames as f
from tests.unit.exchanges.mexc.frames import contract, spot

DAY_MS = 86_400_000
SYMBOL = {"spot": "SOLUSDC", "futures": "SOL_USDT"}
LISTED = {
    "spot": InstrumentTable([*f.SPOTS, spot("XRPUSDT"), spot("OLDUSDT")]),
    "futures": InstrumentTable([*f.CONTRACTS, contract("XRP_USDT", "1")]),
}
SPANS = {"allOrders": 7 * DAY_MS, "myTrades": 30 * DAY_MS, "history_orders": 90 * DAY_MS, "order_deals": 90 * DAY_MS}


def plan(product: str, *symbols: str) -> AccountPlan:
    return ACCOUNT_ADAPTER.plan("main", [product], symbols, ACCOUNT_ADAPTER.products)[0]


class Venue:
    """Lists as the venue gives them: newest first (or oldest first), at most a page, within a time."""

    def __init__(
        self, product: str, trades: list[int], orders: list[f.Row] | None = None, *, newest: bool = True
    ) -> None:
        self.product = product
        self.newest = newest
        self.orders = orders or []
        self.positions: list[f.Row] = []
        self.gone: set[str] = set()
        self.asked: list[Call] = []
        if product == "spot":
            self.trades = [
                f.trade_row(id=str(at), orderId=f"o{at % 3}", time=time) for at, time in enumerate(sorted(trades))
            ]
        else:
            self.trades = [
                f.deal(id=at, orderId=500 + at % 3, timestamp=time) for at, time in enumerate(sorted(trades))
            ]

    def __call__(self, call: Call) -> bytes:
        self.asked.append(call)
        given = dict(call.parameters)
        if self.gone & set(given.get("symbol", "").split(",")):
            return b'{"code":-1121,"msg":"Invalid symbol."}'
        return self.spot(call, given) if self.product == "spot" else self.futures(call, given)

    def spot(self, call: Call, given: dict[str, str]) -> bytes:
        what = call.path.rpartition("/")[2]
        if what == "account":
            return json.encode({"balances": [{"asset": "SOL", "free": "1", "locked": "0"}]})
        symbols = given["symbol"].split(",")
        assert len(symbols) <= 5
        rows = self.trades if what == "myTrades" else self.orders
        rows = [row for row in rows if row["symbol"] in symbols]
        if what == "order":
            found = [row for row in rows if row["orderId"] == given["orderId"]]
            return json.encode(found[0]) if found else b'{"code":-2013,"msg":"Order does not exist."}'
        if what == "openOrders":
            return json.encode([row for row in rows if row["status"] == "NEW"])
        chosen = self.within(rows, "time", what, given["startTime"], given["endTime"])
        limit = int(given["limit"])
        assert limit <= (100 if what == "myTrades" else 1_000)
        return json.encode(chosen[:limit])

    def futures(self, call: Call, given: dict[str, str]) -> bytes:
        what = call.path.rpartition("/")[2]
        if "/order/get/" in call.path:
            found = [row for row in self.orders if str(row["orderId"]) == what]
            return f.answered(found[0]) if found else b'{"success":false,"code":2009,"message":"no such order"}'
        if what == "assets":
            return f.answered([f.asset()])
        if what == "open_positions":
            return f.answered(self.positions)
        if what == "open_orders":
            chosen = [row for row in self.orders if row["state"] == 2]
        elif what == "history_orders":
            ended = [row for row in self.orders if row["state"] != 2]
            chosen = self.within(ended, "createTime", what, given["start_time"], given["end_time"])
        else:
            rows = [row for row in self.trades if row["symbol"] == given["symbol"]]
            chosen = self.within(rows, "timestamp", what, given["start_time"], given["end_time"])
        at, size = int(given["page_num"]), int(given["page_size"])
        assert size <= 100
        return f.answered(chosen[(at - 1) * size : at * size])

    def within(self, rows: list[f.Row], field: str, what: str, begin: str, end: str) -> list[f.Row]:
        assert 0 <= int(end) - int(begin) <= SPANS[what], "the venue refuses a longer time"
        rows = [row for row in rows if int(begin) <= int(str(row[field])) <= int(end)]
        return sorted(rows, key=lambda row: int(str(row[field])), reverse=self.newest)


def reconcile(venue: Venue, since: int, *symbols: str, until: int = NOW) -> tuple[CatchUp, Found]:
    of = plan(venue.product, *(symbols or (SYMBOL[venue.product],)))
    catch_up = ACCOUNT_ADAPTER.catch_up(of, CatchUpNeeds(since, until))
    replies = [reply for _, reply in fetched(ACCOUNT_ADAPTER, of, catch_up.begin(), catch_up.replied, venue)]
    found = ACCOUNT_ADAPTER.parser(of, LISTED).caught_up(origin_of(of), replies)
    assert found.rejections == []
    return catch_up, found


def ids(found: Found) -> set[int]:
    return {int(fill.execution_id) for fill in found.fills}


PRODUCTS = pytest.mark.parametrize("product", ["spot", "futures"])


@PRODUCTS
def test_everything_between_the_edges_is_found_edges_included(product: str) -> None:
    since = NOW - 3_600_000
    venue = Venue(product, [since - 1, since, since + 1, NOW - 1, NOW, NOW + 1])
    catch_up, found = reconcile(venue, since)
    assert ids(found) == {1, 2, 3, 4}
    assert catch_up.covered_ms == NOW


@PRODUCTS
@pytest.mark.parametrize("newest", [True, False])
def test_more_than_a_reply_holds_is_found_whatever_the_order(product: str, newest: bool) -> None:  # noqa: FBT001
    count = 700 if product == "spot" else 2_500
    venue = Venue(product, [NOW - 7 * at for at in range(count)], newest=newest)
    catch_up, found = reconcile(venue, NOW - 3_600_000)
    assert len(ids(found)) == count
    assert catch_up.covered_ms == NOW
    assert len(venue.asked) < 100


@PRODUCTS
def test_long_absences_are_asked_for_window_by_window(product: str) -> None:
    times = [NOW - day * DAY_MS - 5_000 for day in range(100)]
    catch_up, found = reconcile(Venue(product, times), NOW - 100 * DAY_MS)
    assert len(ids(found)) == 100
    assert catch_up.covered_ms == NOW


@PRODUCTS
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_bursts_of_any_kind_are_found_whole(product: str, data: st.DataObject) -> None:
    moments = data.draw(st.lists(st.integers(NOW - 60_000, NOW), min_size=1, max_size=8))
    sizes = data.draw(st.lists(st.integers(1, 90), min_size=len(moments), max_size=len(moments)))
    times = [moment for moment, size in zip(moments, sizes, strict=True) for _ in range(size)]
    most = max(times.count(moment) for moment in moments)
    venue = Venue(product, times, newest=data.draw(st.booleans()))
    if product == "spot" and most >= 100:
        with pytest.raises(ParseError, match="too_large"):
            reconcile(venue, NOW - 60_000)
        return
    catch_up, found = reconcile(venue, NOW - 60_000)
    assert len(ids(found)) == len(times)
    assert catch_up.covered_ms == NOW


@PRODUCTS
def test_what_does_not_fit_is_not_said_to_be_covered(product: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_REPLIES", 30)
    times = [NOW - 1_000 * at for at in range(4_500)]
    since = NOW - 4_500_000
    venue = Venue(product, times)
    catch_up, found = reconcile(venue, since)
    assert len(venue.asked) < 100
    assert since < catch_up.covered_ms < NOW
    expected = {at for at, time in enumerate(sorted(times)) if since <= time <= catch_up.covered_ms}
    assert expected <= ids(found)
    following, more = reconcile(venue, catch_up.covered_ms)
    assert following.covered_ms > catch_up.covered_ms
    assert min(ids(more)) <= max(expected) + 1, "the next one begins where this one ends"


def test_an_order_that_an_execution_names_is_asked_for() -> None:
    old = NOW - 30 * WEEK_MS
    spot_orders = [f.order_row(orderId="o0", status="FILLED", executedQty="12.5", time=old, updateTime=NOW - 50)]
    venue = Venue("spot", [NOW - 50], spot_orders)
    assert [order.order_id for order in reconcile(venue, NOW - 60_000)[1].orders] == ["o0"]
    rows = [f.contract_order(orderId=500, state=3, dealVol=125, remainVol=0, createTime=old, updateTime=NOW - 50)]
    futures = Venue("futures", [NOW - 50], rows)
    assert [order.order_id for order in reconcile(futures, NOW - 60_000)[1].orders] == ["500"]


@PRODUCTS
@pytest.mark.parametrize("weeks", [0.5, 5.5])
def test_an_old_order_that_was_canceled_is_found_within_minutes(product: str, weeks: float) -> None:
    made = NOW - int(weeks * WEEK_MS)
    if product == "spot":
        orders = [f.order_row(orderId="77", status="CANCELED", time=made, updateTime=NOW - 50)]
    else:
        orders = [f.contract_order(orderId=77, state=4, createTime=made, updateTime=NOW - 50)]
    venue = Venue(product, [], orders)
    minutes = [
        minute
        for minute in range(OLDER_WEEKS)
        if reconcile(venue, NOW - 60_000, until=NOW + minute * MINUTE_MS)[1].orders
    ]
    assert len(minutes) >= 1
    assert len(minutes) == OLDER_WEEKS or weeks > 1, "those of the week before are always asked for"


def test_open_orders_of_spot_are_asked_for_five_symbols_at_a_time() -> None:
    symbols = [f"N{at}USDT" for at in range(11)] + ["XRPUSDT"]
    venue = Venue("spot", [], [f.order_row(symbol="XRPUSDT", time=NOW)])
    _, found = reconcile(venue, NOW - 1_000, *symbols)
    assert [order.symbol for order in found.orders if order.status == "new"]
    assert sum(call.path.endswith("openOrders") for call in venue.asked) == 3


def test_a_symbol_that_is_gone_does_not_hide_the_others() -> None:
    venue = Venue("spot", [NOW - 5], [f.order_row(time=NOW - 5)])
    venue.gone = {"OLDUSDT"}
    catch_up, found = reconcile(venue, NOW - 1_000, "OLDUSDT", "SOLUSDC")
    assert {order.order_id for order in found.orders} == {"C02__800000000000000001"}
    assert ids(found) == {0}
    assert (catch_up.covered_ms, found.open_orders_of) == (NOW, ("spot",))


def test_all_pages_of_open_contract_orders_are_read() -> None:
    orders = [f.contract_order(orderId=at, createTime=NOW - 5) for at in range(230)]
    _, found = reconcile(Venue("futures", [], orders), NOW - 1_000)
    assert len(found.orders) == 230


def test_symbols_that_only_orders_or_positions_name_are_asked_for() -> None:
    venue = Venue("futures", [NOW - 20], [f.contract_order(symbol="SOL_USD", createTime=NOW)])
    venue.positions = [f.position()]
    of = plan("futures")
    catch_up = ACCOUNT_ADAPTER.catch_up(of, CatchUpNeeds(NOW - 1_000, NOW))
    list(fetched(ACCOUNT_ADAPTER, of, catch_up.begin(), catch_up.replied, venue))
    asked = {dict(call.parameters)["symbol"] for call in venue.asked if call.path.endswith("order_deals")}
    assert asked == {"SOL_USD", "SOL_USDT"}


@PRODUCTS
def test_a_refusal_in_the_middle_ends_the_reconciliation(product: str) -> None:
    of = plan(product, SYMBOL[product])
    catch_up = ACCOUNT_ADAPTER.catch_up(of, CatchUpNeeds(NOW - 1_000, NOW))
    venue = Venue(product, [])
    (first,) = catch_up.begin()
    second = catch_up.replied(first, reply_to(of, first, venue(first)))[0]
    with pytest.raises(ParseError, match="unknown_event"):
        catch_up.replied(second, reply_to(of, second, b'{"success":false,"code":510,"message":"busy"}', 429))
