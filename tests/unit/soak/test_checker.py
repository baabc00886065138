"""The checker finds what is planted, each kind as what it is, and nothing in a clean feed."""

from collections.abc import Callable
from copy import deepcopy

import pytest

from tests.soak.checker.checker import Checker, Disturbance, Verdict
from tests.soak.checker.owners import SLACK_NS
from tests.soak.checker.wire import STATUS, Held, Holding, Item, decode_holdings, decode_items
from tests.unit.soak.feed import PRODUCT, STREAM, SYMBOLS, TICK, Arrival, World, play

FIRST, SECOND = SYMBOLS
OLD, NEW = "host:1:aaaa", "host:2:bbbb"


def world() -> World:
    """Trades and deltas of both instruments in several batches; one owner."""
    made = World()
    for _ in range(5):
        for symbol in SYMBOLS:
            made.trades(symbol, 2)
            made.delta(symbol)
        made.publish()
    return made


def faults(verdict: Verdict) -> dict[str, int]:
    summary = verdict.summary()
    named = {name: summary[name] for name in ("lost", "inversions", "gaps_unannounced", "books_wrong")}
    return {name: count for name, count in named.items() if count}


def test_a_clean_feed_gives_zeros() -> None:
    verdict = play(world())
    assert verdict.clean
    assert faults(verdict) == {}
    summary = verdict.summary()
    assert (summary["duplicates"], summary["max_owners"], summary["messages_received"]) == (0, 1, 33)
    assert summary["handover_ms"] == {"median": None, "max": None}


def test_everything_at_once_and_all_of_it_announced_is_clean() -> None:
    made = world()
    made.gap(FIRST)
    made.shed(SECOND)
    made.trades(SECOND)
    made.reconnect()
    made.trades(FIRST)
    made.publish()
    made.take_over(NEW, again=4)
    made.delta(FIRST)
    made.publish()
    verdict = play(made)
    assert verdict.clean, verdict
    assert verdict.announced == 3
    assert verdict.duplicates == 4
    assert verdict.summary()["max_owners"] == 1


def test_a_trade_that_never_came_is_lost() -> None:
    made = world()
    at = made.of("trade")[3]
    gone = made.arrivals[at].items.pop(0)
    verdict = play(made)
    assert faults(verdict) == {"lost": 1, "gaps_unannounced": 1}
    assert [one.ids for one in verdict.lost] == [[gone.trade_id]]
    assert not verdict.clean


def test_the_first_and_the_last_trade_are_missed_too() -> None:
    for at in (0, -1):
        made = world()
        made.arrivals[made.of("trade")[at]].items.pop(at)
        assert faults(play(made)) == {"lost": 1, "gaps_unannounced": 1}


def test_an_instrument_of_which_nothing_came_is_lost() -> None:
    made = world()
    for at in made.of("trade"):
        made.arrivals[at].items = [item for item in made.arrivals[at].items if item.symbol != SECOND]
    assert play(made).summary()["lost"] == 10


@pytest.mark.parametrize(
    ("status", "symbol", "affects", "excused"),
    [
        ("lost", None, None, True),
        ("shed", FIRST, "trade", True),
        ("shed", SECOND, "trade", False),
        ("shed", FIRST, "book", False),
        ("resync", FIRST, None, False),
        ("live", FIRST, None, False),
    ],
)
def test_only_a_status_about_it_excuses_a_missing_trade(
    status: str, symbol: str | None, affects: str | None, *, excused: bool
) -> None:
    made = World()
    made.trades(FIRST)
    made.trades(FIRST, 2, shed=True)
    made.status(status, symbol, affects)
    made.trades(FIRST)
    for each in SYMBOLS:
        made.snapshot(each)
    made.publish()
    verdict = play(made)
    assert faults(verdict) == ({} if excused else {"lost": 2, "gaps_unannounced": 1})
    assert verdict.announced == (2 if excused else 0)


def test_a_status_elsewhere_in_time_excuses_nothing() -> None:
    made = World()
    made.status("lost")
    made.trades(FIRST)
    made.trades(FIRST, shed=True)
    made.trades(FIRST)
    made.status("lost")
    made.trades(FIRST)
    for symbol in SYMBOLS:
        made.snapshot(symbol)
    made.publish()
    assert faults(play(made)) == {"lost": 1, "gaps_unannounced": 1}


def test_being_connected_at_first_excuses_nothing() -> None:
    made = World()
    made.trades(FIRST, shed=True)
    made.trades(FIRST)
    made.publish()
    assert faults(play(made)) == {"lost": 1, "gaps_unannounced": 1}


def test_a_missing_delta_is_a_gap_and_a_wrong_book() -> None:
    made = world()
    made.delta(FIRST)
    made.delta(FIRST)
    made.publish()
    del made.arrivals[made.of("book_delta")[-1]].items[0]
    assert faults(play(made))["gaps_unannounced"] == 1


def test_a_delta_that_continues_nothing_is_a_gap_whatever_was_announced() -> None:
    made = world()
    made.status("gap", FIRST, "book")
    made.delta(FIRST)
    made.delta(FIRST)
    made.publish()
    del made.arrivals[-1].items[0]
    assert play(made).summary()["gaps_unannounced"] == 1


@pytest.mark.parametrize(
    ("status", "reason", "told", "gaps"),
    [
        ("resync", "started", True, 0),
        ("resync", "started", False, 1),
        ("resync", "gap", True, 1),
        ("gap", None, True, 1),
        ("lost", "hole", True, 1),
        ("connected", None, True, 1),
    ],
)
def test_only_a_book_that_was_taken_over_goes_on_behind_a_snapshot_that_is_dropped(
    status: str, reason: str | None, gaps: int, *, told: bool
) -> None:
    made = world()
    again = deepcopy(made.arrivals[made.of("book_snapshot")[0]].items)
    assert again[0].symbol == FIRST
    made.take_over(NEW)
    made.status(status, reason=reason)
    made.publish()
    if told:
        made.arrivals.append(Arrival(NEW, made.arrivals[-1].now, again))
    made.delta(FIRST)
    made.publish()
    assert len(play(made).gaps) == gaps


def test_a_book_that_was_broken_when_it_was_taken_over_needs_a_new_snapshot() -> None:
    made = world()
    again = deepcopy(made.arrivals[made.of("book_snapshot")[0]].items)
    made.status("gap", FIRST, "book")
    made.take_over(NEW)
    made.status("resync", reason="started")
    made.publish()
    made.arrivals.append(Arrival(NEW, made.arrivals[-1].now, again))
    made.delta(FIRST)
    made.publish()
    assert len(play(made).gaps) == 1


def test_a_delta_of_another_epoch_continues_nothing() -> None:
    made = world()
    made.delta(FIRST)
    made.publish()
    made.arrivals[-1].items[0].epoch += 1
    assert play(made).summary()["gaps_unannounced"] == 1


def test_a_book_that_differs_by_one_level_is_wrong() -> None:
    made = world()
    snapshot = made.arrivals[made.of("book_snapshot")[0]].items[0]
    snapshot.bids[0] = (snapshot.bids[0][0], "77")
    verdict = play(made)
    assert faults(verdict) == {"books_wrong": 1}
    assert "bids differ from level 0" in verdict.books[0]


def test_a_book_that_never_came_or_was_never_whole_again_is_wrong() -> None:
    made = World()
    made.status("gap", FIRST, "book")
    made.publish()
    made.arrivals = [one for one in made.arrivals if not (one.items and one.items[0].symbol == SECOND)]
    assert sorted(play(made).books) == [f"{PRODUCT} {FIRST}: has no snapshot", f"{PRODUCT} {SECOND}: never came"]


def test_the_venues_own_sizes_are_compared() -> None:
    checker = Checker()
    item = Item("book_snapshot", "AAA", "AAA", STREAM, 1, 1, 0, sequence=1)
    item.bids, item.bid_sizes_native = [("100", "0.02")], ["2"]
    checker.take(OLD, [item], 1)
    assert checker.wrong_books({(PRODUCT, "AAA"): ([(100, 2)], [])}) == []  # type: ignore[list-item]
    assert checker.wrong_books({(PRODUCT, "AAA"): ([(100, 3)], [])}) != []  # type: ignore[list-item]


def test_messages_of_one_key_out_of_order_are_an_inversion() -> None:
    made = world()
    first, second = made.of("trade")[0], made.of("trade")[2]
    made.arrivals[first].items, made.arrivals[second].items = made.arrivals[second].items, made.arrivals[first].items
    assert play(made).summary()["inversions"] >= 1


def test_messages_of_different_keys_may_come_in_any_order_within_a_batch() -> None:
    made = world()
    first, second = made.of("trade")[0], made.of("trade")[1]
    assert made.arrivals[first].items[0].symbol != made.arrivals[second].items[0].symbol
    made.arrivals[first].items, made.arrivals[second].items = made.arrivals[second].items, made.arrivals[first].items
    assert play(made).clean


def swapped(made: World, step: int) -> World:
    """A status and its neighbour."""
    at = made.of(STATUS)[-1]
    one, other = made.arrivals[at], made.arrivals[at + step]
    one.items, other.items = other.items, one.items
    return made


@pytest.mark.parametrize("step", [-1, 1])
def test_a_status_that_overtakes_or_is_overtaken_is_an_inversion(step: int) -> None:
    made = world()
    made.trades(FIRST)
    made.status("shed", SECOND, "quote")
    made.trades(FIRST)
    made.publish()
    assert play(deepcopy(made)).clean
    assert faults(play(swapped(made, step)))["inversions"] >= 1


@pytest.mark.parametrize(("owner", "inversions"), [(NEW, 0), (OLD, 1)])
def test_a_new_owner_may_speak_before_the_point_that_the_last_one_reached(owner: str, inversions: int) -> None:
    made = world()
    last = made.arrivals[-1]
    before = Item(STATUS, None, None, STREAM, last.items[0].epoch, last.items[0].frame - 2, 1 << 20, status="live")
    made.arrivals.append(Arrival(owner, last.now + TICK, [before]))
    assert play(made).summary()["inversions"] == inversions


@pytest.mark.parametrize(
    ("feed", "owner", "inversions", "retold"),
    [
        ("quote", NEW, 0, 1),
        ("quote", OLD, 1, 0),
        ("book_snapshot", NEW, 0, 1),
        ("book_snapshot", OLD, 1, 0),
        ("stream_status", NEW, 0, 1),
        ("stream_status", OLD, 1, 0),
        ("liquidation", NEW, 1, 0),
        ("trade", NEW, 1, 0),
    ],
)
def test_below_the_last_only_a_new_owner_may_tell_anew_and_nothing_that_is_told_once(
    feed: str, owner: str, inversions: int, retold: int
) -> None:
    verdict = told(feed, (OLD, 1), (OLD, 5), (owner, 3))
    assert (len(verdict.inversions), len(verdict.retold), verdict.duplicates) == (inversions, retold, 0)
    assert verdict.summary()["retold"] == retold


def test_what_is_told_anew_is_in_order_too() -> None:
    assert len(told("quote", (OLD, 1), (OLD, 5), (NEW, 2), (NEW, 3), (NEW, 6)).retold) == 2
    assert len(told("quote", (OLD, 1), (OLD, 5), (NEW, 3), (NEW, 2)).inversions) == 1


def test_a_delta_that_is_told_anew_changes_no_book() -> None:
    made = world()
    made.delta(FIRST)
    made.delta(FIRST)
    made.publish()
    dropped = deepcopy(made.arrivals[-1].items[0])
    made.take_over(NEW)
    dropped.part, dropped.bids, dropped.asks = -1, [("99", "1234")], [("101", "4321")]
    made.arrivals.append(Arrival(NEW, made.arrivals[-1].now + TICK, [dropped]))
    made.delta(FIRST)
    made.publish()
    verdict = play(made)
    assert verdict.clean
    assert len(verdict.retold) == 1


def told(feed: str, *frames: tuple[str, int]) -> Verdict:
    """A feed of one instrument; who told which frame."""
    checker = Checker()
    for now, (owner, frame) in enumerate(frames):
        checker.take(owner, [Item(feed, FIRST, FIRST, STREAM, 1, frame, 0)], now)
    return checker.verdict({}, {})


@pytest.mark.parametrize(("claims", "inversions"), [((), 1), ((900,), 1), ((1_900,), 0), ((2_100 + SLACK_NS,), 1)])
def test_who_began_may_say_so_again_only_when_it_took_the_stream_again(
    claims: tuple[int, ...], inversions: int
) -> None:
    """A status that says so behind what its owner told of the stream is misplaced; or the owner lost the stream."""
    checker = Checker()
    begins = Item(STATUS, None, None, STREAM, 1, 2, 1 << 20, status="resync", reason="started")
    for now, frame in ((1_000, 3), (1_500, 5)):
        checker.take(OLD, [Item("quote", FIRST, FIRST, STREAM, 1, frame, 0)], now)
    checker.take(OLD, [begins], 2_000)
    for frame in (3, 4):
        checker.take(OLD, [Item("quote", FIRST, FIRST, STREAM, 1, frame, 0)], 2_001)
    checker.held(Holding(OLD, [Held(STREAM, since) for since in claims]))
    verdict = checker.verdict({}, {})
    assert (len(verdict.inversions), verdict.duplicates, len(verdict.retold)) == (inversions, 1, 1)


def test_a_trade_under_a_second_identity_is_an_inversion() -> None:
    made = world()
    again = deepcopy(made.arrivals[made.of("trade")[0]])
    again.items[0].frame += 1_000
    made.arrivals.append(Arrival(OLD, made.arrivals[-1].now + TICK, again.items[:1]))
    assert faults(play(made)) == {"inversions": 1}


def test_a_trade_that_nobody_sent_is_told() -> None:
    made = world()
    made.arrivals[made.of("trade")[0]].items[0].trade_id = "invented"
    verdict = play(made)
    assert verdict.invented == [f"{PRODUCT} {FIRST}: trade invented"]
    assert not verdict.clean


def test_repetitions_are_duplicates_and_nothing_else() -> None:
    made = world()
    made.take_over(NEW, again=6)
    verdict = play(made)
    assert verdict.clean
    assert verdict.duplicates == sum(len(one.items) for one in made.arrivals if one.owner == NEW)


def test_a_repetition_older_than_the_newest_that_was_not_there_before_is_an_inversion() -> None:
    made = world()
    late = made.arrivals.pop(made.of("trade")[0])
    late.now = made.arrivals[-1].now + TICK
    made.arrivals.append(late)
    assert play(made).summary()["inversions"] >= 1


def owned(*tenures: tuple[str, int, int], claims: tuple[tuple[str, int], ...] = ()) -> Checker:
    """Messages of owners from a time to a time; the frame numbers grow."""
    checker = Checker()
    frame = 0
    for owner, since in claims:
        checker.held(Holding(owner, [Held(STREAM, since)]))
    for owner, first, last in tenures:
        for now in (first, last):
            frame += 1
            checker.take(owner, [Item("quote", "AAA", "AAA", STREAM, 1, frame, 0)], now)
    return checker


def test_owners_one_after_the_other_are_one_at_a_time() -> None:
    assert owned((OLD, 1, 5), (NEW, 6, 9), ("host:3:cccc", 10, 12)).owners.most() == 1


def test_owners_that_take_turns_without_a_claim_are_two_at_once() -> None:
    checker = owned((OLD, 1, 5), (NEW, 6, 9), (OLD, 10, 12))
    assert checker.owners.most() == 2
    assert checker.owners.shared()[0].startswith(f"{STREAM}: {OLD} 1-5, {NEW} 6-9, {OLD} 10-12")
    assert owned((OLD, 1, 5), (NEW, 6, 9), ("x:3:c", 10, 12), (OLD, 13, 14), (NEW, 15, 15)).owners.most() == 3


def test_an_owner_that_claimed_the_stream_again_may_come_back() -> None:
    assert owned((OLD, 1, 5), (NEW, 6, 9), (OLD, 11, 12), claims=((OLD, 0), (OLD, 10))).owners.most() == 1
    assert owned((OLD, 1, 5), (NEW, 6, 9), (OLD, 11, 12), claims=((OLD, 0), (OLD, 4))).owners.most() == 2
    assert owned((OLD, 1, 5), (NEW, 6, 9), (OLD, 11, 12), claims=((OLD, 12 + SLACK_NS),)).owners.most() == 2


def test_what_a_former_owner_repeats_is_a_second_owner_all_the_same() -> None:
    made = world()
    repeated = made.arrivals[-1].items
    made.take_over(NEW, again=3)
    made.arrivals.append(Arrival(OLD, made.arrivals[-1].now + TICK, repeated))
    verdict = play(made)
    assert faults(verdict) == {}
    assert verdict.max_owners == 2
    assert not verdict.clean


def test_streams_are_owned_each_for_itself() -> None:
    checker = Checker()
    for now, (owner, stream) in enumerate([(OLD, "a.b.0"), (NEW, "a.b.1"), (OLD, "a.b.0"), (NEW, "a.b.1")]):
        checker.take(owner, [Item("quote", "AAA", "AAA", stream, 1, now, 0)], now)
    assert checker.owners.most() == 1
    assert checker.owners.latest() == [OLD, NEW]


def handed_over(disturbance: Disturbance | None, first: int, last: int) -> dict[str, list[float]]:
    checker = owned((OLD, 0, last), (NEW, first, first))
    if disturbance is not None:
        checker.disturbed(disturbance)
    return checker.verdict({}, {}).handover_ms


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (None, {"rebalanced": [500.0]}),
        (Disturbance("killed", 1_400 * TICK, 1), {"killed": [600.0]}),
        (Disturbance("stopped", 1_450 * TICK, 1), {"stopped": [550.0]}),
        (Disturbance("paused", 1_490 * TICK, 1), {"paused": [510.0]}),
        (Disturbance("broker", 1_400 * TICK, until=1_800 * TICK), {"broker": [600.0]}),
        (Disturbance("broker", 1_000 * TICK, until=1_400 * TICK), {"rebalanced": [500.0]}),
        (Disturbance("killed", 1_400 * TICK, 2), {"rebalanced": [500.0]}),
        (Disturbance("killed", 2_100 * TICK, 1), {"rebalanced": [500.0]}),
        (Disturbance("paused", 100 * TICK, 1), {"rebalanced": [500.0]}),
    ],
)
def test_a_hand_over_is_timed_from_what_took_the_stream_away(
    what: Disturbance | None, expected: dict[str, list[float]]
) -> None:
    assert handed_over(what, 2_000 * TICK, 1_500 * TICK) == expected


def test_the_summary_has_the_times_of_ordinary_hand_overs_only() -> None:
    verdict = Verdict(handover_ms={"killed": [100.0], "rebalanced": [300.0, 200.0], "paused": [9_000.0]})
    assert verdict.summary()["handover_ms"] == {"median": 200.0, "max": 300.0}


def cut_off(plant: Callable[[World], None]) -> Verdict:
    """A checker that is cut off in the middle of the feed."""
    made = world()
    at = len(made.arrivals)
    plant(made)
    made.trades(FIRST)
    for symbol in SYMBOLS:
        made.snapshot(symbol)
    made.publish()
    checker = Checker()
    for number, one in enumerate(made.arrivals):
        if number == at:
            checker.cut()
        if one.items:
            checker.take(one.owner, one.items, one.now)
    return checker.verdict(made.sent, made.books())


def test_a_checker_that_was_cut_off_knows_that_it_may_have_missed_something() -> None:
    verdict = cut_off(lambda made: made.trades(FIRST, 3, shed=True))
    assert verdict.clean
    assert verdict.unseen == 3


def test_being_cut_off_excuses_nothing_elsewhere() -> None:
    def plant(made: World) -> None:
        made.trades(FIRST)
        made.trades(FIRST, 3, shed=True)

    assert faults(cut_off(plant)) == {"lost": 3, "gaps_unannounced": 1}


def test_bodies_are_read_as_they_are_documented() -> None:
    (item,) = decode_items(
        b'[{"feed":"book_delta","exchange":"bybit","symbol":"BTC/USDT","native_symbol":"BTCUSDT","ts_exchange":null,'
        b'"ts_received":1,"ts_normalized":2,"stream":"bybit.spot.3","epoch":1,"frame":2,"part":0,"sequence":5,'
        b'"previous_sequence":4,"bids":[["1.5","2"]],"asks":[]}]'
    )
    assert (item.product, item.identity, item.bids) == ("bybit.spot", (1, 2, 0), [("1.5", "2")])
    holding = decode_holdings(b'{"type":"holdings","member":"h:1:a","pid":1,"streams":[{"stream":"s","since_ns":5}]}')
    assert holding == Holding("h:1:a", [Held("s", 5)])
