"""REST requests: a session, a rate limit per venue, retries. The only module that sends HTTP requests."""

import asyncio
import random
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

import aiohttp
from aiolimiter import AsyncLimiter

from shared.backoff import Backoff
from shared.envelope import RestReply
from shared.errors import RequestFailed
from shared.exchanges.base import Limits, Request

__all__ = ["RestClient"]

MAX_REPLY: Final = 64 * 1024 * 1024
"""Largest accepted reply in bytes; the longest instrument lists have about 15 MB."""

RETRY_STATUSES: Final = frozenset({403, 408, 418, 429, 500, 502, 503, 504})

SLOW_DOWN_STATUSES: Final = frozenset({403, 418, 429})
"""How venues say that an address asked too much (403: Bybit; 418: Binance, where asking on makes a ban longer)."""

MAX_PAUSE_S: Final = 600.0


class RestClient:
    """REST of one venue within its weight limit (a leaky bucket over ``rest_interval_s``).

    An answer that says to slow down holds back every request of this client, for as long as ``Retry-After`` tells or,
    without that, for a time that grows until one is answered again.
    """

    def __init__(
        self, limits: Limits, *, timeout_s: float = 15.0, observe: Callable[[float], None] | None = None
    ) -> None:
        self._limiter = AsyncLimiter(limits.rest_weight, limits.rest_interval_s)
        self._weight = limits.rest_weight
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._observe = observe
        self._session: aiohttp.ClientSession | None = None
        self._pauses = Backoff(1.0, 60.0)
        self._resume = 0.0

    async def __aenter__(self) -> Self:
        """Open the session."""
        self._session = aiohttp.ClientSession(timeout=self._timeout, auto_decompress=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()

    async def get(self, request: Request) -> RestReply:
        """One attempt; raises RequestFailed when there is no answer, or one that asks to come back later.

        Any other status is a reply like any: the parser judges it.
        """
        if self._session is None:
            raise RuntimeError("the REST client was used before it was entered")
        loop = asyncio.get_running_loop()
        await self._limiter.acquire(min(request.weight, self._weight))
        if (left := self._resume - loop.time()) > 0:
            await asyncio.sleep(left)
        started = loop.time()
        try:
            async with self._session.get(request.url) as response:
                body = await _read(response)
        except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: what is no URL or host
            raise RequestFailed(request.url, f"failed: {type(error).__name__}: {error}") from error
        if response.status in SLOW_DOWN_STATUSES:
            self._slow_down(response.headers.get("Retry-After", ""))
        if response.status in RETRY_STATUSES:
            raise RequestFailed(request.url, f"was answered with {response.status}", response.status)
        if body is None:
            raise RequestFailed(request.url, f"was answered with more than {MAX_REPLY} bytes", response.status)
        self._pauses.healthy()
        if self._observe is not None:
            self._observe(loop.time() - started)
        return RestReply(request.url, response.status, body)

    async def get_until(
        self, request: Request, backoff: Backoff, failed: Callable[[RequestFailed, float], None]
    ) -> RestReply:
        """Try until there is a reply; ``failed`` is told of each failure and the delay (s) that follows."""
        while True:
            try:
                reply = await self.get(request)
            except RequestFailed as error:
                delay = backoff.next(random.random())
                failed(error, delay)
                await asyncio.sleep(delay)
            else:
                backoff.healthy()
                return reply

    def _slow_down(self, retry_after: str) -> None:
        """RFC 9110 section 10.2.3; venues send seconds, not the date that it may also be."""
        now = asyncio.get_running_loop().time()
        if now < self._resume:  # asked before the pause began
            return
        asked = float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0
        self._resume = now + min(MAX_PAUSE_S, asked or self._pauses.next(random.random()))


async def _read(response: aiohttp.ClientResponse) -> bytes | None:
    """The body, None where it is too long."""
    chunks = []
    size = 0
    async for chunk in response.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_REPLY:
            return None
    return b"".join(chunks)
