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

RETRY_STATUSES: Final = frozenset({403, 418, 429, 500, 502, 503, 504})


class RestClient:
    """REST of one venue within its weight limit (a leaky bucket over ``rest_interval_s``)."""

    def __init__(
        self, limits: Limits, *, timeout_s: float = 15.0, observe: Callable[[float], None] | None = None
    ) -> None:
        self._limiter = AsyncLimiter(limits.rest_weight, limits.rest_interval_s)
        self._weight = limits.rest_weight
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._observe = observe
        self._session: aiohttp.ClientSession | None = None

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
        await self._limiter.acquire(min(request.weight, self._weight))
        started = asyncio.get_running_loop().time()
        try:
            async with self._session.get(request.url) as response:
                body = await response.content.read(MAX_REPLY + 1)
                while not response.content.at_eof() and len(body) <= MAX_REPLY:
                    body += await response.content.read(MAX_REPLY + 1 - len(body))
                if len(body) > MAX_REPLY:
                    raise RequestFailed(request.url, f"was answered with more than {MAX_REPLY} bytes")
                if response.status in RETRY_STATUSES:
                    raise RequestFailed(request.url, f"was answered with {response.status}", response.status)
                if self._observe is not None:
                    self._observe(asyncio.get_running_loop().time() - started)
                return RestReply(request.url, response.status, body)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise RequestFailed(request.url, f"failed: {type(error).__name__}: {error}") from error

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
