"""The one place where exceptions of FastStream, aio-pika, aiormq and pamqp become ours."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Final

from aio_pika.exceptions import (
    AMQPError,
    ChannelNotFoundEntity,
    ChannelPreconditionFailed,
    DeliveryError,
    PublishError,
)
from aiormq.exceptions import ChannelAccessRefused, ChannelLockedResource
from pamqp.exceptions import PAMQPException

from shared.bus.base import StreamBusy
from shared.errors import BrokerError, BrokerUnavailable, PublishFailed, TopologyMismatch

__all__ = ["AccessRefused", "EntityMissing", "answered", "cancelled_here", "translate_errors"]

# inequivalent arg 'x-max-length' for queue 'q' in vhost '/': received the value '100' of type 'signedint' but current
# is the value '10' of type 'signedint'
_INEQUIVALENT = re.compile(
    r"inequivalent arg '(?P<argument>[^']+)' for (?P<kind>queue|exchange) '(?P<name>[^']+)' in vhost '[^']*': "
    r"received (?P<ours>.+?) but current is (?P<theirs>.+)",
    re.DOTALL,
)
_VALUE = re.compile(r"(?:the value )?'(?P<value>.*?)'(?: of type '\w+')?", re.DOTALL)

Types = type[Exception] | tuple[type[Exception], ...]


class EntityMissing(BrokerUnavailable):
    """An AMQP exchange or queue of the topology is gone: it has to be declared again."""


class AccessRefused(BrokerUnavailable):
    """The broker's user has no permission for this."""


def cancelled_here(before: int) -> bool:
    """Whether a CancelledError is a cancellation of the current task; ``before``: its ``cancelling()`` at the start.

    A dead connection rejects what waits for it with CancelledError, too, which must not end the task that waits.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > before


class Translation:
    """See :func:`translate_errors`. A class, since a generator costs several times as much, and a publish has two."""

    __slots__ = ("_before", "_doing")

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._before = 0

    def __enter__(self) -> None:
        task = asyncio.current_task()
        self._before = 0 if task is None else task.cancelling()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, BrokerError):
            return
        doing = self._doing
        if isinstance(error, asyncio.CancelledError):
            if not cancelled_here(self._before):
                raise BrokerUnavailable(f"{doing}: the connection was lost") from error
        elif isinstance(error, Exception):
            ours = next((make for types, make in _TRANSLATIONS if isinstance(error, types)), None)
            if ours is not None:
                raise ours(doing, error) from error
            if type(error) is Exception:  # what aiormq rejects with when a channel was closed without a reason
                raise BrokerUnavailable(f"{doing}: the channel was closed") from error


def translate_errors(doing: str) -> Translation:
    """Translate what the library raises in a ``with`` block; ``doing`` says what was tried, for the text.

    Deadlines go around this, not into it: TimeoutError is an OSError, which here means a lost connection.
    """
    return Translation(doing)


@asynccontextmanager
async def answered(doing: str, deadline_s: float) -> AsyncIterator[None]:
    """The same for what the broker has to answer: BrokerUnavailable when it takes longer than ``deadline_s``."""
    try:
        async with asyncio.timeout(deadline_s):
            with translate_errors(doing):
                yield
    except TimeoutError as error:
        raise BrokerUnavailable(f"{doing}: no answer in {deadline_s:g} s") from error


def _returned(doing: str, error: Exception) -> BrokerError:
    return PublishFailed("returned", f"{doing}: {error.args[0]} ({error.args[1]})")


def _refused(doing: str, error: Exception) -> BrokerError:
    return (StreamBusy if "exclusive" in str(error) else AccessRefused)(f"{doing}: {error}")


def _unavailable(doing: str, error: Exception) -> BrokerError:
    return BrokerUnavailable(f"{doing}: {str(error) or type(error).__name__}")


# The first that fits. RuntimeError: ChannelInvalidStateError, and what aiormq raises for "closed" and "not opened".
_TRANSLATIONS: Final[Sequence[tuple[Types, Callable[[str, Exception], BrokerError]]]] = (
    (PublishError, _returned),
    (DeliveryError, lambda doing, error: PublishFailed("nacked", f"{doing}: {error}")),
    (ChannelPreconditionFailed, lambda doing, error: TopologyMismatch(_mismatch(doing, str(error)))),
    (ChannelNotFoundEntity, lambda doing, error: EntityMissing(f"{doing}: {error}")),
    (ChannelAccessRefused, _refused),
    (ChannelLockedResource, lambda doing, error: StreamBusy(f"{doing}: {error}")),
    ((AMQPError, PAMQPException, OSError, RuntimeError), _unavailable),
)


def _mismatch(doing: str, text: str) -> str:
    found = _INEQUIVALENT.search(text)
    if found is None:
        return f"{doing}: {text}"
    kind = "queue" if found["kind"] == "queue" else "AMQP exchange"
    theirs, ours = _value(found["theirs"]), _value(found["ours"])
    return f"{kind} {found['name']} exists with {found['argument']} = {theirs}, ours was {ours}"


def _value(text: str) -> str:
    found = _VALUE.fullmatch(text.strip())
    return text.strip() if found is None else found["value"]
