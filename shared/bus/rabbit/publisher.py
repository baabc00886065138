"""The lean publisher: its own marshalling, a write per batch."""

import asyncio
from collections.abc import Sequence
from itertools import count

from shared.bus.base import MANDATORY, checked_key
from shared.bus.rabbit.confirms import ConfirmedChannel
from shared.bus.rabbit.errors import translate_errors
from shared.bus.rabbit.link import Link
from shared.bus.rabbit.publishing import RabbitPublisher
from shared.bus.rabbit.topology import Topology
from shared.bus.rabbit.wire import Outgoing

__all__ = ["LeanPublisher"]


class LeanPublisher(RabbitPublisher):
    """Marshals a batch itself and writes it as a whole; what a confirm means is aiormq's."""

    def __init__(self, link: Link, topology: Topology) -> None:
        super().__init__(link, topology)
        self._channel: ConfirmedChannel | None = None
        self._turn = asyncio.Lock()
        self._ids = count()

    async def _send(self, exchange: str, messages: Sequence[tuple[str, bytes]]) -> None:
        outgoing = [self._outgoing(exchange, key, body) for key, body in messages]
        async with self._turn:
            channel = await self._open()
            with translate_errors(f"publish to {exchange}"):
                confirmations = await channel.write(outgoing)
        with translate_errors(f"publish to {exchange}"):
            await channel.confirmed(confirmations)

    async def _open(self) -> ConfirmedChannel:
        if self._channel is None or self._channel.is_closed:
            await self._topology.ensure()
            self._channel = ConfirmedChannel(await self._link.channel(confirms=True))
        return self._channel

    def _outgoing(self, exchange: str, key: str, body: bytes) -> Outgoing:
        encoded = checked_key(exchange, key, body)
        return Outgoing(exchange, encoded, body, str(next(self._ids)) if exchange in MANDATORY else None)
