"""Brings the canonical feed from RabbitMQ to a checker: a durable queue, so that nobody publishes past it."""

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import aiormq

from shared.bus.rabbit.detached import detached
from shared.bus.rabbit.errors import translate_errors
from shared.errors import BrokerError
from tests.soak.checker.checker import Checker
from tests.soak.checker.wire import decode_holdings, decode_items

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from aiormq.abc import AbstractChannel, AbstractConnection, DeliveredMessage

__all__ = ["Consumer"]

MARKET_QUEUE: Final = "checker.market"
HOLDINGS_QUEUE: Final = "checker.holdings"
PREFETCH: Final = 10_000
ACK_S: Final = 0.2
RETRY_S: Final = 0.2
DEADLINE_S: Final = 5.0
HEARTBEAT_S: Final = 5


class Consumer:
    """Consumes until cancelled; tells the checker when it was cut off."""

    def __init__(self, url: str, checker: Checker) -> None:
        self._url = f"{url}?heartbeat={HEARTBEAT_S}"
        self._checker = checker
        self._newest = 0
        self._failure: Exception | None = None
        self.listening = asyncio.Event()
        self.last_ns = time.time_ns()
        """When the last message came."""

    async def run(self) -> None:
        """Connect again whenever the connection is lost; raises what went wrong with a message."""
        while True:
            with suppress(BrokerError, TimeoutError):
                await self._connected()
            if self._failure is not None:
                raise self._failure
            if self.listening.is_set():
                self._checker.cut()
                self.listening.clear()
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
        await channel.exchange_declare("market", exchange_type="topic", durable=True)
        await channel.exchange_declare("control", exchange_type="direct", durable=True)
        await channel.basic_qos(prefetch_count=PREFETCH)
        self._newest = 0
        for queue, exchange, key, take in (
            (HOLDINGS_QUEUE, "control", "holdings", self._holding),
            (MARKET_QUEUE, "market", "#", self._market),
        ):
            await channel.queue_declare(queue, durable=True)
            await channel.queue_bind(queue, exchange, routing_key=key)
            await channel.basic_consume(queue, self._taking(take))
        return channel

    async def _acknowledge(self, channel: "AbstractChannel") -> None:
        """Until the channel is closed, or a message was not understood."""
        acknowledged = 0
        while not channel.is_closed and self._failure is None:
            await asyncio.wait({channel.closing}, timeout=ACK_S)
            if self._newest > acknowledged and not channel.is_closed:
                acknowledged = self._newest
                await channel.basic_ack(acknowledged, multiple=True)

    def _taking(
        self, take: "Callable[[DeliveredMessage], None]"
    ) -> "Callable[[DeliveredMessage], Coroutine[Any, Any, None]]":
        async def taken(message: "DeliveredMessage") -> None:
            try:
                take(message)
            except Exception as error:  # noqa: BLE001 - aiormq would only log it
                self._failure = error
            self._newest = max(self._newest, getattr(message.delivery, "delivery_tag", 0))

        return taken

    def _market(self, message: "DeliveredMessage") -> None:
        self.last_ns = time.time_ns()
        owner = message.header.properties.app_id or "unknown"
        self._checker.take(owner, decode_items(message.body), self.last_ns)

    def _holding(self, message: "DeliveredMessage") -> None:
        self._checker.held(decode_holdings(message.body))


async def _close(connection: "AbstractConnection") -> None:
    with suppress(BrokerError, TimeoutError), translate_errors("close"):
        async with asyncio.timeout(DEADLINE_S):
            await detached(connection.close())
