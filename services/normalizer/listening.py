"""The normalizer's ear: what ingest announces and what other normalizers own."""

import logging
from collections.abc import Callable

from services.normalizer.knowledge import Knowledge
from services.normalizer.known import is_stream
from shared.bus.base import Bus
from shared.control import Announcement, ControlMessage, Holdings, Instruments, StreamInfo, decode_control
from shared.envelope import Plane
from shared.errors import ParseError
from shared.topology import CONTROL, announcement_key, holdings_key, instruments_key

__all__ = ["Listener"]

log = logging.getLogger(__name__)


class Listener:
    """Keeps streams, peers and tables as they are told."""

    def __init__(
        self,
        bus: Bus,
        knowledge: Knowledge,
        healthy: Callable[[], None],
        changed: Callable[[list[str]], None],
        plane: Plane = "market",
    ) -> None:
        """``healthy`` is called with every announcement.

        ``changed`` is called when there is reason to decide at once, with the streams that lost their owner.
        """
        self._bus = bus
        self._known = knowledge.known
        self._peers = knowledge.peers
        self._tables = knowledge.tables
        self._healthy = healthy
        self._changed = changed
        self._plane = plane

    async def run(self) -> None:
        """Until cancelled; raises BrokerError."""
        keys = [announcement_key(), holdings_key(), instruments_key()]
        subscriber = await self._bus.subscribe(CONTROL, keys)
        try:
            while True:
                delivery = await subscriber.receive()
                try:
                    message = decode_control(delivery.body)
                except ParseError as error:
                    log.warning("a control message was not understood: %s", error)
                else:
                    self._take(message)
        finally:
            await subscriber.close()

    def _take(self, message: ControlMessage) -> None:
        match message:
            case Announcement(streams=streams):
                self._healthy()
                new = [self._announced(stream) for stream in streams if stream.plane == self._plane]
                if any(new):
                    self._changed([])
            case Holdings():
                if freed := self._peers.heard(message, self._known.streams):
                    self._changed(freed)
            case Instruments():
                self._tables.told(message)

    def _announced(self, stream: StreamInfo) -> bool:
        if not is_stream(stream):
            log.warning("%r of %r was announced: no stream of a known venue", stream.stream[:80], stream.exchange[:40])
            return False
        return self._known.announced(stream)
