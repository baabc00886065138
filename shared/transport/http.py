"""REST requests: a session, a rate limit per venue, retries. The only module that sends HTTP requests."""

import asyncio
import os
import random
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlencode

import aiohttp
from aiolimiter import AsyncLimiter
from yarl import URL

from shared.accounts.base import Call, SignedRequest
from shared.backoff import Backoff
from shared.envelope import MAX_FRAME_BYTES, RestReply
from shared.errors import RequestFailed
from shared.exchanges.base import Limits, Request

__all__ = ["PageReader", "RestClient"]

MAX_REPLY: Final = MAX_FRAME_BYTES - 8 * 1024
"""Largest accepted reply in bytes: it has to travel in a frame, with its URL."""

RETRY_STATUSES: Final = frozenset({403, 408, 418, 429, 500, 502, 503, 504})

SLOW_DOWN_STATUSES: Final = frozenset({403, 418, 429})
"""How venues say that an address asked too much (403: Bybit; 418: Binance, where asking on makes a ban longer)."""

MAX_PAUSE_S: Final = 600.0

_NO_ANSWER: Final = (aiohttp.ClientError, OSError, ValueError)
"""ValueError: what is no URL or host."""


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
        await self._turn(request.weight)
        try:
            status, body = await self._exchange("GET", request.url, request.url)
        except _NO_ANSWER as error:
            raise RequestFailed(request.url, f"failed: {type(error).__name__}: {error}") from error
        return RestReply(request.url, status, body)

    async def send(self, call: Call, sign: Callable[[], SignedRequest]) -> RestReply:
        """As :meth:`get` for a private call; it is signed when its turn has come, so that its time is still right.

        The reply's URL is what the call says, that of a failure even less: no key, no time, no signature. A failure
        has no cause attached, whose text could show them; a redirection is not followed, for the same reason.
        """
        await self._turn(call.weight)
        request = sign()
        base = request.url.partition("?")[0]
        try:
            status, body = await self._exchange(request.method, URL(request.url, encoded=True), base, request)
        except _NO_ANSWER as error:
            raise RequestFailed(base, f"failed: {_without_text(error)}", method=request.method) from None
        return RestReply(f"{base}?{urlencode(call.parameters)}" if call.parameters else base, status, body)

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

    async def _turn(self, weight: int) -> None:
        """Wait until a request of this weight is within the limit."""
        if self._session is None:
            raise RuntimeError("the REST client was used before it was entered")
        await self._limiter.acquire(min(weight, self._weight))
        if (left := self._resume - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(left)

    async def _exchange(
        self, method: str, url: str | URL, shown: str, signed: SignedRequest | None = None
    ) -> tuple[int, bytes]:
        """Status and body; ``shown`` stands for the URL in a failure."""
        if self._session is None:
            raise RuntimeError("the REST client was used before it was entered")
        loop = asyncio.get_running_loop()
        headers, body = ({}, "") if signed is None else (signed.headers, signed.body)
        started = loop.time()
        async with self._session.request(
            method, url, headers=headers, data=body.encode() or None, allow_redirects=signed is None
        ) as response:
            content = await _read(response)
        if response.status in SLOW_DOWN_STATUSES:
            self._slow_down(response.headers.get("Retry-After", ""))
        if response.status in RETRY_STATUSES:
            raise RequestFailed(shown, f"was answered with {response.status}", response.status, method)
        if content is None:
            raise RequestFailed(shown, f"was answered with more than {MAX_REPLY} bytes", response.status, method)
        self._pauses.healthy()
        if self._observe is not None:
            self._observe(loop.time() - started)
        return response.status, content

    def _slow_down(self, retry_after: str) -> None:
        """RFC 9110 section 10.2.3; venues send seconds, not the date that it may also be."""
        now = asyncio.get_running_loop().time()
        if now < self._resume:  # asked before the pause began
            return
        asked = float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0
        self._resume = now + min(MAX_PAUSE_S, asked or self._pauses.next(random.random()))


class PageReader:
    """Pages of Tidegate's own processes (``/metrics``): one attempt each, within a deadline, of bounded length."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Open the session."""
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=self._timeout_s))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()

    async def get(self, url: str) -> bytes:
        """The body of an answer of 200; raises RequestFailed, whose ``problem`` is a few words."""
        if self._session is None:
            raise RuntimeError("the page reader was used before it was entered")
        try:
            async with self._session.get(url, allow_redirects=False) as response:
                body = await _read(response)
        except TimeoutError as error:
            raise RequestFailed(url, f"was not answered within {self._timeout_s:g} s") from error
        except aiohttp.ClientConnectorError as error:
            number = error.os_error.errno
            raise RequestFailed(url, f"failed: {os.strerror(number) if number else error.os_error}") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise RequestFailed(url, f"failed: {type(error).__name__}: {error}") from error
        if response.status != 200:
            raise RequestFailed(url, f"was answered with {response.status}", response.status)
        if body is None:
            raise RequestFailed(url, f"was answered with more than {MAX_REPLY} bytes", response.status)
        return body


def _without_text(error: Exception) -> str:
    """What went wrong, in words that hold nothing of the request."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    number = cause.errno if isinstance(cause, OSError) else None
    return f"{type(error).__name__}: {os.strerror(number)}" if number and number > 0 else type(error).__name__


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
