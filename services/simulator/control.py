"""The control API: look inside, pause, burst, misbehave."""

from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import web

from services.simulator.connection import Connection
from services.simulator.faults import FAULTS, FaultError
from services.simulator.ledger import KEPT_TRADE_IDS
from services.simulator.topics import encode_json

if TYPE_CHECKING:
    from services.simulator.simulator import Simulator

__all__ = ["Control"]

MOST_DEPTH = 5000


class Control:
    """Routes below ``/control``."""

    def __init__(self, simulator: "Simulator") -> None:
        self._simulator = simulator

    def add_routes(self, application: web.Application) -> None:
        """Make them known."""
        application.router.add_get("/control/state", self.state)
        application.router.add_get("/control/book/{exchange}/{product}/{symbol}", self.book)
        application.router.add_get("/control/sent/{exchange}/{product}", self.sent)
        application.router.add_get("/control/faults", self.faults)
        application.router.add_post("/control/faults", self.inject)
        application.router.add_delete("/control/faults", self.clear)
        application.router.add_post("/control/pause", self.pause)
        application.router.add_post("/control/resume", self.resume)
        application.router.add_post("/control/burst", self.burst)

    async def state(self, _: web.Request) -> web.Response:
        """Rates, connections, and what was sent."""
        simulator, hub = self._simulator, self._simulator.hub
        products: dict[str, Any] = {}
        for (exchange, product), ledger in hub.ledgers.items():
            venue = hub.venues[exchange, product]
            products.setdefault(exchange, {})[product] = {
                "connections": sum(one.venue is venue for one in hub.connections.values()),
                "connections_opened": ledger.connections_opened,
                "connections_closed": ledger.connections_closed,
                "dropped_for_slow_clients": ledger.dropped_for_slow_clients,
                "sent": ledger.frames,
                "sent_bytes": ledger.bytes,
                "events": sum(market.events for market in venue.markets.values()),
                "skipped_events": sum(market.skipped for market in venue.markets.values()),
                "bursting": sum(market.bursting(simulator.clock()) for market in venue.markets.values()),
                "symbols": [*venue.markets],
            }
        body = {
            "paused": hub.paused,
            "flushed": hub.flushed,
            "rate": simulator.settings.rate,
            "tick_overruns": simulator.overruns,
            "faults_waiting": len(hub.board),
            "faults_done": hub.board.done,
            "exchanges": products,
        }
        return _json(body)

    async def book(self, request: web.Request) -> web.Response:
        """The engine's own book of one instrument."""
        depth = request.query.get("depth", "50")
        if not depth.isdecimal() or not 1 <= int(depth) <= MOST_DEPTH:
            return _problem(400, f"depth must be from 1 to {MOST_DEPTH}; received {depth!r}")
        names = request.match_info
        try:
            book = self._simulator.book(names["exchange"], names["product"], names["symbol"], int(depth))
        except KeyError:
            return _problem(404, "no such instrument")
        return _json(book)

    async def sent(self, request: web.Request) -> web.Response:
        """The ledger of one product: totals, per connection and topic, and the trades of every topic."""
        newest = request.query.get("newest", str(KEPT_TRADE_IDS))
        if not newest.isdecimal() or int(newest) > KEPT_TRADE_IDS:
            return _problem(400, f"newest must be from 0 to {KEPT_TRADE_IDS}; received {newest!r}")
        key = (request.match_info["exchange"], request.match_info["product"])
        hub = self._simulator.hub
        ledger = hub.ledgers.get(key)
        if ledger is None:
            return _problem(404, "no such exchange and product")
        venue = hub.venues[key]
        body = {
            "feeds": ledger.frames,
            "connections": [_connection(one) for one in hub.connections.values() if one.venue is venue],
            "trades": {topic: {"symbol": log.symbol, "sent": log.sent} for topic, log in ledger.trades.items()},
            "trade_ids": {topic: log.newest(int(newest)) for topic, log in ledger.trades.items()},
        }
        return _json(body)

    async def faults(self, _: web.Request) -> web.Response:
        """What kinds there are, and how often each happened."""
        done = self._simulator.hub.board.done
        return _json({kind: {"does": one.text, "done": done.get(kind, 0)} for kind, one in FAULTS.items()})

    async def inject(self, request: web.Request) -> web.Response:
        """Ask for a fault."""
        try:
            struck = self._simulator.inject(msgspec.json.decode(await request.read()))
        except (FaultError, msgspec.DecodeError) as error:
            return _problem(400, str(error))
        return _json({"struck": struck, "waiting": len(self._simulator.hub.board)})

    async def clear(self, _: web.Request) -> web.Response:
        """Forget the faults that wait."""
        self._simulator.hub.board.clear()
        return _json({"waiting": 0})

    async def pause(self, request: web.Request) -> web.Response:
        """Stand still; answers when the last changes have left."""
        await self._simulator.pause(quiet=request.query.get("quiet", "true") != "false")
        return _json({"paused": True})

    async def resume(self, _: web.Request) -> web.Response:
        """Go on."""
        self._simulator.resume()
        return _json({"paused": False})

    async def burst(self, request: web.Request) -> web.Response:
        """Multiply the rate for a while."""
        try:
            asked = msgspec.json.decode(await request.read(), type=_Burst)
            markets = self._simulator.burst(asked.factor, asked.seconds, asked.exchange, asked.product, asked.symbol)
        except (FaultError, msgspec.MsgspecError) as error:
            return _problem(400, str(error))
        return _json({"markets": markets})


class _Burst(msgspec.Struct, forbid_unknown_fields=True):
    factor: float
    seconds: float
    exchange: str = ""
    product: str = ""
    symbol: str = ""


def _connection(connection: Connection) -> dict[str, Any]:
    return {
        "number": connection.number,
        "opened_ns": connection.opened_ns,
        "topics": [*connection.topics],
        "sent": connection.sent,
        "playing": connection.playing,
        "played": connection.played,
    }


def _json(body: object, status: int = 200) -> web.Response:
    return web.Response(body=encode_json(body), status=status, content_type="application/json")


def _problem(status: int, text: str) -> web.Response:
    return _json({"error": text}, status)
