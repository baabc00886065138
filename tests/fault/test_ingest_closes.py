"""Whatever ends a connection, another one follows: not too soon, and with a word about why."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from shared.envelope import Connected, Disconnected
from tests.support.eventually import eventually
from tests.support.ingesting import fast, held
from tests.support.plans import TRADES, bybit
from tests.support.venue_server import Conversation, VenueServer, acknowledge, trade

pytestmark = [pytest.mark.integration, pytest.mark.fault]

CLOSE_1001 = b"\x88\x02\x03\xe9"


async def close(one: Conversation, code: int) -> None:
    await one.close(code, "going away")


async def reset(one: Conversation, _: int) -> None:
    one.reset()


async def fin(one: Conversation, _: int) -> None:
    one.finish()


async def half_open(one: Conversation, _: int) -> None:
    one.deaf()
    await asyncio.Event().wait()


async def unfinished_frame(one: Conversation, _: int) -> None:
    one.raw(b"\x81\x7e\x10\x00{")
    await asyncio.Event().wait()


async def close_frame_only(one: Conversation, _: int) -> None:
    one.raw(CLOSE_1001)
    one.deaf()
    await asyncio.Event().wait()


ENDS: list[tuple[Callable[[Conversation, int], Awaitable[None]], int | None, str, dict[str, float]]] = [
    (close, 1000, "closed", {}),
    (close, 1001, "closed", {}),
    (close, 1008, "closed", {}),
    (close, 1011, "closed", {}),
    (close, 1012, "closed", {}),
    (close_frame_only, 1001, "closed", {"idle_timeout_s": 60.0}),
    (reset, 1006, "closed", {}),
    (fin, 1006, "closed", {}),
    (half_open, None, "stale", {}),
    (half_open, 1011, "closed", {"idle_timeout_s": 60.0, "ping_interval_s": 0.3}),
    (unfinished_frame, None, "stale", {}),
]


@pytest.mark.parametrize(("end", "code", "reason", "settings"), ENDS)
async def test_every_end_is_named_and_followed_by_another_epoch(
    end: Callable[[Conversation, int], Awaitable[None]], code: int | None, reason: str, settings: dict[str, float]
) -> None:
    async def script(one: Conversation) -> None:
        await acknowledge(one)
        for number in range(3):
            await one.send(trade(number=number))
        if one.number == 1:
            await end(one, code or 0)
        await one.until_gone()

    async with VenueServer(script) as venue, held(bybit(venue.websocket, TRADES), fast(**settings)) as stream:
        await eventually(lambda: len(stream.raw.data()) == 6, "it flows again")
        (mark,) = stream.raw.marks(Disconnected)
        assert (mark.reason, mark.code) == (reason, code)
        assert stream.count("reconnects_total", reason=reason) == 1
        assert len(venue.conversations[1].received) == 1
    stream.raw.assert_complete()
    assert [type(mark) for mark in stream.raw.marks(object)] == [Connected, Disconnected] * 2
    assert stream.raw.marks(Disconnected)[-1].reason == "stopped"


BACKOFF = {"reconnect_initial_s": 0.1, "reconnect_cap_s": 0.4}
SHORTEST = (0.05, 0.1, 0.2, 0.2, 0.2)
"""The shortest delays after the first connections: half of 100 ms, doubled until the cap."""


def assert_backed_off(times: list[float]) -> None:
    """Between connections there was what the backoff has at least."""
    gaps = [after - before for before, after in pairwise(times)]
    assert len(gaps) >= len(SHORTEST)
    assert all(gap >= shortest for gap, shortest in zip(gaps, SHORTEST, strict=False)), gaps


async def shut(one: Conversation, code: int) -> None:
    await one.close(code)


async def garbage(one: Conversation, code: int) -> None:
    await one.send("<html><body>maintenance</body></html>")
    await one.close(code)


@pytest.mark.parametrize("answer", [shut, garbage])
@pytest.mark.parametrize("code", [1000, 1013])
async def test_accept_then_close_is_answered_with_backoff(
    answer: Callable[[Conversation, int], Awaitable[None]], code: int
) -> None:
    times: list[float] = []

    async def script(one: Conversation) -> None:
        times.append(asyncio.get_running_loop().time())
        await answer(one, code)

    async with VenueServer(script) as venue, held(bybit(venue.websocket, TRADES), fast(**BACKOFF)) as stream:
        await eventually(lambda: len(times) > len(SHORTEST), "it tries again and again")
        assert all(mark.code == code for mark in stream.raw.marks(Disconnected))
        assert stream.count("reconnects_total", reason="closed") >= len(SHORTEST)
    assert_backed_off(times)


async def test_refused_handshakes_are_counted_and_answered_with_backoff() -> None:
    async def script(one: Conversation) -> None:
        await acknowledge(one)
        await one.send(trade())
        await one.until_gone()

    async with VenueServer(script) as venue:
        venue.refusals = [403, 429, 500, 502]
        async with held(bybit(venue.websocket, TRADES), fast(**BACKOFF)) as stream:
            await eventually(stream.raw.data, "it is connected in the end")
            assert venue.attempts == 5
            assert stream.count("reconnects_total", reason="connect_failed") == 4
            assert stream.raw.marks(Disconnected) == []


async def test_nobody_listens_at_first() -> None:
    async with VenueServer() as venue:
        url = venue.websocket
    async with held(bybit(url, TRADES), fast(**BACKOFF)) as stream:
        await eventually(lambda: stream.count("reconnects_total", reason="connect_failed") >= 3, "it tries again")
        assert not stream.holder.connected
    assert stream.raw.only() == []


async def test_only_data_resets_the_backoff() -> None:
    async def script(one: Conversation) -> None:
        await acknowledge(one)
        if one.number == 4:
            await one.until_gone()
        if one.number == 5:
            await one.send(trade())
        if one.number == 6:
            await one.until_gone()
        await one.close(1001)

    settings = fast(reconnect_initial_s=0.02, reconnect_cap_s=10.0, idle_timeout_s=60.0)
    async with VenueServer(script) as venue, held(bybit(venue.websocket, TRADES), settings) as stream:
        await eventually(lambda: venue.attempts == 4 and stream.holder.connected, "the fourth connection stands")
        assert stream.holder._backoff.attempts == 3
        venue.conversations[3].reset()
        await eventually(lambda: venue.attempts == 6 and stream.holder.connected, "after one that brought data")
        assert stream.holder._backoff.attempts == 1


async def test_a_frame_over_the_limit_is_counted_and_makes_no_tight_loop() -> None:
    times: list[float] = []

    async def script(one: Conversation) -> None:
        times.append(asyncio.get_running_loop().time())
        await acknowledge(one)
        await one.send(trade())
        await one.send(trade(padding=200_000))
        await one.until_gone()

    settings = fast(max_frame_bytes=100_000, **BACKOFF)
    async with VenueServer(script) as venue, held(bybit(venue.websocket, TRADES), settings) as stream:
        await eventually(lambda: len(times) > len(SHORTEST), "it tries again and again")
        mark = stream.raw.marks(Disconnected)[0]
        assert (mark.reason, mark.code) == ("too_large", 1009)
        assert "200" in str(mark.detail)
        assert stream.count("reconnects_total", reason="too_large") >= len(SHORTEST)
    assert_backed_off(times)


@pytest.mark.parametrize("size", [5_000_000, 8 * 1024 * 1024])
async def test_large_frames_arrive_whole(size: int) -> None:
    async def script(one: Conversation) -> None:
        await acknowledge(one)
        await one.send(trade(number=1, padding=size))
        await one.send(trade(number=2))
        await one.until_gone()

    async with VenueServer(script) as venue, held(bybit(venue.websocket, TRADES)) as stream:
        await eventually(lambda: len(stream.raw.data()) == 2, "both arrive")
        assert stream.raw.data()[0] == trade(number=1, padding=size).encode()
        assert venue.attempts == 1
    stream.raw.assert_complete()


async def test_fifty_reconnects_leave_nothing_behind() -> None:
    async def script(one: Conversation) -> None:
        await acknowledge(one)
        await one.send(trade(number=one.number))
        if one.number in {3, 53}:
            await one.until_gone()
        await one.close(1001)

    settings = fast(reconnect_initial_s=0.001, reconnect_cap_s=0.001, idle_timeout_s=60.0)
    async with VenueServer(script) as venue, held(bybit(venue.websocket, TRADES), settings) as stream:
        await eventually(lambda: len(stream.raw.data()) == 3, "it is warm")
        tasks = len(asyncio.all_tasks())
        venue.conversations[-1].reset()
        await eventually(lambda: len(stream.raw.data()) == 53, "there were fifty more")
        await eventually(lambda: len(asyncio.all_tasks()) <= tasks, "tasks are as many as before")
        assert venue.open == 1
        assert len(stream.raw.epochs()) == 53
    stream.raw.assert_complete()
