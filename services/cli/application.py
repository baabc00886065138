"""A stage as a FastStream application on RabbitMQ: HTTP from before the broker is reached until after the drain."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

from services.cli.broker_watch import BrokerWatch
from services.cli.connecting import rabbit
from services.cli.process import observed, spare_the_collector, stop_on_signals
from shared.backoff import Backoff
from shared.errors import BrokerUnavailable
from shared.settings import Settings
from shared.telemetry.build import version
from shared.telemetry.bundle import Telemetry
from shared.telemetry.http import routes

if TYPE_CHECKING:
    from shared.bus.rabbit import RabbitBus
    from shared.bus.rabbit.application import Traffic

__all__ = ["run_application"]

WATCH_S: Final = 0.5

Main = Callable[["RabbitBus", asyncio.Event], Coroutine[Any, Any, None]]


async def run_application(
    settings: Settings,
    telemetry: Telemetry,
    name: str,
    text: str,
    traffic: tuple[list["Traffic"], list["Traffic"]],
    main: Main,
    *,
    opened: bool = True,
) -> None:
    """Run ``main`` with an open bus until a signal, beside health, metrics and AsyncAPI of its traffic.

    A broker that is away is waited for. ``traffic`` is (published, consumed). With ``opened`` False it is ``main`` that
    enters the bus. Raises what ``main`` raised, TopologyMismatch, OSError when the HTTP port is taken.
    """
    from shared.bus.rabbit.application import Description, build_application, serve

    bus = rabbit(settings, name)
    spare_the_collector()
    health, failure = telemetry.health, "not connected"
    health.add("broker", lambda: None if bus.connected else failure)

    async def reach(stack: AsyncExitStack) -> None:
        nonlocal failure
        backoff = Backoff(0.5, 5.0)
        while True:
            try:
                await stack.enter_async_context(bus)
            except BrokerUnavailable as error:
                failure, pause_s = str(error), backoff.next(random.random())
                telemetry.events.broker_unready(failure, pause_s)
                await asyncio.sleep(pause_s)
            else:
                failure = "the connection is lost"
                return

    async def service() -> None:
        async with AsyncExitStack() as stack:
            if opened and not await _before(stop, reach(stack)):
                return
            await main(bus, stop)

    async with stop_on_signals() as stop, observed(telemetry, None) as tasks:
        tasks.spawn(_watch(bus, telemetry, stop), "broker_watch")
        published, consumed = traffic
        description = Description(f"tidegate {name}", version(), text, published, consumed)
        app = build_application(bus, service, stop, description, routes(telemetry.registry, health))
        await serve(app, settings.telemetry.host, settings.telemetry.port, stop)


async def _before(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Do it; False where ``stop`` came first, and it was given up."""
    working, stopping = asyncio.create_task(work, name="reach"), asyncio.create_task(stop.wait(), name="stop")
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            return False
        await working
        return True
    finally:
        working.cancel()
        stopping.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


async def _watch(bus: "RabbitBus", telemetry: Telemetry, stop: asyncio.Event) -> None:
    """Tell of connections that come and go, and of a broker that accepts nothing."""
    watch = BrokerWatch(telemetry.events)
    while not stop.is_set():
        watch.see(bus.connections)
        await asyncio.sleep(WATCH_S)
