"""What both publishers on RabbitMQ have in common: deadlines, turns, and which failure is whose."""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

from shared.bus.base import RawConsumer, checked_key
from shared.bus.deadline import Deadline
from shared.bus.rabbit.errors import EntityMissing
from shared.bus.rabbit.link import Link
from shared.bus.rabbit.topology import Topology
from shared.errors import BrokerUnavailable, PublishFailed, TopologyMismatch

__all__ = ["BodyLimit", "RabbitPublisher"]

_TOO_LARGE = re.compile(r"larger than (?:configured )?max size (?P<limit>\d+)")


class BodyLimit:
    """How large a body this broker takes, learned from its refusals: each one costs a channel, so it is asked once."""

    def __init__(self) -> None:
        self._limit: int | None = None

    def learn(self, refusal: str, bodies: Sequence[bytes]) -> None:
        """The broker refused one of these bodies, in these words."""
        found = _TOO_LARGE.search(refusal)
        limit = max(map(len, bodies), default=0) - 1 if found is None else int(found["limit"])
        self._limit = limit if self._limit is None else min(limit, self._limit)

    def check(self, exchange: str, key: str, body: bytes) -> bytes:
        """The routing key in UTF-8; raises PublishFailed(``refused``)."""
        if self._limit is not None and len(body) > self._limit:
            raise PublishFailed(
                "refused", f"body for {exchange} {key} was {len(body)} bytes, the broker takes {self._limit}"
            )
        return checked_key(exchange, key, body)


class RabbitPublisher(ABC):
    """See ``Publisher``. Its channel is opened when it is needed: first, and after it or its connection was lost.

    Without a connection every publish fails at once with BrokerUnavailable. Writing is one publish at a time, in the
    order of the calls; waiting for confirms is not.

    A session's publisher has one channel and no other after it: RabbitMQ takes what is written on one channel in its
    order, so that what it has is the beginning of what was written, whenever and however that ended.
    """

    def __init__(self, link: Link, topology: Topology, limit: BodyLimit, session: RawConsumer | None) -> None:
        self._link = link
        self._topology = topology
        self._limit = limit
        self._session = session
        self._sender = "" if session is None else session.member
        self._lock = asyncio.Lock()
        self._over: str | None = None

    @property
    def blocked(self) -> str | None:
        """Why RabbitMQ reads nothing from the publishing connection at the moment, or None."""
        return self._link.blocked

    async def publish(self, exchange: str, key: str, body: bytes, *, deadline_s: float) -> None:
        """See ``Publisher.publish``."""
        await self.publish_batch(exchange, ((key, body),), deadline_s=deadline_s)

    async def publish_batch(self, exchange: str, messages: Sequence[tuple[str, bytes]], *, deadline_s: float) -> None:
        """See ``Publisher.publish_batch``."""
        try:
            async with Deadline(deadline_s):
                await self._send(exchange, messages)
        except TimeoutError as error:
            state = f", the connection was blocked: {self.blocked}" if self.blocked else ""
            detail = f"{len(messages)} messages to {exchange} were not confirmed in {deadline_s:g} s{state}"
            raise PublishFailed("timeout", detail) from error
        except EntityMissing:
            self._topology.expire()
            raise
        except PublishFailed as error:
            if error.reason == "returned":  # the queue or its binding is gone: the next publish declares them again
                self._topology.expire()
            raise
        except TopologyMismatch as error:  # 406: over the broker's own limit of a message's size
            self._limit.learn(str(error), [body for _, body in messages])
            raise PublishFailed("refused", str(error)) from error

    @abstractmethod
    async def _send(self, exchange: str, messages: Sequence[tuple[str, bytes]]) -> None:
        """Check, write in order, wait for every confirm; raises the first failure as a BrokerError."""

    async def _ready(self) -> None:
        """In front of writing, under the lock: raises what must keep it from that."""
        self._check()
        await self._topology.ensure()

    def _unwritten(self, error: BaseException) -> None:
        """Not all of a batch was written, for whatever reason; what comes behind it in a session must not go out."""
        if self._session is not None:
            self._end(f"a batch was not written: {type(error).__name__} {error}".rstrip())

    def _check(self) -> None:
        """Raises BrokerUnavailable where a session must not write."""
        if self._over is not None:
            raise BrokerUnavailable(self._over)
        if self._session is not None:
            self._session.check()

    def _reopen(self) -> None:
        """The channel was lost; raises BrokerUnavailable where there is to be no other."""
        if self._session is not None:
            raise BrokerUnavailable("the channel that the session published on was lost")

    def _end(self, why: str) -> None:
        self._over = self._over or why
