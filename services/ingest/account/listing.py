"""The instrument lists of an account's products: a normalizer can't do without them, so they go into the stream."""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from shared.accounts.base import AccountAdapter, AccountPlan
from shared.backoff import Backoff
from shared.clock import Clock
from shared.envelope import MAX_FRAME_BYTES, encode_reply
from shared.errors import ParseError, RequestFailed
from shared.instruments import Instrument
from shared.transport.http import RestClient

if TYPE_CHECKING:
    from shared.exchanges.base import Request

__all__ = ["AccountListing"]

MAX_PAGES: Final = 100


class AccountListing:
    """The newest lists of one plan's products, as replies (for the stream) and as instruments (for symbols)."""

    def __init__(
        self,
        adapter: AccountAdapter,
        plan: AccountPlan,
        client: RestClient,
        clock: Clock,
        failed: Callable[[RequestFailed], None],
    ) -> None:
        self._adapter = adapter
        self._plan = plan
        self._client = client
        self._clock = clock
        self._failed = failed
        self._lock = asyncio.Lock()
        self._fetched = 0
        self.replies: Sequence[bytes] = ()
        """Encoded."""
        self.instruments: Sequence[Instrument] = ()

    async def refresh(self, max_age_s: float) -> None:
        """Fetch the lists unless they are younger; tries until it succeeds."""
        async with self._lock:
            if self.replies and (self._clock.monotonic() - self._fetched) / 1e9 < max_age_s:
                return
            backoff = Backoff(1.0, 60.0)
            while True:
                try:
                    self.replies, self.instruments = await self._fetch()
                except (ParseError, RequestFailed) as error:
                    self._failed(_as_failure(error, self._plan))
                    await asyncio.sleep(backoff.next(random.random()))
                else:
                    self._fetched = self._clock.monotonic()
                    return

    def native(self, symbols: Sequence[str]) -> dict[str, str]:
        """Native symbols by those (unified or native) that the lists know; what no longer trades may still be held."""
        names = {instrument.native_symbol: instrument.native_symbol for instrument in self.instruments}
        names.update({instrument.symbol: instrument.native_symbol for instrument in self.instruments})
        return {symbol: names[symbol] for symbol in symbols if symbol in names}

    async def _fetch(self) -> tuple[list[bytes], list[Instrument]]:
        replies: list[bytes] = []
        instruments: list[Instrument] = []
        for first in self._adapter.instrument_requests(self._plan):
            request: Request | None = first
            pages = 0
            while request is not None:
                pages += 1
                if pages > MAX_PAGES:
                    raise ParseError("too_large", f"the instrument list had more than {MAX_PAGES} pages")
                reply = await self._client.get(request)
                instruments += self._adapter.instruments(self._plan, reply)
                replies.append(encode_reply(reply))
                if len(replies[-1]) > MAX_FRAME_BYTES:
                    raise ParseError("too_large", f"an instrument list had {len(replies[-1])} bytes")
                request = self._adapter.next_instruments(self._plan, request, reply)
        return replies, instruments


def _as_failure(error: ParseError | RequestFailed, plan: AccountPlan) -> RequestFailed:
    if isinstance(error, RequestFailed):
        return error
    return RequestFailed(plan.endpoints.rest, f"gave no usable instrument list: {error}")
