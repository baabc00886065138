"""Which update continues a chain."""

from itertools import takewhile

import pytest

from shared.sequencing import (
    ASK_AGAIN_MAX_NS,
    ASK_AGAIN_NS,
    CONTIGUOUS,
    HELD_LIMIT,
    LINKED,
    BookSequencer,
    DuplicateWindow,
    SeedVerdict,
    SequenceRule,
    Update,
    Verdict,
)

SECOND = 1_000_000_000


def contiguous(first: int, last: int) -> Update[str]:
    return Update(first, last, None, f"{first}-{last}")


def linked(previous: int, first: int, last: int) -> Update[str]:
    return Update(first, last, previous, f"{first}-{last}")


def waiting(*updates: Update[str], rule: SequenceRule = CONTIGUOUS) -> BookSequencer[str]:
    book: BookSequencer[str] = BookSequencer(rule)
    assert [book.offer(update) for update in updates] == [Verdict.HELD] * len(updates)
    return book


def test_seed_that_held_updates_bridge() -> None:
    """What the snapshot contains is dropped, the update that straddles it is the first, the next one follows."""
    book = waiting(contiguous(401, 405), contiguous(406, 410), contiguous(411, 412))
    verdict, through = book.seed(407)
    assert verdict is SeedVerdict.ACCEPTED
    assert [update.item for update in through] == ["406-410", "411-412"]
    assert book.sequence == 412
    assert book.offer(contiguous(413, 413)) is Verdict.APPLY


def test_seed_that_is_too_old() -> None:
    """A snapshot from before the first held update is no beginning; what is held stays for the next one."""
    book = waiting(contiguous(401, 405), contiguous(406, 410))
    assert book.seed(395) == (SeedVerdict.TOO_OLD, [])
    assert book.sequence is None
    verdict, through = book.seed(400)
    assert (verdict, len(through)) == (SeedVerdict.ACCEPTED, 2)


def test_gap_after_a_seed() -> None:
    """An update that skips an id is never applied: the book waits, and the update is the first held."""
    book = waiting(contiguous(406, 412))
    book.seed(407)
    assert book.offer(contiguous(415, 418)) is Verdict.GAP
    assert book.sequence is None
    assert book.offer(contiguous(419, 419)) is Verdict.HELD
    assert [update.item for update in book.seed(416)[1]] == ["415-418", "419-419"]


def test_linked_ids_skip() -> None:
    """Where updates are linked, ids between them belong to nobody; a broken link is a gap, once."""
    book = waiting(linked(70, 73, 80), rule=LINKED)
    book.seed(75)
    assert book.offer(linked(80, 96, 104)) is Verdict.APPLY
    assert book.offer(linked(103, 110, 120)) is Verdict.GAP
    assert book.offer(linked(120, 131, 140)) is Verdict.HELD


@pytest.mark.parametrize(
    ("sequence", "verdict", "items"),
    [
        (72, SeedVerdict.TOO_OLD, []),
        (70, SeedVerdict.ACCEPTED, ["73-80", "96-104"]),
        (73, SeedVerdict.ACCEPTED, ["73-80", "96-104"]),
        (80, SeedVerdict.ACCEPTED, ["73-80", "96-104"]),
        (81, SeedVerdict.TOO_OLD, []),
        (104, SeedVerdict.ACCEPTED, ["96-104"]),
        (105, SeedVerdict.ACCEPTED, []),
    ],
)
def test_linked_seeds(sequence: int, verdict: SeedVerdict, items: list[str]) -> None:
    """``U <= sequence <= u``, or a link to the snapshot itself."""
    book = waiting(linked(70, 73, 80), linked(80, 96, 104), rule=LINKED)
    given, through = book.seed(sequence)
    assert (given, [update.item for update in through]) == (verdict, items)


@pytest.mark.parametrize(
    ("update", "verdict"),
    [
        (contiguous(90, 99), Verdict.STALE),
        (contiguous(95, 100), Verdict.STALE),
        (contiguous(95, 101), Verdict.APPLY),
        (contiguous(101, 103), Verdict.APPLY),
        (contiguous(102, 103), Verdict.GAP),
    ],
)
def test_first_update_after_a_seed_without_any_held(update: Update[str], verdict: Verdict) -> None:
    """It need not follow, it must straddle."""
    book = waiting()
    assert book.seed(100) == (SeedVerdict.ACCEPTED, [])
    assert book.offer(update) is verdict


@pytest.mark.parametrize(
    ("update", "verdict"),
    [
        (linked(80, 85, 99), Verdict.STALE),
        (linked(90, 95, 100), Verdict.APPLY),
        (linked(90, 95, 104), Verdict.APPLY),
        (linked(100, 109, 120), Verdict.APPLY),
        (linked(102, 109, 120), Verdict.GAP),
    ],
)
def test_first_linked_update_after_a_seed(update: Update[str], verdict: Verdict) -> None:
    """It straddles the snapshot or links to it."""
    book = waiting(rule=LINKED)
    book.seed(100)
    assert book.offer(update) is verdict


def test_only_the_first_update_may_straddle() -> None:
    """Once live, an update that overlaps what is held is no continuation."""
    book = waiting(contiguous(1, 5))
    book.seed(0)
    assert book.offer(contiguous(4, 7)) is Verdict.GAP


@pytest.mark.parametrize("rule", [CONTIGUOUS, LINKED])
def test_repeated_updates_are_stale(rule: SequenceRule) -> None:
    """What the book holds already changes nothing."""
    updates: list[Update[str]] = [Update(1, 5, 0, "a"), Update(6, 9, 5, "b")]
    book = waiting(*updates, rule=rule)
    book.seed(0)
    assert [book.offer(update) for update in updates] == [Verdict.STALE, Verdict.STALE]
    assert book.sequence == 9


@pytest.mark.parametrize("rule", [CONTIGUOUS, LINKED])
def test_update_that_ends_before_it_begins_moves_nothing_back(rule: SequenceRule) -> None:
    """Ids that make no sense can't lower the sequence."""
    book = waiting(rule=rule)
    book.restart(100)
    assert book.offer(Update(101, 90, 100, "x")) is Verdict.STALE
    assert book.sequence == 100


def test_seeds_of_a_live_book() -> None:
    """An older one says nothing new, a newer one replaces the book."""
    book = waiting(contiguous(1, 5))
    book.seed(3)
    assert book.seed(5) == (SeedVerdict.STALE, [])
    assert book.seed(8) == (SeedVerdict.ACCEPTED, [])
    assert book.offer(contiguous(6, 8)) is Verdict.STALE
    assert book.offer(contiguous(9, 9)) is Verdict.APPLY


def test_break_among_held_updates_shows_at_once() -> None:
    """A snapshot that only what lies before the break would bridge is too old: the book would stand still unseen."""
    book = waiting(contiguous(1, 2), contiguous(3, 4), contiguous(7, 8))
    assert book.seed(3) == (SeedVerdict.TOO_OLD, [])
    verdict, through = book.seed(6)
    assert (verdict, [update.item for update in through]) == (SeedVerdict.ACCEPTED, ["7-8"])


def test_repeated_held_update_is_stale() -> None:
    """A held update that comes again does not break what is held."""
    book = waiting(contiguous(1, 2), contiguous(3, 4), contiguous(5, 6))
    assert book.offer(contiguous(3, 4)) is Verdict.STALE
    assert [update.item for update in book.seed(0)[1]] == ["1-2", "3-4", "5-6"]


def test_ids_that_start_again_are_held_anew() -> None:
    """A venue that counts from the beginning again does not shut a waiting book out for ever."""
    book = waiting(contiguous(9_000, 9_001), contiguous(1, 2), contiguous(3, 4))
    assert [update.item for update in book.seed(1)[1]] == ["1-2", "3-4"]


def test_held_updates_are_bounded() -> None:
    """The oldest go first, and with them older seeds."""
    book = waiting(*(contiguous(at, at) for at in range(HELD_LIMIT + 1)))
    assert book.seed(-1)[0] is SeedVerdict.TOO_OLD
    verdict, through = book.seed(0)
    assert (verdict, len(through)) == (SeedVerdict.ACCEPTED, HELD_LIMIT)


def test_snapshot_of_the_venue_restarts_the_chain() -> None:
    """It is live at once, also when ids go back; the next update must follow exactly."""
    book = waiting(contiguous(500, 501))
    book.restart(1)
    assert book.offer(contiguous(1, 2)) is Verdict.GAP
    book.restart(1)
    assert book.offer(contiguous(2, 2)) is Verdict.APPLY


def test_asks_ever_more_seldom() -> None:
    """The interval doubles from 10 s to 160 s; a snapshot or a new epoch ends that."""
    book = waiting(contiguous(1, 1))
    assert book.asks(0) is False
    asked = [at for at in range(0, 1_000 * SECOND, SECOND) if book.asks(at)]
    steps = [later - earlier for earlier, later in zip([0, *asked], asked, strict=False)]
    assert steps == [factor * ASK_AGAIN_NS for factor in (1, 2, 4, 8, 16, 16, 16, 16, 16)]
    assert steps[-1] == ASK_AGAIN_MAX_NS
    book.begin(2_000 * SECOND)
    assert book.asks(2_009 * SECOND) is False
    assert book.asks(2_010 * SECOND) is True


def test_asked_elsewhere_counts() -> None:
    """The interval runs from the last request, whoever made it."""
    book = waiting(contiguous(1, 1))
    book.asked(5 * SECOND)
    assert book.asks(14 * SECOND) is False
    assert book.asks(15 * SECOND) is True


def test_duplicate_window() -> None:
    """The last ``size`` keys are known, and never more than twice as many."""
    window = DuplicateWindow(3)
    assert [window.seen(key) for key in "aabab"] == [False, True, False, True, True]
    for key in range(100):
        assert window.seen(key) is False
        assert all(window.seen(earlier) for earlier in range(max(0, key - 2), key + 1))
    assert 3 <= len([*takewhile(window.seen, reversed(range(100)))]) <= 6


def test_duplicate_window_forgets() -> None:
    """A key of long ago is new."""
    window = DuplicateWindow(3)
    for key in "abcdefg":
        window.seen(key)
    assert window.seen("a") is False
