"""The plain publisher: aio-pika's channel and ``publish``, one task per message.

Costs many times the CPU of the lean one and depends on nothing but aio-pika's public interface.
"""

import asyncio
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Final

from aio_pika import DeliveryMode, Message

from shared.bus.base import MANDATORY, checked_key
from shared.bus.rabbit.errors import translate_errors
from shared.bus.rabbit.link import Link
from shared.bus.rabbit.publishing import RabbitPublisher
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

    def __init__(self, link: Link, topology: Topology) -> None:
        super().__init__(link, topology)
        self._channel: Channel | None = None
        self._turn = asyncio.Lock()
        self._permits = asyncio.Semaphore(IN_FLIGHT)
        self._ids = count()

    async def _send(self, exchange: str, messages: Sequence[tuple[str, bytes]]) -> None:
        outgoing = [(key, self._message(exchange, key, body)) for key, body in messages]
        sending: list[asyncio.Task[BrokerError | None]] = []
        try:
            async with self._turn:
                to = await (await self._open()).get_exchange(exchange, ensure=False)
                for key, message in outgoing:
                    await self._permits.acquire()
                    sending.append(self._start(to, key, message))
            failures = [failure for one in sending if (failure := await one) is not None]
        finally:
            for one in sending:
                one.cancel()
        if failures:
            raise failures[0]

    def _start(self, exchange: "AbstractExchange", key: str, message: Message) -> "asyncio.Task[BrokerError | None]":
        task = asyncio.create_task(_publish(exchange, key, message))
        task.add_done_callback(lambda _: self._permits.release())  # one that is cancelled at once never runs
        return task

    async def _open(self) -> "Channel":
        if self._channel is None or self._channel.is_closed:
            await self._topology.ensure()
            self._channel = await self._link.pika_channel()
        return self._channel

    def _message(self, exchange: str, key: str, body: bytes) -> Message:
        persistent = is_persistent(exchange, checked_key(exchange, key, body))
        return Message(
            body,
            content_type=CONTENT_TYPES[exchange].decode(),
            delivery_mode=DeliveryMode.PERSISTENT if persistent else DeliveryMode.NOT_PERSISTENT,
            message_id=str(next(self._ids)),  # by it aiormq finds whose a returned message is
        )


async def _publish(exchange: "AbstractExchange", key: str, message: Message) -> BrokerError | None:
    """Returns the failure: one that nobody waits for any more is no loose exception."""
    try:
        with translate_errors(f"publish to {exchange.name}"):
            await exchange.publish(message, key, mandatory=exchange.name in MANDATORY)
    except BrokerError as error:
        return error
    return None
