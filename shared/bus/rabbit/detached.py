"""Broker operations that outlive whoever waits for them."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

__all__ = ["detached", "in_background"]

T = TypeVar("T")

_running: set["asyncio.Task[Any]"] = set()


async def detached(
    operation: Coroutine[Any, Any, T], late: Callable[[T], Coroutine[Any, Any, object]] | None = None
) -> T:
    """Await an operation without handing our cancellation down to it; ``late`` disposes of a result nobody waits for.

    aiormq cleans up after a cancelled request by writing to the socket, which on a frozen connection blocks, and with
    it any deadline above. Left alone, the operation ends with its answer or its connection.
    """
    task = asyncio.create_task(operation)
    _keep(task)
    try:
        await asyncio.wait((task,))
    except asyncio.CancelledError:
        task.add_done_callback(lambda done: _dispose(done, late))
        raise
    return task.result()


def in_background(operation: Coroutine[Any, Any, object]) -> None:
    """Run an operation that raises nothing and that nobody waits for, held by a strong reference until it ends."""
    _keep(asyncio.create_task(operation))


def _dispose(task: "asyncio.Task[T]", late: Callable[[T], Coroutine[Any, Any, object]] | None) -> None:
    if task.cancelled() or task.exception() is not None or late is None:
        return
    in_background(late(task.result()))


def _keep(task: "asyncio.Task[Any]") -> None:
    _running.add(task)
    task.add_done_callback(_running.discard)
