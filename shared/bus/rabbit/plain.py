"""The plain publisher: aio-pika's channel and ``publish``, one task per message.

Costs many times the CPU of the lean one and depends on nothing but aio-pika's public interface.
"""

import asyncio
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Final

from aio_pika import DeliveryMode, Message

from shared.bus.base import MANDATORY, RawConsumer
from shared.bus.rabbit.errors import translate_errors
from shared.bus.rabbit.link import Link
from shared.bus.rabbit.publishing import BodyLimit, RabbitPublisher
from shared.bus.rabbit.topology import Topology
from shared.bus.rabbit.wire import CONTENT_TYPES, is_persistent
from shared.errors import BrokerError

if TYPE_CHECKING:
    from aio_pika import Channel
    from aio_pika.abc import AbstractExchange

__all__ = ["PlainPublisher"]

IN_FLIGHT: Final = 100
"""Messages of one channel that are not confirmed. What still waits for its turn when the broker closes a channel can
cost the whole connection (504 CHANNEL_ERROR), and each one is a task."""


class PlainPublisher(RabbitPublisher):
    """Writes in the order of the calls, since aio-pika's channel serves those who wait for it in their order."""

    def __init__(self, link: Link, topology: Topology, limit: BodyLimit, session: RawConsumer | None) -> None:
        super().__init__(link, topology, limit, session)
        self._channel: Channel | None = None
        self._permits = asyncio.Semaphore(IN_FLIGHT)
        self._sending: set[asyncio.Task[BrokerError | None]] = set()
        self._ids = count()

    async def _send(self, exchange: str, messages: Sequence[tuple[str, bytes]]) -> None:
        outgoing = [(key, self._message(exchange, key, body)) for key, body in messages]
        sending: list[asyncio.Task[BrokerError | None]] = []
        try:
            try:
                async with self._lock:
                    await self._ready()
                    to = await (await self._open()).get_exchange(exchange, ensure=False)
                    for key, message in outgoing:
                        await self._permits.acquire()
                        sending.append(self._start(to, key, message))
            except BaseException as error:
                self._unwritten(error)
                raise
            with translate_errors(f"publish to {exchange}"):
                failures = [failure for one in sending if (failure := await one) is not None]
        except asyncio.CancelledError:
            if self._session is not None:  # which of them were written, only the library knows
                self._end("a batch was not written")
            raise
        finally:
            for one in sending:
                one.cancel()
        if failures:
            raise failures[0]

    def _end(self, why: str) -> None:
        super()._end(why)
        for one in self._sending:
            one.cancel()

    def _start(self, exchange: "AbstractExchange", key: str, message: Message) -> "asyncio.Task[BrokerError | None]":
        task = asyncio.create_task(self._publish(exchange, key, message))
        self._sending.add(task)
        task.add_done_callback(self._sent)  # one that is cancelled at once never runs
        return task

    def _sent(self, task: "asyncio.Task[BrokerError | None]") -> None:
        self._sending.discard(task)
        self._permits.release()

    async def _publish(self, exchange: "AbstractExchange", key: str, message: Message) -> BrokerError | None:
        """Returns the failure: one that nobody waits for any more is no loose exception."""
        try:
            self._check()
            with translate_errors(f"publish to {exchange.name}"):
                await exchange.publish(message, key, mandatory=exchange.name in MANDATORY)
        except BrokerError as error:
            return error
        return None

    async def _open(self) -> "Channel":
        if self._channel is not None and self._channel.is_closed:
            self._reopen()
            self._channel = None
        if self._channel is None:
            self._channel = await self._link.pika_channel()
        return self._channel

    def _message(self, exchange: str, key: str, body: bytes) -> Message:
        persistent = is_persistent(exchange, self._limit.check(exchange, key, body))
        return Message(
            body,
            content_type=CONTENT_TYPES[exchange].decode(),
            delivery_mode=DeliveryMode.PERSISTENT if persistent else DeliveryMode.NOT_PERSISTENT,
            message_id=str(next(self._ids)),  # by it aiormq finds whose a returned message is
            app_id=self._sender or None,
        )
