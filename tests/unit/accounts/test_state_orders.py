"""Orders and fills, in whatever order a venue tells them."""

import pytest

from shared.accounts.messages import OPEN_STATUSES, Fill, Order, OrderStatus
from shared.accounts.state_orders import Verdict, joined, judge
from tests.support.accounts import PERPETUAL, T0_MS, Hand, fill, found, order

LATER = T0_MS + 9


def told(hand: Hand) -> list[tuple[str, str, str]]:
    return [(each.order_id, each.status, each.filled_size) for each in hand.of(Order)]


def test_a_late_new_after_the_end_is_ignored(reconciled: Hand) -> None:
    reconciled.says(order("o1", "filled", "10", at_ms=LATER))
    outcome = reconciled.says(order("o1", "new", at_ms=T0_MS))
    assert (told(reconciled), outcome.stale) == ([("o1", "filled", "10")], 1)


def test_a_late_new_after_the_end_is_ignored_over_a_restart(reconciled: Hand) -> None:
    reconciled.says(order("o1", "filled", "10", at_ms=LATER))
    reconciled.restart()
    assert reconciled.says(order("o1", "new", at_ms=T0_MS)).stale == 1
    assert told(reconciled) == [("o1", "filled", "10")]


def test_a_fill_may_come_before_its_order(reconciled: Hand) -> None:
    reconciled.says(fill("e1", "4", order_id="o1"))
    reconciled.says(order("o1", "new"))
    reconciled.says(order("o1", "partially_filled", "4", at_ms=LATER))
    assert [type(each) for each in reconciled.told] == [Fill, Order, Order]
    assert reconciled.last_order("o1").filled_size == "4"


def test_a_cancel_after_a_part_was_filled_keeps_that_part(reconciled: Hand) -> None:
    reconciled.says(fill("900", "3"), order("o1", "partially_filled", "3", remaining_size="7", average_price="5.0"))
    reconciled.says(order("o1", "canceled", "3", at_ms=LATER, remaining_size="7", average_price="5.0"))
    last = reconciled.last_order("o1")
    assert (last.status, last.size, last.filled_size, last.remaining_size) == ("canceled", "10", "3", "7")
    assert [(each.execution_id, each.size) for each in reconciled.of(Fill)] == [("900", "3")]


def test_a_cancel_that_leaves_the_filled_size_out_does_not_take_it_back(reconciled: Hand) -> None:
    reconciled.says(order("o1", "partially_filled", "3.50", filled_size_native="35", average_price="4.9"))
    reconciled.says(order("o1", "canceled", "0", at_ms=LATER))
    last = reconciled.last_order("o1")
    assert (last.status, last.filled_size, last.filled_size_native) == ("canceled", "3.50", "35")
    assert (last.remaining_size, last.average_price) == ("6.50", "4.9")


def test_a_second_end_that_says_nothing_new_is_dropped(reconciled: Hand) -> None:
    reconciled.says(order("o1", "filled", "10", at_ms=T0_MS))
    outcome = reconciled.says(order("o1", "filled", "10.0", at_ms=LATER, reason="a cancel that came too late"))
    assert (len(told(reconciled)), outcome.duplicates) == (1, 1)


def test_an_end_with_more_filled_than_was_known_is_told(reconciled: Hand) -> None:
    reconciled.says(order("o1", "canceled", "3"))
    reconciled.says(order("o1", "canceled", "4", at_ms=LATER, source="rest"))
    assert told(reconciled) == [("o1", "canceled", "3"), ("o1", "canceled", "4")]


def test_the_same_fill_comes_once(reconciled: Hand) -> None:
    reconciled.says(fill("e1"), fill("e1"))
    reconciled.says(fill("e1"))
    reconciled.restart()
    outcome = reconciled.says(fill("e1"), fill("e2"))
    assert (reconciled.fills, outcome.duplicates) == (["e1", "e2"], 1)


def test_execution_ids_belong_to_an_instrument(reconciled: Hand) -> None:
    reconciled.says(fill("7"), fill("7", instrument=PERPETUAL))
    assert reconciled.fills == ["7", "7"]


def test_parts_number_the_messages_of_a_frame(reconciled: Hand) -> None:
    outcome = reconciled.says(fill("e1"), fill("e2"), order("o1", "filled", "2"))
    assert [each.part for each in outcome.messages] == [0, 1, 2]
    assert {(each.epoch, each.frame) for each in outcome.messages} == {(1, reconciled.number - 1)}


def test_what_a_venue_leaves_open_stays_open(reconciled: Hand) -> None:
    """A fee without a currency is not given one, an adl is a fill of its kind, and no number turns into another."""
    reconciled.says(fill("e3", "0.20", kind="adl", fee="0", fee_asset=None), fill("e9", fee="0.0005", fee_asset="ADA"))
    assert [(each.kind, each.fee, each.fee_asset, each.size) for each in reconciled.of(Fill)] == [
        ("adl", "0", None, "0.20"),
        ("trade", "0.0005", "ADA", "1"),
    ]


@pytest.mark.parametrize(
    ("known", "said", "verdict"),
    [
        (order("o", "pending"), order("o", "new"), Verdict.NEWER),
        (order("o", "new"), order("o", "pending", at_ms=LATER), Verdict.STALE),
        (order("o", "pending"), order("o", "triggered"), Verdict.NEWER),
        (order("o", "triggered"), order("o", "new"), Verdict.NEWER),
        (order("o", "triggered"), order("o", "filled", "10"), Verdict.NEWER),
        (order("o", "triggered"), order("o", "pending", at_ms=LATER), Verdict.STALE),
        (order("o", "new", at_ms=LATER), order("o", "partially_filled", "1"), Verdict.NEWER),
        (order("o", "partially_filled", "2"), order("o", "partially_filled", "1", at_ms=LATER), Verdict.STALE),
        (order("o", "partially_filled", "2"), order("o", "partially_filled", "2.0", at_ms=LATER), Verdict.SAME),
        (order("o", "new", price="5"), order("o", "new", price="6", at_ms=LATER), Verdict.NEWER),
        (order("o", "new", price="5", at_ms=LATER), order("o", "new", price="6"), Verdict.STALE),
        (order("o", "new", price="5"), order("o", "new", price="5.00"), Verdict.SAME),
        (order("o", "new", at_ms=None), order("o", "new", size="9", at_ms=None), Verdict.NEWER),
        (order("o", "new", at_ms=LATER), order("o", "canceled"), Verdict.NEWER),
        (order("o", "canceled"), order("o", "new", at_ms=LATER), Verdict.STALE),
        (order("o", "canceled", "3"), order("o", "filled", "10"), Verdict.NEWER),
        (order("o", "filled", "10"), order("o", "canceled", "3", at_ms=LATER), Verdict.STALE),
        (order("o", "filled", "10"), order("o", "expired", "10", at_ms=LATER), Verdict.SAME),
    ],
)
def test_an_order_never_goes_backwards(known: Order, said: Order, verdict: Verdict) -> None:
    assert judge(known, said) is verdict


@pytest.mark.parametrize("status", sorted({*OPEN_STATUSES, "triggered", "filled", "canceled", "rejected", "expired"}))
def test_every_status_follows_itself(status: OrderStatus) -> None:
    assert judge(order("o", status), order("o", status)) is Verdict.SAME


def test_an_end_without_a_size_keeps_the_size_that_is_known() -> None:
    ended = joined(order("o", "partially_filled", "4"), order("o", "canceled", "0", size=None), Verdict.NEWER)
    assert (ended.size, ended.filled_size, ended.remaining_size) == (None, "4", "6")


def test_an_amendment_older_than_what_repeated_it_is_stale(reconciled: Hand) -> None:
    """Amended from 5 to 6 and back to 5; what came between arrives last."""
    reconciled.says(order("o1", price="5", at_ms=T0_MS))
    reconciled.says(order("o1", price="5", at_ms=T0_MS + 20))
    assert reconciled.says(order("o1", price="6", at_ms=T0_MS + 10)).stale == 1
    assert reconciled.last_order("o1").price == "5"


def test_the_time_of_a_change_never_goes_back(reconciled: Hand) -> None:
    """A push says when it was sent; a list, when the order changed, which was before that."""
    reconciled.says(order("o1", "partially_filled", "4", at_ms=T0_MS + 24))
    reconciled.catches_up(T0_MS, T0_MS + 60_000, found(order("o1", "filled", "10", at_ms=T0_MS + 2, source="rest")))
    assert told(reconciled) == [("o1", "partially_filled", "4"), ("o1", "filled", "10")]
    assert [each.ts_updated for each in reconciled.of(Order)] == [(T0_MS + 24) * 1_000_000] * 2
