"""The instruments that this process knows, whichever stream or ingest told of them.

A stream that is taken over in mid-life is read with these until its own list has come: behind everything that waited in
its queue, which can be more than may be handed out at once, so that to wait for the list in the stream would be to wait
for ever. Without a list MEXC's contracts have no size, and pairs of rare quotes no name.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Final

from shared.bus.base import Publisher
from shared.control import Instruments, InstrumentsRequest, StreamInfo, encode_control
from shared.errors import BrokerError
from shared.instruments import InstrumentTable
from shared.topology import CONTROL, resync_key

__all__ = ["Tables"]

log = logging.getLogger(__name__)

WAIT_S: Final = 1.0
"""How long a claim waits for a list; ingest has it at hand where it runs."""
ASK_EVERY_S: Final = 0.25
DEADLINE_S: Final = 1.0

Product = tuple[str, str]


class Tables:
    """Tables by (exchange, product); asks ingest for those that are missing."""

    def __init__(self) -> None:
        self._tables: dict[Product, InstrumentTable] = {}
        self._waited: set[Product] = set()
        self._locks: dict[Product, asyncio.Lock] = {}
        self._told = asyncio.Event()

    def told(self, message: Instruments) -> None:
        """A list came."""
        table = self._tables.setdefault((message.exchange, message.product), InstrumentTable())
        table.update(message.instruments)
        self._told.set()
        self._told = asyncio.Event()

    def seed(self, exchange: str, product: str) -> InstrumentTable:
        """A table of its own for one stream, filled with what is known."""
        return InstrumentTable(self._tables.get((exchange, product), ()))

    async def ready(self, stream: StreamInfo, publisher: Publisher) -> None:
        """Until the stream's product has a table, or nobody gave one for a second; that is waited for once."""
        product = (stream.exchange, stream.product)
        async with self._locks.setdefault(product, asyncio.Lock()):
            if product in self._tables or product in self._waited:
                return
            try:
                async with asyncio.timeout(WAIT_S):
                    await self._get(product, publisher)
            except TimeoutError:
                self._waited.add(product)
                log.warning("nobody told the instruments of %s %s", *product)

    async def _get(self, product: Product, publisher: Publisher) -> None:
        while product not in self._tables:
            told = self._told
            await self._ask(product, publisher)
            with suppress(TimeoutError):
                async with asyncio.timeout(ASK_EVERY_S):
                    await told.wait()

    async def _ask(self, product: Product, publisher: Publisher) -> None:
        exchange, name = product
        body = encode_control(InstrumentsRequest(exchange, name))
        try:
            await publisher.publish(CONTROL, resync_key(exchange), body, deadline_s=DEADLINE_S)
        except BrokerError as error:
            log.debug("the request for instruments was not published: %s", error)
