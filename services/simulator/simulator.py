"""The simulator as an object: start it, connect to it, make it misbehave."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from services.simulator.account_control import AccountControl
from services.simulator.accounts.desk import Desk
from services.simulator.catalogue import VENUES
from services.simulator.control import Control
from services.simulator.engine import Market
from services.simulator.faults import Fault, FaultError
from services.simulator.hub import Hub, VenueKey
from services.simulator.misbehave import misbehave
from services.simulator.player import Player, RecordedFrame
from services.simulator.server import Server
from services.simulator.settings import SimulatorSettings
from services.simulator.venues.base import Venue
from services.simulator.venues.bybit import Bybit
from services.simulator.venues.registry import make_venue

__all__ = ["Simulator", "run"]

TICK_S = 0.01
NANOSECONDS = 1_000_000_000
MOST_BURST_FACTOR = 10_000.0


class Simulator:
    """``async with Simulator(settings) as sim``: an exchange on ``sim.port``.

    ``clock`` gives the time of the markets and of the venues' deadlines in ns since 1970.
    """

    def __init__(self, settings: SimulatorSettings | None = None, clock: Callable[[], int] = time.time_ns) -> None:
        self.settings = settings or SimulatorSettings()
        self.clock = clock
        self.port = 0
        self.overruns = 0
        self.hub = Hub(_venues(self.settings, clock()), self.settings, clock)
        self.server = Server(self.hub, self.settings)
        self._runner: web.AppRunner | None = None
        self._loop: asyncio.Task[None] | None = None
        self._next_burst_ns = 0

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen and let the markets move."""
        application = web.Application()
        Control(self).add_routes(application)
        AccountControl(self.hub.desk).add_routes(application)
        application.router.add_route("*", "/{exchange}/{product}/{path:.*}", self.server.handle)
        self._runner = web.AppRunner(application, access_log=None, handle_signals=False, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.settings.host, self.settings.port)
        await site.start()
        self.port = int(self._runner.addresses[0][1])
        self._schedule_burst()
        self._loop = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Reset what is connected and stop listening."""
        failed: Sequence[BaseException | None] = ()
        if self._loop is not None:
            self._loop.cancel()
            failed = await asyncio.gather(self._loop, return_exceptions=True)
        for connection in [*self.hub.connections.values()]:
            connection.abort("stopped")
        await self.hub.settle()
        if self._runner is not None:
            await self._runner.cleanup()
        for error in failed:
            if isinstance(error, Exception):
                raise error

    async def serve(self, stop: asyncio.Event) -> None:
        """Until told to stop, or until the markets fail (:meth:`stop` raises what happened)."""
        waiting = asyncio.get_running_loop().create_task(stop.wait())
        running = [waiting] if self._loop is None else [waiting, self._loop]
        try:
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()

    def websocket_base(self, exchange: str, product: str) -> str:
        """What stands in for the venue's WebSocket host."""
        return f"ws://{self.settings.host}:{self.port}/{exchange}/{product}"

    def rest_base(self, exchange: str, product: str) -> str:
        """What stands in for the venue's REST host."""
        return f"http://{self.settings.host}:{self.port}/{exchange}/{product}"

    @property
    def control_base(self) -> str:
        """Where the control API is."""
        return f"http://{self.settings.host}:{self.port}/control"

    @property
    def desk(self) -> Desk:
        """The accounts."""
        return self.hub.desk

    def inject(self, fault: Fault | dict[str, Any]) -> int:
        """Ask for a fault; how many connections or topics it struck at once (0: it waits). Or FaultError."""
        return misbehave(self.hub, self.server, fault if isinstance(fault, Fault) else Fault.from_json(fault))

    def market(self, exchange: str, product: str, native_symbol: str) -> Market:
        """A market; KeyError where there is none."""
        return self.hub.venues[exchange, product].markets[native_symbol]

    def book(self, exchange: str, product: str, native_symbol: str, depth: int = 50) -> dict[str, Any]:
        """The engine's own book in the venue's text forms; KeyError where there is no such instrument."""
        market = self.market(exchange, product, native_symbol)
        instrument, book = market.instrument, market.book
        return {
            "symbol": native_symbol,
            "sequence": book.update_id,
            "bids": [[instrument.price(tick), instrument.size(lots)] for tick, lots in book.top_bids(depth)],
            "asks": [[instrument.price(tick), instrument.size(lots)] for tick, lots in book.top_asks(depth)],
        }

    async def pause(self, *, quiet: bool = True) -> None:
        """Markets stand still; returns when subscribers have got the last changes.

        ``quiet`` stops what venues repeat by the clock as well, so that no data frame follows.
        """
        self.hub.pause(quiet=quiet)
        await self.hub.at_rest.wait()

    def resume(self) -> None:
        """Markets move again."""
        self.hub.resume()

    def burst(self, factor: float, seconds: float, exchange: str = "", product: str = "", symbol: str = "") -> int:
        """Multiply the rate for a while, with liquidation cascades; how many markets (empty names: all)."""
        if not 0 < factor <= MOST_BURST_FACTOR or not 0 <= seconds <= 86_400:
            raise FaultError(f"factor must be in (0, {MOST_BURST_FACTOR:.0f}] and seconds in [0, 86400]")
        until_ns = self.clock() + int(seconds * NANOSECONDS)
        chosen = [
            market
            for market in self.hub.markets()
            if exchange in ("", market.instrument.exchange)
            and product in ("", market.instrument.product)
            and symbol in ("", market.instrument.native_symbol)
        ]
        for market in chosen:
            market.burst(factor, until_ns)
        return len(chosen)

    def play(self, exchange: str, product: str, frames: Iterable[RecordedFrame], speed: float = 1.0) -> None:
        """Serve a recording to subscribers of a product instead of the engine; KeyError where there is none."""
        if (exchange, product) not in self.hub.venues:
            raise KeyError(f"{exchange} {product}")
        self.server.players[exchange, product] = Player(frames, speed)

    def _schedule_burst(self) -> None:
        self._next_burst_ns = self.clock() + int(self.settings.burst_every * NANOSECONDS)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            if self.settings.burst_every and self.clock() >= self._next_burst_ns:
                self._schedule_burst()
                self.burst(self.settings.burst, self.settings.burst_for)
            await self.hub.tick()
            due += TICK_S
            delay = due - loop.time()
            if delay < 0:
                self.overruns += 1
                due = loop.time()
            await asyncio.sleep(max(0.0, delay))


def _venues(settings: SimulatorSettings, now_ns: int) -> dict[VenueKey, Venue]:
    venues: dict[VenueKey, Venue] = {}
    for exchange, product in VENUES:
        if exchange not in settings.exchanges:
            continue
        markets = {
            one.native_symbol: Market(one, settings.seed, now_ns, settings.rate)
            for one in settings.instruments
            if (one.exchange, one.product) == (exchange, product)
        }
        if markets:
            venues[exchange, product] = make_venue(exchange, product, markets, settings)
    categories = {venue.product: venue.markets for venue in venues.values() if isinstance(venue, Bybit)}
    for venue in venues.values():
        if isinstance(venue, Bybit):
            venue.categories = categories
    return venues


async def run(settings: SimulatorSettings, stop: asyncio.Event) -> None:
    """Be an exchange until told to stop."""
    async with Simulator(settings) as simulator:
        await simulator.serve(stop)
