"""A stage as a FastStream application on RabbitMQ: HTTP from before the broker is reached until after the drain."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from services.cli.connecting import rabbit
from services.cli.process import observed, spare_the_collector, stop_on_signals
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

    ``traffic`` is (published, consumed). With ``opened`` False it is ``main`` that enters the bus. Raises what ``main``
    raised, BrokerError when there is no broker at first, OSError when the HTTP port is taken.
    """
    from shared.bus.rabbit.application import Description, build_application, serve

    bus = rabbit(settings, name)
    spare_the_collector()
    health, failure = telemetry.health, "not connected yet"
    health.add("broker", lambda: None if bus.connected else failure)

    async def service() -> None:
        async with bus if opened else nullcontext():
            await main(bus, stop)

    async with stop_on_signals() as stop, observed(telemetry, None) as tasks:
        tasks.spawn(_watch(bus, telemetry, stop), "broker_watch")
        published, consumed = traffic
        description = Description(f"tidegate {name}", version(), text, published, consumed)
        app = build_application(bus, service, stop, description, routes(telemetry.registry, health))
        await serve(app, settings.telemetry.host, settings.telemetry.port, stop)


async def _watch(bus: "RabbitBus", telemetry: Telemetry, stop: asyncio.Event) -> None:
    """Tell of connections that come and go, and of a broker that accepts nothing."""
    events = telemetry.events
    before: dict[str, tuple[bool, str | None]] = {}
    while not stop.is_set():
        now = bus.connections
        for connection, (connected, blocked) in now.items():
            was_connected, was_blocked = before.get(connection, (False, None))
            if connected and not was_connected:
                events.broker_connected(connection)
            elif was_connected and not connected:
                events.broker_lost(connection, "the connection is gone")
            if blocked and not was_blocked:
                events.broker_blocked(connection, blocked)
            elif was_blocked and not blocked:
                events.broker_unblocked(connection)
        before = now
        await asyncio.sleep(WATCH_S)
