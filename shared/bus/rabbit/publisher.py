"""The lean publisher: its own marshalling, a write per batch."""

from collections.abc import Sequence
from itertools import count

from shared.bus.base import MANDATORY, RawConsumer
from shared.bus.rabbit.confirms import ConfirmedChannel
from shared.bus.rabbit.errors import translate_errors
from shared.bus.rabbit.link import Link
from shared.bus.rabbit.publishing import BodyLimit, RabbitPublisher
from shared.bus.rabbit.topology import Topology
from shared.bus.rabbit.wire import Outgoing

__all__ = ["LeanPublisher"]


class LeanPublisher(RabbitPublisher):
    """Marshals a batch itself and writes it as a whole; what a confirm means is aiormq's."""

    def __init__(self, link: Link, topology: Topology, limit: BodyLimit, session: RawConsumer | None) -> None:
        super().__init__(link, topology, limit, session)
        self._channel: ConfirmedChannel | None = None
        self._app_id = self._sender.encode()
        self._ids = count()

    async def _send(self, exchange: str, messages: Sequence[tuple[str, bytes]]) -> None:
        outgoing = [self._outgoing(exchange, key, body) for key, body in messages]
        async with self._turn():
            channel = await self._open()
            with translate_errors(f"publish to {exchange}"):
                confirmations = await channel.write(outgoing, self._check)
        with translate_errors(f"publish to {exchange}"):
            await channel.confirmed(confirmations)

    async def _open(self) -> ConfirmedChannel:
        if self._channel is not None and self._channel.is_closed:
            self._reopen()
            self._channel = None
        if self._channel is None:
            self._channel = ConfirmedChannel(await self._link.channel(confirms=True), self._app_id)
        return self._channel

    def _outgoing(self, exchange: str, key: str, body: bytes) -> Outgoing:
        encoded = self._limit.check(exchange, key, body)
        return Outgoing(exchange, encoded, body, str(next(self._ids)) if exchange in MANDATORY else None)
