"""``/metrics``, ``/livez`` and ``/readyz`` as ASGI applications, and a server for processes that have none yet."""

import asyncio
import gzip
import json
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, MutableMapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import uvicorn
from prometheus_client import CollectorRegistry

from shared.errors import about
from shared.telemetry.exposition import CONTENT_TYPE, render

__all__ = ["AsgiApp", "Health", "routes", "serve"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

Check = Callable[[], str | None]
"""None when all is well, else what is wrong."""

GZIP_LEVEL: Final = 1
DRAIN_S: Final = 2

logger = logging.getLogger("tidegate.http")


class Health:
    """What has to be right for this process to do its work. Checks only look at state: they are called on the loop."""

    def __init__(self) -> None:
        self._checks: dict[str, Check] = {}

    def add(self, name: str, check: Check) -> None:
        """Register a check under a name that nothing else has."""
        if name in self._checks:
            raise ValueError(f"check {name!r} was registered before")
        self._checks[name] = check

    def failing(self) -> dict[str, str]:
        """What is wrong, by check. A check that raises is wrong."""
        results = {name: _outcome(check) for name, check in self._checks.items()}
        return {name: problem for name, problem in results.items() if problem is not None}

    def report(self) -> tuple[bool, bytes]:
        """Whether all is well, and the JSON body ``{"ok": …, "checks": {…}, "failing": {…}}``."""
        failing = self.failing()
        checks = {name: "failing" if name in failing else "ok" for name in self._checks}
        body = {"ok": not failing, "checks": checks, "failing": failing}
        return not failing, json.dumps(body, ensure_ascii=False).encode()


def routes(registry: CollectorRegistry, health: Health) -> list[tuple[str, AsgiApp]]:
    """The three endpoints, as ``asgi_routes`` of an AsgiFastStream or for :func:`serve`.

    ``/metrics`` in Prometheus' text format, whatever else is asked for; ``/livez`` answers as long as the loop does;
    ``/readyz`` answers 200 or 503 with the report of ``health``.
    """

    async def metrics(scope: Scope, _receive: Receive, send: Send) -> None:
        compress = "gzip" in _headers(scope).get("accept-encoding", "")
        # In a thread: rendering takes milliseconds per thousand series.
        body = await asyncio.to_thread(_render, registry, compress=compress)
        encoding = [("content-encoding", "gzip")] if compress else []
        await _answer(scope, send, 200, CONTENT_TYPE, body, *encoding)

    async def livez(scope: Scope, _receive: Receive, send: Send) -> None:
        await _answer(scope, send, 200, "application/json", b'{"ok": true}')

    async def readyz(scope: Scope, _receive: Receive, send: Send) -> None:
        ready, body = health.report()
        await _answer(scope, send, 200 if ready else 503, "application/json", body)

    return [("/metrics", metrics), ("/livez", livez), ("/readyz", readyz)]


@asynccontextmanager
async def serve(endpoints: Sequence[tuple[str, AsgiApp]], host: str, port: int) -> AsyncIterator[int]:
    """Serve the endpoints within the block; gives the port, which the system chooses for port 0.

    Raises OSError that names the address when it can't be had.
    """
    listener = await _listen(host, port)
    config = uvicorn.Config(
        _router(dict(endpoints)),
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=DRAIN_S,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]), name="http")
    chosen = listener.getsockname()[1]
    logger.info("%s", f"http_listening | host={host} | port={chosen}")
    try:
        # One that is told to exit before it is up would leave its sockets open.
        await server.up.wait()
        yield chosen
    finally:
        server.should_exit = True
        await task


class _Server(uvicorn.Server):
    """Leaves the signals to the process that it is a part of; ``up`` is set once it accepts connections."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.up.set()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


async def _listen(host: str, port: int) -> socket.socket:
    loop = asyncio.get_running_loop()
    listener = None
    try:
        family, kind, protocol, _, address = (await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM))[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
    except OSError as error:
        if listener is not None:
            listener.close()
        raise about(error, f"metrics at {host}:{port}") from error
    return listener


def _router(endpoints: dict[str, AsgiApp]) -> AsgiApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = endpoints.get(scope["path"])
        if endpoint is None:
            await _answer(scope, send, 404, "text/plain; charset=utf-8", b"not found\n")
        else:
            await endpoint(scope, receive, send)

    return app


async def _answer(
    scope: Scope, send: Send, status: int, content_type: str, body: bytes, *more: tuple[str, str]
) -> None:
    headers = (("content-type", content_type), ("cache-control", "no-store"), *more)
    if scope["method"] not in {"GET", "HEAD"}:
        status, body, headers = 405, b"", (("allow", "GET, HEAD"),)
    fields = [(name.encode(), value.encode()) for name, value in (*headers, ("content-length", str(len(body))))]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _headers(scope: Scope) -> dict[str, str]:
    """Header fields by name; those given twice joined by commas (RFC 9110 section 5.3)."""
    fields: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        fields[key] = f"{fields[key]},{value.decode('latin-1')}" if key in fields else value.decode("latin-1")
    return fields


def _render(registry: CollectorRegistry, *, compress: bool) -> bytes:
    body = render(registry)
    return gzip.compress(body, GZIP_LEVEL) if compress else body


def _outcome(check: Check) -> str | None:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a check that can't tell is a failing check
        return f"{type(error).__name__}: {error}"
