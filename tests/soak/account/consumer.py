"""Brings the account plane's messages from RabbitMQ to a view: a quorum queue that outlives the broker."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import aiormq

from shared.accounts.messages import decode_account_messages
from shared.bus.rabbit.detached import detached
from shared.bus.rabbit.errors import translate_errors
from shared.errors import BrokerError
from tests.soak.account.view import View

if TYPE_CHECKING:
    from aiormq.abc import AbstractChannel, AbstractConnection, DeliveredMessage

__all__ = ["Consumer"]

QUEUE: Final = "checker.account"
PREFETCH: Final = 2_000
ACK_S: Final = 0.1
RETRY_S: Final = 0.2
DEADLINE_S: Final = 5.0
HEARTBEAT_S: Final = 5


class Consumer:
    """Consumes until cancelled; ``listening`` while it is connected."""

    def __init__(self, url: str, view: View) -> None:
        self._url = f"{url}?heartbeat={HEARTBEAT_S}"
        self._view = view
        self._newest = 0
        self._failure: Exception | None = None
        self.listening = asyncio.Event()

    async def run(self) -> None:
        """Connect again whenever the connection is lost; raises what went wrong with a message."""
        while True:
            with suppress(BrokerError, TimeoutError):
                await self._connected()
            self.listening.clear()
            if self._failure is not None:
                raise self._failure
            await asyncio.sleep(RETRY_S)

    async def _connected(self) -> None:
        with translate_errors("connect"):
            async with asyncio.timeout(DEADLINE_S):
                connection = await detached(aiormq.connect(self._url), _close)
        try:
            with translate_errors("consume"):
                async with asyncio.timeout(DEADLINE_S):
                    channel = await detached(self._subscribed(connection))
                self.listening.set()
                await self._acknowledge(channel)
        finally:
            await _close(connection)

    async def _subscribed(self, connection: "AbstractConnection") -> "AbstractChannel":
        channel = await connection.channel(publisher_confirms=False)
        await channel.exchange_declare("account", exchange_type="topic", durable=True)
        await channel.basic_qos(prefetch_count=PREFETCH)
        self._newest = 0
        await channel.queue_declare(QUEUE, durable=True, arguments={"x-queue-type": "quorum"})
        await channel.queue_bind(QUEUE, "account", routing_key="#")
        await channel.basic_consume(QUEUE, self._take)
        return channel

    async def _acknowledge(self, channel: "AbstractChannel") -> None:
        """Until the channel is closed, or a message was not understood."""
        acknowledged = 0
        while not channel.is_closed and self._failure is None:
            await asyncio.wait({channel.closing}, timeout=ACK_S)
            if self._newest > acknowledged and not channel.is_closed:
                acknowledged = self._newest
                await channel.basic_ack(acknowledged, multiple=True)

    async def _take(self, message: "DeliveredMessage") -> None:
        try:
            self._view.take(decode_account_messages(message.body))
        except Exception as error:  # noqa: BLE001 - aiormq would only log it
            self._failure = error
        self._newest = max(self._newest, getattr(message.delivery, "delivery_tag", 0))


async def _close(connection: "AbstractConnection") -> None:
    with suppress(BrokerError, TimeoutError), translate_errors("close"):
        async with asyncio.timeout(DEADLINE_S):
            await detached(connection.close())
