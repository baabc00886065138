"""What is remembered of an account stream, on disk: as in memory, whole, bounded."""

import random
from pathlib import Path

import pytest

from services.normalizer.account.store import ENDED_DAYS, PRUNE_EVERY, SEEN_DAYS, Store
from shared.accounts.base import Found
from shared.accounts.state_records import Changes, Header, Needs, OrderKey, SeenKey, Standing, TrackedOrder
from shared.envelope import Authenticated
from shared.errors import StateError
from tests.support.account_venue import RestReader, Venue
from tests.support.accounts import PERPETUAL, SPOT, T0, T0_MS, Hand, order

DAY_MS = 86_400_000
DAY_NS = DAY_MS * 1_000_000


def happens(venue: Venue, dice: random.Random) -> list[Found]:
    """Something at the venue; some of it is never pushed."""
    pushed = venue.place(dice.choice([SPOT, PERPETUAL]), dice.randint(1, 6))
    still_open = [each for each in venue.orders.values() if each.open]
    if dice.random() < 0.7:
        pushed += venue.match(dice.choice(still_open), [dice.randint(1, 3)], apart=dice.random() < 0.5)
    if dice.random() < 0.3:
        pushed += venue.pay(dice.randint(1, 9), "funding")
    return pushed if dice.random() < 0.8 else []


def test_a_file_remembers_what_memory_does(tmp_path: Path) -> None:
    """The same frames, with a restart after each: the same messages."""
    dice = random.Random(11)
    venue, hands = Venue(), [Hand(), Hand(tmp_path / "state.sqlite")]
    covered = T0_MS
    for hand in hands:
        hand.connect()
        hand.lists(SPOT, PERPETUAL)
        hand.mark(Authenticated())
    for _ in range(6):
        for said in [each for _ in range(15) for each in happens(venue, dice)]:
            for hand in hands:
                hand.says(*said.orders, *said.fills, *said.balances, *said.positions, changes=said.changes)
                hand.restart()
        reader = RestReader(venue, covered)
        while not reader.complete:
            reader.ask()
        for hand in hands:
            hand.catches_up(covered, reader.until, reader.found())
        covered = reader.until
    assert hands[0].told == hands[1].told
    assert len(hands[0].told) > 200


def test_what_is_too_old_is_forgotten_by_the_clock_of_the_venue(tmp_path: Path) -> None:
    store = Store(tmp_path / "state.sqlite", "venue.main")
    old, young = SeenKey("ADA/USDT", "old"), SeenKey("ADA/USDT", "young")
    ended, still_open = order("o1", "filled", "10"), order("o2", "new")
    keys = [OrderKey("ADA/USDT", "o1"), OrderKey("ADA/USDT", "o2")]
    tracked = {key: TrackedOrder(each, "spot") for key, each in zip(keys, (ended, still_open), strict=True)}
    store.commit(Header(1, 1), Changes({old: T0, young: T0 + 2 * DAY_NS}, tracked))
    needs = Needs([old, young], keys)
    assert store.recall(needs) == ({old, young}, tracked)

    def passes(days: int) -> None:
        store.commit(Header(1, 2), Changes({SeenKey("ADA/USDT", f"{days}"): T0 + days * DAY_NS}))
        for _ in range(PRUNE_EVERY):
            store.commit(Header(1, 2), Changes())

    passes(ENDED_DAYS - 1)
    assert set(store.recall(needs).orders) == set(keys)
    passes(ENDED_DAYS + 1)
    assert set(store.recall(needs).orders) == {keys[1]}
    assert store.recall(needs).seen == {old, young}
    passes(SEEN_DAYS + 1)
    assert store.recall(needs).seen == {young}
    store.close()


def test_what_a_reconciliation_may_ask_for_is_not_forgotten(tmp_path: Path) -> None:
    """One reaches back to what is covered, and that may be long ago."""
    store = Store(tmp_path / "state.sqlite", "venue.main")
    seen, key = SeenKey("ADA/USDT", "old"), OrderKey("ADA/USDT", "o1")
    tracked = {key: TrackedOrder(order("o1", "filled", "10"), "spot")}
    store.commit(Header(1, 1), Changes({seen: T0}, tracked))
    late = SeenKey("ADA/USDT", "late")
    needs = Needs([seen], [key])

    def covered(days: int) -> None:
        header = Header(1, 2, Standing(covered_ms=T0_MS + days * DAY_MS))
        store.commit(header, Changes({late: T0 + 100 * DAY_NS}))
        for _ in range(PRUNE_EVERY):
            store.commit(header, Changes())

    covered(ENDED_DAYS - 1)
    assert store.recall(needs) == ({seen}, tracked)
    covered(ENDED_DAYS + 1)
    assert store.recall(needs) == ({seen}, {})
    covered(SEEN_DAYS + 1)
    assert store.recall(needs) == (set(), {})
    store.close()


def test_the_file_of_another_stream_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "state.sqlite", "bybit.main")
    store.commit(Header(1, 1), Changes())
    store.close()
    with pytest.raises(StateError, match=r"it is that of bybit\.main") as caught:
        Store(tmp_path / "state.sqlite", "bybit.other")
    assert caught.value.reason == "foreign"


def test_a_row_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    store = Store(tmp_path / "state.sqlite", "venue.main")
    store.commit(Header(1, 1), Changes())
    with store._database.transaction():
        store._database.write("UPDATE stream SET header = x'c1'")
    with pytest.raises(StateError, match="a Header can't be read"):
        store.load()
    store.close()
