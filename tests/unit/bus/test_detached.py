"""Operations that outlive their waiter."""

import asyncio

import pytest

from shared.bus.rabbit.detached import detached


async def test_result_and_error_pass_through() -> None:
    async def answer() -> int:
        return 42

    async def failing() -> int:
        raise LookupError

    assert await detached(answer()) == 42
    with pytest.raises(LookupError):
        await detached(failing())


async def test_cancelled_waiter_returns_at_once_and_the_result_is_disposed_of() -> None:
    gate, disposed = asyncio.Event(), asyncio.Event()
    got: list[str] = []

    async def operation() -> str:
        await gate.wait()
        return "channel"

    async def dispose(result: str) -> None:
        got.append(result)
        disposed.set()

    waiter = asyncio.create_task(detached(operation(), dispose))
    await asyncio.sleep(0)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert got == []
    gate.set()
    await asyncio.wait_for(disposed.wait(), 60)
    assert got == ["channel"]
