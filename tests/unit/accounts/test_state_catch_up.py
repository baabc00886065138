"""What happened while nobody was connected is told once, in order, before what came later."""

from typing import Any

import pytest

from shared.accounts.messages import AccountStatus, Fill, Order, Position
from shared.envelope import Authenticated, Disconnected
from tests.support.accounts import PERPETUAL, T0_MS, Hand, fill, found, order, position, rejection

OPEN: dict[str, Any] = {"open_orders_of": ("spot", "linear"), "positions_of": ("linear",)}
SINCE, UNTIL = T0_MS, T0_MS + 60_000


def away(hand: Hand) -> None:
    """The connection is lost and made anew."""
    hand.mark(Disconnected("network"))
    hand.connect()
    hand.mark(Authenticated())


def test_a_fill_missed_while_away_is_told_once_and_before_later_ones(reconciled: Hand) -> None:
    reconciled.says(order("o1", "new", size="2"))
    away(reconciled)
    missed = found(
        fill("t9", "2", at_ms=T0_MS + 20, source="rest"),
        order("o1", "filled", "2", at_ms=T0_MS + 20, size="2", source="rest"),
        **OPEN,
    )
    reconciled.catches_up(SINCE, UNTIL, missed)
    reconciled.says(fill("t10", at_ms=UNTIL + 1))
    late = reconciled.says(fill("t9", "2", at_ms=T0_MS + 20))
    assert (reconciled.fills, late.duplicates) == (["t9", "t10"], 1)
    assert [each.source for each in reconciled.of(Fill)] == ["rest", "stream"]
    assert [(each.status, each.source) for each in reconciled.of(Order)] == [("new", "stream"), ("filled", "rest")]


def test_fills_come_in_the_order_of_their_executions_and_orders_behind_them(reconciled: Hand) -> None:
    reconciled.says(fill("3", at_ms=T0_MS + 30))
    away(reconciled)
    mixed = found(
        order("o1", "filled", "2", at_ms=T0_MS + 41, source="rest"),
        fill("12", at_ms=T0_MS + 40, source="rest"),
        fill("9", at_ms=T0_MS + 40, source="rest"),
        fill("3", at_ms=T0_MS + 30, source="rest"),
        fill("7", at_ms=T0_MS + 35, source="rest"),
        **OPEN,
    )
    outcome = reconciled.catches_up(SINCE, UNTIL, mixed)
    assert reconciled.fills == ["3", "7", "9", "12"]
    assert [type(each) for each in outcome.messages] == [Fill, Fill, Fill, Order, AccountStatus]


def test_an_order_in_several_lists_of_one_reply_ends_as_it_ended(reconciled: Hand) -> None:
    """It was open when open orders were asked for, and had ended when the others were."""
    lists = found(
        order("o1", "canceled", "1", at_ms=T0_MS + 50, source="rest"),
        order("o1", "partially_filled", "1", at_ms=T0_MS + 40, source="rest"),
        **OPEN,
    )
    reconciled.catches_up(SINCE, UNTIL, lists)
    assert [each.status for each in reconciled.of(Order)] == ["partially_filled", "canceled"]


def test_an_order_that_vanished_stays_open_and_the_account_stale_until_its_end_is_found(reconciled: Hand) -> None:
    reconciled.says(order("o1"), order("o2", instrument=PERPETUAL))
    away(reconciled)
    reconciled.told.clear()
    reconciled.catches_up(SINCE, UNTIL, found(order("o2", instrument=PERPETUAL, source="rest"), **OPEN))
    assert [(each.status, each.reason, each.detail) for each in reconciled.of(AccountStatus)] == [
        ("stale", "order_vanished", "ADA/USDT o1")
    ]
    assert reconciled.of(Order) == []
    reconciled.restart()
    ended = found(
        order("o1", "canceled", at_ms=T0_MS + 30, source="rest"),
        order("o2", instrument=PERPETUAL, source="rest"),
        **OPEN,
    )
    reconciled.catches_up(UNTIL - 1, UNTIL + 60_000, ended)
    assert reconciled.last_order("o1").status == "canceled"
    assert reconciled.statuses[-1] == "reconciled"


def test_the_end_of_a_vanished_order_may_also_be_pushed(reconciled: Hand) -> None:
    """It ended between the list of ended orders and that of open ones; the push was held behind both."""
    reconciled.says(order("o1"))
    away(reconciled)
    reconciled.catches_up(SINCE, UNTIL, found(**OPEN))
    assert reconciled.statuses[-1] == "stale:order_vanished"
    reconciled.says(order("o1", "filled", "10", at_ms=UNTIL + 3))
    assert reconciled.statuses[-1] == "reconciled"


def test_an_order_too_young_for_the_list_has_not_vanished(reconciled: Hand) -> None:
    reconciled.says(order("young", at_ms=UNTIL - 3), order("old", at_ms=UNTIL - 30_000))
    reconciled.catches_up(SINCE, UNTIL, found(**OPEN))
    assert [(each.status, each.detail) for each in reconciled.of(AccountStatus)] == [("stale", "ADA/USDT old")]


def test_orders_of_a_product_that_was_not_listed_have_not_vanished(reconciled: Hand) -> None:
    reconciled.says(order("o1", instrument=PERPETUAL))
    away(reconciled)
    reconciled.catches_up(SINCE, UNTIL, found(open_orders_of=("spot",)))
    assert reconciled.statuses[-1] == "reconciled"


def test_nothing_is_gone_because_it_could_not_be_read(reconciled: Hand) -> None:
    reconciled.says(order("o1"), position("net", "2"))
    away(reconciled)
    outcome = reconciled.catches_up(SINCE, UNTIL, found(rejections=[rejection()], **OPEN))
    assert len(reconciled.of(Position)) == 1
    assert reconciled.statuses[-1] == "stale:quarantined"
    assert [(wish.feed, wish.native_symbol) for wish in outcome.wishes] == [("account", str(T0_MS - 60_000))]


def test_rest_that_lags_behind_takes_nothing_back(reconciled: Hand) -> None:
    reconciled.says(order("o1", "partially_filled", "4", at_ms=UNTIL - 5), order("o2", "filled", "10", at_ms=UNTIL - 4))
    told = len(reconciled.told)
    behind = found(order("o1", at_ms=T0_MS, source="rest"), order("o2", at_ms=T0_MS, source="rest"), **OPEN)
    outcome = reconciled.catches_up(SINCE, UNTIL, behind)
    assert (len(reconciled.told) - told, outcome.stale) == (1, 2)


def test_an_order_that_ended_before_what_is_asked_for_is_no_news_unless_it_was_open(reconciled: Hand) -> None:
    """Venues list orders of months ago; what was told of them is forgotten after a week."""
    reconciled.says(order("known", at_ms=SINCE - 90_000))
    reconciled.told.clear()
    ends = [
        order("old", "canceled", at_ms=SINCE - 1, source="rest"),
        order("known", "canceled", at_ms=SINCE - 2, source="rest"),
        order("new", "canceled", at_ms=SINCE, source="rest"),
        order("resting", "new", at_ms=SINCE - 80_000, source="rest"),
    ]
    outcome = reconciled.catches_up(SINCE, UNTIL, found(*ends, **OPEN))
    assert [each.order_id for each in reconciled.of(Order)] == ["resting", "known", "new"]
    assert outcome.stale == 1


@pytest.mark.parametrize(("days", "is_told"), [(4, True), (6, False)])
def test_where_no_list_says_when_an_order_ended_it_counts_when_it_was_made(
    reconciled: Hand, days: int, *, is_told: bool
) -> None:
    made = (SINCE - days * 86_400_000) * 1_000_000
    ended = order("o1", "canceled", at_ms=None, source="rest", ts_created=made)
    reconciled.catches_up(SINCE, UNTIL, found(ended, **OPEN))
    assert bool(reconciled.of(Order)) is is_told


def test_a_repeated_reconciliation_tells_nothing_but_that(reconciled: Hand) -> None:
    said = found(fill("e1", source="rest"), order("o1", source="rest"), **OPEN)
    reconciled.catches_up(SINCE, UNTIL, said)
    told = len(reconciled.told)
    outcome = reconciled.catches_up(UNTIL, UNTIL + 60_000, said)
    assert ([type(each) for each in reconciled.told[told:]], outcome.duplicates) == ([AccountStatus], 2)
