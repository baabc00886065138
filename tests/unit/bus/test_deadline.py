"""A deadline beside a loop that was held up."""

import asyncio
import socket
import time

import pytest

from shared.bus.deadline import Deadline
from tests.support.eventually import eventually

LIMIT_S = 0.05


def hold_the_loop() -> None:
    """What a long garbage collection or a busy machine does, for longer than the deadline."""
    end = time.monotonic() + 2 * LIMIT_S
    while time.monotonic() < end:
        pass


async def test_what_takes_too_long_times_out() -> None:
    with pytest.raises(TimeoutError):
        async with Deadline(LIMIT_S):
            await asyncio.Event().wait()


async def test_what_is_done_in_time_leaves_nothing_behind() -> None:
    async with Deadline(LIMIT_S):
        await asyncio.sleep(0)
    hold_the_loop()
    for _ in range(100):
        await asyncio.sleep(0)


async def test_what_arrived_while_the_loop_was_held_up_counts() -> None:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    steps: asyncio.Queue[bytes] = asyncio.Queue()

    async def read() -> None:
        steps.put_nowait(await reader.readexactly(7))

    reading = asyncio.create_task(read())
    await asyncio.sleep(0)
    async with Deadline(LIMIT_S):
        theirs.sendall(b"confirm")
        hold_the_loop()
        assert await steps.get() == b"confirm"
    await reading
    writer.close()
    await writer.wait_closed()
    theirs.close()


async def test_of_two_that_are_over_at_once_the_inner_one_is_first() -> None:
    ended: list[str] = []
    async with Deadline(LIMIT_S, turns=1_000):
        try:
            async with Deadline(LIMIT_S):
                hold_the_loop()
                await asyncio.Event().wait()
        except TimeoutError:
            ended.append("inner")
    assert ended == ["inner"]


async def test_cancellation_is_no_timeout() -> None:
    async def wait() -> None:
        async with Deadline(60.0):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    await eventually(task.done, "the task ended")
    assert task.cancelled()
