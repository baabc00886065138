"""Ingest's side of the control traffic."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from shared.bus.base import Bus, Subscriber
from shared.control import (
    Announcement,
    Instruments,
    InstrumentsRequest,
    ResyncRequest,
    StreamInfo,
    decode_control,
    encode_control,
)
from shared.errors import BrokerError, ParseError
from shared.instruments import Instrument
from shared.topology import CONTROL, announcement_key, instruments_key, resync_key

__all__ = ["Announcer", "Lister", "ResyncListener", "Resyncable"]

log = logging.getLogger(__name__)

CONTROL_DEADLINE_S: Final = 2.0
RETRY_S: Final = 1.0
LIST_SPACING_S: Final = 0.2
FIRST_S: Final = 0.1
"""How soon the first streams are announced once there are any."""


class Resyncable(Protocol):
    """Who can be asked for a resync."""

    def resync(self, feed: str, native_symbol: str | None) -> None:
        """Make the venue send what restores this feed."""
        ...


class Announcer:
    """Tells normalizers, again and again, which streams there are by then."""

    def __init__(self, name: str, streams: Callable[[], Sequence[StreamInfo]], bus: Bus) -> None:
        self._name = name
        self._streams = streams
        self._bus = bus

    async def run(self, interval_s: float) -> None:
        """Until cancelled. A broker that is away for now is no reason to stop."""
        publisher = await self._bus.publisher()
        while True:
            streams = list(self._streams())
            try:
                if streams:
                    body = encode_control(Announcement(self._name, streams))
                    await publisher.publish(CONTROL, announcement_key(), body, deadline_s=CONTROL_DEADLINE_S)
            except BrokerError as error:
                log.debug("announcement was not published: %s", error)
            await asyncio.sleep(interval_s if streams else min(interval_s, FIRST_S))


class Lister:
    """Tells normalizers the instruments of a product: when there is a new list, and when one of them asks.

    Who asks while the list is on its way gets that one.
    """

    def __init__(self, exchange: str, bus: Bus) -> None:
        self._exchange = exchange
        self._bus = bus
        self._products: dict[str, Callable[[], Sequence[Instrument]]] = {}
        self._wanted: dict[str, None] = {}
        self._wake = asyncio.Event()

    def add(self, product: str, instruments: Callable[[], Sequence[Instrument]]) -> None:
        """There is a list of this product."""
        self._products[product] = instruments
        self.tell(product)

    def tell(self, product: str) -> None:
        """Somebody wants it, or it is new; a product without a list (yet) is nothing."""
        if product in self._products:
            self._wanted[product] = None
            self._wake.set()

    async def run(self) -> None:
        """Until cancelled. A broker that is away for now is no reason to stop: who wants a list asks again."""
        publisher = await self._bus.publisher()
        while True:
            await self._wake.wait()
            self._wake.clear()
            wanted, self._wanted = self._wanted, {}
            for product in wanted:
                body = encode_control(Instruments(self._exchange, product, list(self._products[product]())))
                try:
                    await publisher.publish(CONTROL, instruments_key(), body, deadline_s=CONTROL_DEADLINE_S)
                except BrokerError as error:
                    log.debug("an instrument list was not published: %s", error)
            await asyncio.sleep(LIST_SPACING_S)


class ResyncListener:
    """Takes normalizers' requests to the stream that they concern, or to ``lister`` where there is one."""

    def __init__(
        self, exchange: str, streams: Mapping[str, Resyncable], bus: Bus, lister: Lister | None = None
    ) -> None:
        self._exchange = exchange
        self._streams = streams
        self._lister = lister
        self._bus = bus

    async def run(self) -> None:
        """Until cancelled. A broker that is away for now is no reason to stop."""
        while True:
            try:
                subscriber = await self._bus.subscribe(CONTROL, [resync_key(self._exchange)])
                try:
                    await self._listen(subscriber)
                finally:
                    await subscriber.close()
            except BrokerError as error:
                log.warning("resync requests cannot be received: %s", error)
            await asyncio.sleep(RETRY_S)

    async def _listen(self, subscriber: Subscriber) -> None:
        while True:
            delivery = await subscriber.receive()
            try:
                request = decode_control(delivery.body)
            except ParseError as error:
                log.warning("a control message was not understood: %s", error)
                continue
            if isinstance(request, InstrumentsRequest) and self._lister is not None:
                self._lister.tell(request.product)
            elif isinstance(request, ResyncRequest) and request.stream in self._streams:
                self._streams[request.stream].resync(request.feed, request.native_symbol)
