"""FastStream's ASGI application around a service, served in the service's own loop."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from faststream.asgi import AsgiFastStream, AsyncAPIRoute

from shared.bus.rabbit.asyncapi import Description, ServiceSpecification, Traffic, document
from shared.errors import about

if TYPE_CHECKING:
    from faststream.asgi.types import ASGIApp

    from shared.bus.rabbit.bus import RabbitBus
    from shared.bus.rabbit.link import LinkBroker

__all__ = ["Description", "ServiceApplication", "Traffic", "build_application", "serve"]

ASYNCAPI_PATH: Final = "/asyncapi"
GRACE_S: Final = 2
"""How long requests that are being answered may hold up the end."""


class ServiceApplication(AsgiFastStream):
    """The HTTP side of a service (health, metrics, AsyncAPI) and, as its lifespan, the service itself.

    ``main`` starts when the application does and is the service: it opens the bus, runs until ``stop`` is set, drains
    and returns. When it returns or fails for any other reason, ``stop`` is set, too. HTTP answers from before ``main``
    has a broker until after it has drained.
    """

    def __init__(
        self,
        main: Callable[[], Coroutine[Any, Any, None]],
        stop: asyncio.Event,
        *brokers: "LinkBroker",
        **options: Any,  # noqa: ANN401 - FastStream's own
    ) -> None:
        self.stop_requested = stop
        self.task: asyncio.Task[None] | None = None
        self._main = main
        super().__init__(*brokers, lifespan=self._run_main, on_shutdown=[self._drain], logger=None, **options)

    @contextlib.asynccontextmanager
    async def _run_main(self) -> AsyncIterator[None]:
        self.task = asyncio.create_task(self._main(), name="main")
        self.task.add_done_callback(lambda _: self.stop_requested.set())
        try:
            yield
        finally:
            await self._drain()

    async def _drain(self) -> None:
        self.stop_requested.set()
        if self.task is not None:
            await asyncio.wait((self.task,))


def build_application(
    bus: "RabbitBus",
    main: Callable[[], Coroutine[Any, Any, None]],
    stop: asyncio.Event,
    description: Description,
    routes: Sequence[tuple[str, "ASGIApp"]] = (),
) -> ServiceApplication:
    """The application of a service; see ``ServiceApplication`` for ``main`` and ``stop``. Once per bus.

    ``routes`` are the caller's ASGI applications by exact path. The AsyncAPI document is at ``/asyncapi`` (a page that
    takes its scripts from the internet) and ``/asyncapi.json``.
    """
    document(*bus.brokers, description)
    specification = ServiceSpecification(
        title=description.title, version=description.version, description=description.text
    )
    return ServiceApplication(
        main,
        stop,
        *bus.brokers,
        asgi_routes=routes,
        specification=specification,
        asyncapi_path=AsyncAPIRoute(ASYNCAPI_PATH, try_it_out_path=None),
    )


async def serve(
    app: ServiceApplication,
    host: str,
    port: int,
    stop: asyncio.Event,
    *,
    on_listening: Callable[[int], None] | None = None,
) -> None:
    """Serve until ``stop`` is set and the service has drained; raises what ended the service, if anything did.

    ``stop`` is to be the event that the application was built with; whoever handles signals sets it. Port 0 is any
    free one, ``on_listening`` gets the port. Raises OSError that names it where it is taken.
    """
    with _listening(host, port) as listener:
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=GRACE_S, ws="none"
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]), name="http")
        stopping = asyncio.create_task(stop.wait(), name="stop")
        try:
            if on_listening is not None:
                on_listening(listener.getsockname()[1])
            await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
            if app.task is not None:
                await asyncio.wait((app.task,))
        finally:
            stop.set()
            stopping.cancel()
            server.should_exit = True
            await asyncio.wait((serving,))
    if app.task is not None:
        app.task.result()
    serving.result()


class _Server(uvicorn.Server):
    """Leaves signals to the service."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    # uvicorn would end the process where the port is taken.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise about(error, f"metrics at {host}:{port}") from error
    with listener:
        yield listener
