"""The instruments of one product: fetched, kept fresh, and ready to be put into streams."""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from shared.backoff import Backoff
from shared.clock import Clock
from shared.envelope import RestReply, encode_reply
from shared.errors import ParseError, RequestFailed
from shared.exchanges.base import Adapter, Endpoints, Request
from shared.instruments import Instrument
from shared.transport.http import RestClient

__all__ = ["Listing", "resolve"]

MAX_PAGES: Final = 100
"""The longest paged list (Bybit's linear products) has two."""


class Listing:
    """The newest instrument list of a product, as replies (for streams) and as instruments (for the plan)."""

    def __init__(
        self,
        adapter: Adapter,
        product: str,
        endpoints: Endpoints,
        client: RestClient,
        clock: Clock,
        failed: Callable[[RequestFailed, float], None],
    ) -> None:
        self._adapter = adapter
        self._product = product
        self._endpoints = endpoints
        self._client = client
        self._clock = clock
        self._failed = failed
        self._lock = asyncio.Lock()
        self._fetched = 0
        self.replies: Sequence[bytes] = ()
        """Encoded once for all streams."""
        self.instruments: Sequence[Instrument] = ()

    async def refresh(self, max_age_s: float) -> bool:
        """Fetch the list unless it is younger than ``max_age_s``; whether it was fetched.

        Tries until it succeeds. A reply that can't be read counts as a failure, like no reply.
        """
        async with self._lock:
            age_s = (self._clock.monotonic() - self._fetched) / 1e9
            if self.replies and age_s < max_age_s:
                return False
            backoff = Backoff(1.0, 60.0)
            while True:
                try:
                    self.replies, self.instruments = await self._fetch()
                except ParseError as error:
                    delay = backoff.next(random.random())
                    self._failed(RequestFailed(self._endpoints.rest, f"gave no usable instrument list: {error}"), delay)
                    await asyncio.sleep(delay)
                    continue
                self._fetched = self._clock.monotonic()
                return True

    async def _fetch(self) -> tuple[list[bytes], list[Instrument]]:
        replies: list[bytes] = []
        instruments: list[Instrument] = []
        for first in self._adapter.instrument_requests(self._product, self._endpoints):
            request: Request | None = first
            pages = 0
            while request is not None:
                pages += 1
                if pages > MAX_PAGES:
                    raise ParseError("too_large", f"the instrument list had more than {MAX_PAGES} pages")
                reply = await self._client.get_until(request, Backoff(1.0, 60.0), self._failed)
                # In a thread: a list of 3,500 instruments takes some 40 ms, one of 20,000 up to 350.
                page = await asyncio.to_thread(self._read, request, reply)
                instruments += page.instruments
                replies.append(page.encoded)
                request = page.following
        if not instruments:
            raise ParseError("missing_field", "the instrument list was empty")
        return replies, instruments

    def _read(self, request: Request, reply: RestReply) -> "_Page":
        return _Page(
            self._adapter.instruments(self._product, reply.body),
            encode_reply(reply),
            self._adapter.next_page(self._product, request, reply.body),
        )


class _Page(NamedTuple):
    """One page of a list: what it says, as a frame, and what to ask for next."""

    instruments: Sequence[Instrument]
    encoded: bytes
    following: Request | None


def resolve(
    symbols: Sequence[str], instruments: Sequence[Instrument]
) -> tuple[list[Instrument], list[tuple[str, str]]]:
    """The instruments that are meant by unified or native symbols, and ``(symbol, problem)`` for those that are none.

    ``*`` means every active instrument of the product.
    """
    if "*" in symbols:
        return [instrument for instrument in instruments if instrument.active], []
    by_name = {instrument.native_symbol: instrument for instrument in instruments}
    by_name.update({instrument.symbol: instrument for instrument in instruments})
    found: dict[str, Instrument] = {}
    problems = []
    for symbol in symbols:
        instrument = by_name.get(symbol)
        if instrument is None:
            problems.append((symbol, "is not listed"))
        elif not instrument.active:
            problems.append((symbol, "is listed but not trading"))
        else:
            found[instrument.native_symbol] = instrument
    return list(found.values()), problems
