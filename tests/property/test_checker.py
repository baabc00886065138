"""The soak's checker over arbitrary feeds: what is clean is found clean, and one planted fault is found."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.soak.feed import SYMBOLS, TICK, Arrival, World, play


def _world(seed: int, batches: int) -> World:
    """Anything that may happen, with hand-overs, in batches; whole at the end."""
    world = World(seed)
    owners = 1
    for _ in range(batches):
        for _ in range(world.chance.randrange(1, 12)):
            world.step()
        world.publish()
        if world.chance.random() < 0.3:
            owners += 1
            world.take_over(f"host:{owners}:{owners:04x}", again=world.chance.randrange(9))
    for symbol in SYMBOLS:
        world.trades(symbol, 3)
        world.snapshot(symbol)
    world.publish()
    return world


worlds = st.builds(_world, st.integers(0, 1 << 32), st.integers(1, 12))


@given(worlds)
def test_a_clean_feed_is_clean(world: World) -> None:
    verdict = play(world)
    assert verdict.clean, verdict


def drop_a_trade(world: World) -> None:
    """Everywhere it came, in the middle of the last three of an instrument: nothing is announced between them."""
    gone = world.sent["venue.spot", SYMBOLS[0]][-2]
    for arrival in world.arrivals:
        arrival.items = [item for item in arrival.items if item.trade_id != gone]


def repeat_as_new(world: World) -> None:
    at = world.of("trade")[-1]
    item = world.arrivals[at].items[-1]
    item.trade_id = world.sent["venue.spot", item.symbol or ""][0]


def break_a_chain(world: World) -> None:
    world.delta(SYMBOLS[1])
    world.publish()
    world.arrivals[-1].items[0].previous_sequence = -5


def spoil_a_book(world: World) -> None:
    item = world.arrivals[world.of("book_snapshot")[-1]].items[0]
    item.asks[0] = (item.asks[0][0], "12345")


def turn_around(world: World) -> None:
    world.trades(SYMBOLS[0])
    world.publish()
    world.trades(SYMBOLS[0])
    world.publish()
    one, other = world.arrivals[-2:]
    one.items, other.items = other.items, one.items


def speak_after_the_end(world: World) -> None:
    world.take_over("host:99:ffff")
    world.trades(SYMBOLS[0])
    world.publish()
    last = world.arrivals[-1]
    first = next(one for one in world.arrivals if one.items)
    world.arrivals.append(Arrival(first.owner, last.now + TICK, first.items))


@pytest.mark.parametrize(
    ("plant", "kind"),
    [
        (drop_a_trade, "lost"),
        (repeat_as_new, "inversions"),
        (break_a_chain, "gaps"),
        (spoil_a_book, "books"),
        (turn_around, "inversions"),
        (speak_after_the_end, "owners"),
    ],
)
@given(world=worlds)
def test_one_planted_fault_is_found(plant: Callable[[World], None], kind: str, world: World) -> None:
    plant(world)
    verdict = play(world)
    assert getattr(verdict, kind)
    assert not verdict.clean
