"""Frames of one stream: numbers, marks, what can't be read, and what is said of the account."""

from typing import Any

import pytest
from msgspec import msgpack

from shared.accounts.messages import AccountStatus, Fill
from shared.accounts.state_stream import ASK_AGAIN_NS, account_of
from shared.envelope import (
    AccountFailed,
    Alive,
    Authenticated,
    Connected,
    Disconnected,
    FrameKind,
    ReconciliationFailed,
    Shed,
    encode_mark,
)
from shared.exchanges.output import Resync
from tests.support.accounts import PERPETUAL, SPOT, T0_MS, Hand, fill, found, order, rejection

OPEN: dict[str, Any] = {"open_orders_of": ("spot", "linear")}
SINCE, UNTIL = T0_MS - 60_000, T0_MS


def reconcile(hand: Hand, since: int = SINCE, until: int = UNTIL) -> None:
    hand.catches_up(since, until, found(**OPEN))


def test_the_life_of_a_connection() -> None:
    hand = Hand()
    hand.connect()
    hand.mark(Authenticated())
    reconcile(hand)
    hand.mark(Alive())
    hand.mark(Disconnected("network", 1006, "reset by peer"))
    hand.connect()
    hand.mark(AccountFailed("key", "invalid api key"))
    hand.mark(AccountFailed("key", "invalid api key"))
    assert hand.statuses == [
        "connecting",
        "authenticated",
        "reconciled",
        "reconciled",
        "stale:network",
        "connecting",
        "failed:key",
        "failed:key",
    ]
    told = hand.of(AccountStatus)
    assert [each.ts_reconciled for each in told[2:5]] == [UNTIL * 1_000_000, UNTIL * 1_000_000, None]
    assert {(each.account, each.product, each.symbol) for each in told} == {("main", None, None)}
    assert (told[4].detail, told[6].detail) == ("reset by peer", "invalid api key")


def test_a_failed_reconciliation_makes_stale_and_the_next_one_heals(reconciled: Hand) -> None:
    reconciled.mark(ReconciliationFailed("status_500", "HTTP 500"))
    reconciled.mark(Alive())
    reconcile(reconciled, UNTIL, UNTIL + 60_000)
    assert reconciled.statuses == ["stale:status_500", "stale:status_500", "reconciled"]


def test_alive_alone_makes_nothing_known() -> None:
    hand = Hand()
    hand.connect()
    hand.mark(Authenticated())
    hand.mark(Alive())
    assert hand.statuses == ["connecting", "authenticated", "authenticated"]


def test_a_reconciliation_after_the_end_of_its_connection_does_not_make_current(reconciled: Hand) -> None:
    reconciled.mark(Disconnected("network"))
    reconcile(reconciled, UNTIL, UNTIL + 60_000)
    assert reconciled.statuses == ["stale:network", "stale:network"]


def test_a_frame_that_cannot_be_read_is_told_and_two_whole_reconciliations_heal_it(reconciled: Hand) -> None:
    """The first may have asked before it happened."""
    outcome = reconciled.garbage("unknown_event")
    assert [each.code for each in outcome.rejections] == ["unknown_event"]
    assert outcome.wishes == [Resync("account", str(UNTIL - 60_000), "quarantined")]
    reconciled.says(fill("e1"))
    reconcile(reconciled, UNTIL, UNTIL + 60_000)
    reconcile(reconciled, UNTIL, UNTIL + 120_000)
    assert reconciled.statuses == ["stale:quarantined", "stale:quarantined", "reconciled"]
    assert reconciled.of(AccountStatus)[0].detail == "unknown_event"
    assert reconciled.fills == ["e1"]


def test_after_a_new_connection_one_reconciliation_heals(reconciled: Hand) -> None:
    reconciled.garbage()
    reconciled.connect()
    reconciled.mark(Authenticated())
    reconcile(reconciled, UNTIL, UNTIL + 60_000)
    assert reconciled.statuses == ["stale:quarantined", "connecting", "stale:quarantined", "reconciled"]


def test_the_elements_that_can_be_read_are_told(reconciled: Hand) -> None:
    outcome = reconciled.says(fill("e1"), rejections=[rejection("bad_number")])
    assert [type(each) for each in outcome.messages] == [Fill, AccountStatus]
    assert (reconciled.statuses, [each.code for each in outcome.rejections]) == (["stale:quarantined"], ["bad_number"])


def test_an_instrument_that_is_not_listed_is_asked_for(reconciled: Hand) -> None:
    assert [wish.feed for wish in reconciled.garbage("unknown_instrument").wishes] == ["instruments"]


def test_a_defect_of_an_adapter_is_kept_and_the_stream_goes_on(reconciled: Hand) -> None:
    assert [each.code for each in reconciled.garbage("defect").rejections] == ["internal"]
    reconciled.says(fill("e1"))
    assert reconciled.fills == ["e1"]


def test_a_reconciliation_that_cannot_be_read_leaves_a_hole_until_one_reaches_back(reconciled: Hand) -> None:
    reconciled.catches_up(UNTIL - 10, UNTIL + 60_000, "wrong_type")
    reconcile(reconciled, UNTIL + 50_000, UNTIL + 120_000)
    last = reconciled.of(AccountStatus)[-1]
    assert (last.status, last.reason) == ("stale", "not_covered")
    assert last.detail == f"covered up to {UNTIL} ms, the reconciliation began at {UNTIL + 50_000} ms"
    reconcile(reconciled, UNTIL - 60_000, UNTIL + 180_000)
    reconcile(reconciled, UNTIL + 120_000, UNTIL + 240_000)
    assert reconciled.statuses[-1] == "reconciled"


def test_a_first_reconciliation_that_cannot_be_read_has_to_be_made_up_for() -> None:
    """Nobody knows any more where it began: one that reaches back before the first frame does."""
    hand = Hand()
    hand.connect()
    hand.mark(Authenticated())
    outcome = hand.catches_up(UNTIL, UNTIL + 60_000, "wrong_type")
    assert outcome.wishes == [Resync("account", str(UNTIL - 119_999), "quarantined")]
    reconcile(hand, UNTIL + 59_000, UNTIL + 120_000)
    assert hand.statuses[-1] == "stale:not_covered"
    reconcile(hand, UNTIL - 119_999, UNTIL + 180_000)
    reconcile(hand, UNTIL + 179_000, UNTIL + 240_000)
    assert hand.statuses[-1] == "reconciled"


def test_a_hole_in_the_numbers_is_told_before_what_comes_behind_it(reconciled: Hand) -> None:
    reconciled.put(FrameKind.TEXT, b"never delivered")
    outcome = reconciled.says(fill("e1"))
    assert ([type(each) for each in outcome.messages], outcome.lost) == ([AccountStatus, Fill], 1)
    assert reconciled.statuses == ["stale:frames_lost"]
    assert [wish.reason for wish in outcome.wishes] == ["frames_lost"]


def test_frames_that_an_epoch_lost_at_its_end_are_known_from_the_next(reconciled: Hand) -> None:
    reconciled.put(FrameKind.TEXT, b"never delivered")
    assert reconciled.connect().lost == 1
    reconciled.mark(Authenticated())
    assert reconciled.statuses == ["stale:frames_lost", "connecting", "stale:frames_lost"]


def test_a_frame_comes_twice_and_gives_nothing(reconciled: Hand) -> None:
    reconciled.says(fill("e1"))
    told = len(reconciled.told)
    for epoch, number, frame in tuple(reconciled.frames):
        outcome = reconciled.deliver(epoch, number, frame)
        assert (outcome.repeated, outcome.messages) == (True, [])
    assert len(reconciled.told) == told


def test_a_crash_before_the_commit_gives_the_same_messages_again(reconciled: Hand) -> None:
    number, frame = reconciled.put(FrameKind.TEXT, found_bytes())
    first = reconciled.deliver(reconciled.epoch, number, frame, commit=False)
    reconciled.restart()
    second = reconciled.deliver(reconciled.epoch, number, frame)
    assert [*first.messages] == [*second.messages]
    assert len(first.messages) == 3


def found_bytes() -> bytes:
    return msgpack.encode(found(fill("e1"), order("o1", "filled", "1"), rejections=[rejection()]))


def test_frames_of_an_older_epoch_are_left_alone_and_ingest_is_asked_to_begin_above(reconciled: Hand) -> None:
    reconciled.epoch = 0
    reconciled.number = 5
    outcome = reconciled.says(fill("e1"))
    assert (outcome.repeated, outcome.wishes) == (True, [Resync("epoch", "1", "older_epoch")])
    assert reconciled.says(fill("e2")).wishes == []


def test_wishes_are_repeated_ever_more_seldom(reconciled: Hand) -> None:
    begun = reconciled.now
    asked = []
    for _ in range(100):
        reconciled.now += ASK_AGAIN_NS // 4
        if reconciled.garbage().wishes:
            asked.append((reconciled.now - begun) // ASK_AGAIN_NS)
    assert asked == [0, 1, 3, 7, 15]


def test_who_meets_a_stream_in_mid_life_asks_for_a_reconciliation() -> None:
    hand = Hand()
    hand.number = 40
    outcome = hand.says(fill("e1"))
    assert ([type(each) for each in outcome.messages], outcome.lost) == ([AccountStatus, Fill], 0)
    hand.catches_up(SINCE, UNTIL, found(**OPEN))
    assert [wish.reason for wish in outcome.wishes] == ["started"]
    assert hand.statuses == ["stale:started", "reconciled"]


def test_what_is_no_frame_at_all_is_told_with_the_next_one(reconciled: Hand) -> None:
    reconciled.stream.poisoned("invalid_envelope")
    reconciled.commit()
    reconciled.restart()
    outcome = reconciled.says(fill("e1"))
    assert [type(each) for each in outcome.messages] == [AccountStatus, Fill]
    assert reconciled.statuses == ["stale:quarantined"]


@pytest.mark.parametrize(
    ("kind", "data", "code"),
    [
        (FrameKind.MARK, encode_mark(Shed([])), "unknown_event"),
        (FrameKind.MARK, b"{}", "invalid_envelope"),
        (FrameKind.CATCH_UP, b"\xc1", "invalid_envelope"),
        (FrameKind.REST, b"\xc1", "invalid_envelope"),
        (9, b"", "invalid_envelope"),
    ],
)
def test_what_does_not_belong_here_is_rejected(reconciled: Hand, kind: FrameKind, data: bytes, code: str) -> None:
    assert [each.code for each in reconciled.frame(kind, data).rejections] == [code]
    assert reconciled.statuses == ([] if kind == FrameKind.REST else ["stale:quarantined"])


def test_instruments_survive_a_restart(hand: Hand) -> None:
    hand.restart()
    hand.says(order("o1"), order("o2", instrument=PERPETUAL))
    assert [tracked.product for tracked in hand.stream.state.orders.values()] == ["spot", "linear"]
    hand.lists(SPOT)
    assert hand.stream.changes.instruments == {}


def test_a_connected_mark_that_was_lost_itself_is_a_hole(reconciled: Hand) -> None:
    reconciled.epoch, reconciled.number = 2, 0
    reconciled.put(FrameKind.MARK, encode_mark(Connected("ws://venue", 1, 4)))
    assert reconciled.mark(Authenticated()).lost == 1
    assert reconciled.statuses[0] == "stale:frames_lost"


@pytest.mark.parametrize(
    ("stream", "account"),
    [("bybit.main", "main"), ("binance.main.spot", "main"), ("bybit", None), ("a.b.c.d", None)],
)
def test_the_name_of_a_stream_holds_that_of_its_account(stream: str, account: str | None) -> None:
    assert account_of(stream) == account
