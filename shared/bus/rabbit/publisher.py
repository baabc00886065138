"""The lean publisher: its own marshalling, a write per batch, confirms by the short way."""

from collections.abc import Sequence

from shared.bus.base import MANDATORY, RawConsumer
from shared.bus.rabbit.confirms import ConfirmedChannel
from shared.bus.rabbit.errors import translate_errors
from shared.bus.rabbit.link import Link
from shared.bus.rabbit.publishing import BodyLimit, RabbitPublisher
from shared.bus.rabbit.topology import Topology
from shared.bus.rabbit.wire import Outgoing

__all__ = ["LeanPublisher"]


class LeanPublisher(RabbitPublisher):
    """Marshals a batch itself, writes it as a whole and counts its confirms."""

    def __init__(self, link: Link, topology: Topology, limit: BodyLimit, session: RawConsumer | None) -> None:
        super().__init__(link, topology, limit, session)
        self._channel: ConfirmedChannel | None = None
        self._app_id = self._sender.encode()

    async def _send(self, exchange: str, messages: Sequence[tuple[str, bytes]]) -> None:
        outgoing = [self._outgoing(exchange, key, body) for key, body in messages]
        doing = f"publish to {exchange}"
        try:
            async with self._lock:
                await self._ready()
                channel = await self._open()
                with translate_errors(doing):
                    confirmations = await channel.write(outgoing, self._check)
        except BaseException as error:
            self._unwritten(error)
            raise
        with translate_errors(doing):
            await channel.confirmed(confirmations)

    async def _open(self) -> ConfirmedChannel:
        if self._channel is not None and self._channel.is_closed:
            self._reopen()
            self._channel = None
        if self._channel is None:
            channel = await self._link.channel(confirms=True)
            self._channel = ConfirmedChannel(channel, self._link.lane(channel), self._app_id)
        return self._channel

    def _outgoing(self, exchange: str, key: str, body: bytes) -> Outgoing:
        encoded = self._limit.check(exchange, key, body)
        return Outgoing(exchange, encoded, body, exchange in MANDATORY)
