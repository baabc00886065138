"""The port: WebSocket and REST of every venue below ``/<exchange>/<product>``."""

import asyncio
from itertools import count
from typing import TYPE_CHECKING

from aiohttp import WSMsgType, web

from services.simulator.connection import Connection
from services.simulator.faults import FaultBoard
from services.simulator.hub import Hub
from services.simulator.session import Action, Reply, RestReply, Subscribe, Unsubscribe
from services.simulator.settings import SimulatorSettings
from services.simulator.topics import Topic
from services.simulator.venues.base import Venue
from services.simulator.venues.private import HttpRequest, PrivateVenue

if TYPE_CHECKING:
    from services.simulator.player import Player

__all__ = ["Server"]

CLOSE_TIMEOUT_S = 2.0
MOST_REQUEST_BYTES = 1024 * 1024
JSON_TYPE = "application/json"


class Server:
    """Turns aiohttp requests into sessions and REST answers; faults on connections, requests and REST strike here."""

    def __init__(self, hub: Hub, settings: SimulatorSettings) -> None:
        self.hub = hub
        self.settings = settings
        self.players: dict[tuple[str, str], Player] = {}
        self.stale: dict[tuple[str, str, str], RestReply] = {}
        self._numbers = count(1)

    @property
    def board(self) -> FaultBoard:
        """The faults that wait."""
        return self.hub.board

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One request below ``/<exchange>/<product>/``."""
        venue = self.hub.venues.get((request.match_info["exchange"], request.match_info["product"]))
        if venue is None:
            return web.Response(status=404, text="no such exchange and product")
        path = "/" + request.match_info["path"]
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._websocket(request, venue, path)
        return await self._rest(request, venue, path)

    async def _private(self, request: web.Request, private: PrivateVenue, venue: Venue, path: str) -> web.Response:
        asked = HttpRequest(
            request.method,
            path,
            request.raw_path.partition("?")[2],
            {name.lower(): value for name, value in request.headers.items()},
            (await request.read()).decode(errors="replace"),
        )
        return _response(await self.hub.desk.rest(private, venue, asked))

    async def _rest(self, request: web.Request, venue: Venue, path: str) -> web.Response:
        private = self.hub.desk.serving(venue, path)
        if private is not None:
            return await self._private(request, private, venue, path)
        query = dict(request.query)
        now_ns = self.hub.clock() + self.hub.desk.offset_ns(venue.exchange)
        where = (venue.exchange, venue.product)
        failed = self.board.take("rest_error", *where)
        if failed is not None:
            return _response(venue.refusal(failed.status))
        if request.method != "GET":
            return web.Response(status=405, text="only GET is served")
        if venue.snapshot_path not in path:
            return _response(venue.rest(path, query, now_ns))
        symbol = query.get("symbol") or path.rpartition("/")[2]
        reply = self.stale.get((*where, symbol))
        if reply is None or self.board.take("stale_snapshot", *where, symbol=symbol) is None:
            reply = venue.rest(path, query, now_ns)
        late = self.board.take("late_snapshot", *where, symbol=symbol)
        if late is not None:
            await asyncio.sleep(late.seconds)
        return _response(reply)

    async def _websocket(self, request: web.Request, venue: Venue, path: str) -> web.StreamResponse:
        now_ns = self.hub.clock()
        anyone = "?" if self.hub.desk.leads(venue, path, request.query) else ""
        refusal = self._refusal(venue, anyone)
        if refusal is not None:
            return refusal
        knows = self._knows(venue)
        session = self.hub.desk.session(venue, path, request.query, knows, now_ns)
        session = session or venue.session(path, request.query, knows, now_ns)
        if session is None:
            return web.Response(status=404, text="no such WebSocket path")
        websocket = web.WebSocketResponse(
            timeout=CLOSE_TIMEOUT_S, autoping=False, compress=False, max_msg_size=MOST_REQUEST_BYTES
        )
        await websocket.prepare(request)
        if not isinstance(request.transport, asyncio.Transport):
            return websocket
        connection = Connection(
            next(self._numbers), venue, session, websocket, request.transport, self.settings.write_limit, now_ns
        )
        self.hub.connections[connection.number] = connection
        self.hub.desk.join(connection)
        self.hub.ledger(venue).connections_opened += 1
        try:
            await self._converse(connection, anyone)
        finally:
            self.hub.leave(connection)
        return websocket

    def _refusal(self, venue: Venue, account: str) -> web.Response | None:
        """``account`` is a question mark on private paths: whose it will be is not known yet."""
        refused = self.board.take("refuse", venue.exchange, venue.product, account=account)
        if refused is not None:
            return web.Response(status=refused.status, text="refused")
        open_here = sum(one.venue is venue for one in self.hub.connections.values())
        if open_here >= self.settings.connections:
            return web.Response(status=403, text="too many connections")
        return None

    async def _converse(self, connection: Connection, account: str) -> None:
        venue = connection.venue
        dropped = self.board.take("accept_then_close", venue.exchange, venue.product, account=account)
        if dropped is not None:
            await connection.close(dropped.code, "", "accept_then_close")
            return
        await self._perform(connection, connection.session.opened(self.hub.clock()))
        async for message in connection.socket:
            now_ns = self.hub.clock()
            if message.type is WSMsgType.TEXT:
                await self._perform(connection, connection.session.receive(message.data, now_ns))
            elif message.type is WSMsgType.PING:
                connection.session.pinged(now_ns)
                connection.pong(bytes(message.data))
            elif message.type is WSMsgType.PONG:
                connection.session.ponged(now_ns)

    async def _perform(self, connection: Connection, actions: list[Action]) -> None:
        venue, where = connection.venue, (connection.venue.exchange, connection.venue.product)
        if any(isinstance(action, Subscribe | Unsubscribe) for action in actions):
            slow = self.board.take("slow_ack", *where)
            if slow is not None:
                await asyncio.sleep(slow.seconds)
            if self.board.take("data_before_ack", *where) is not None:
                actions = sorted(actions, key=lambda action: isinstance(action, Reply))
        player = self.players.get(where)
        if player is not None and any(isinstance(action, Subscribe) for action in actions):
            actions = [action for action in actions if not isinstance(action, Subscribe)]
            if not connection.playing:
                connection.playing = True
                self.hub.spawn(player.play(connection))
        self.hub.perform(connection, actions, self.hub.clock())
        if not connection.flush():
            self.hub.ledger(venue).dropped_for_slow_clients += 1

    def _knows(self, venue: Venue) -> "Knows":
        return Knows(self, venue)


class Knows:
    """Whether a topic exists on a venue, as its sessions are told: faults refuse, recordings accept everything."""

    def __init__(self, server: Server, venue: Venue) -> None:
        self._server = server
        self._venue = venue

    def __call__(self, name: str) -> bool:
        venue = self._venue
        if (venue.exchange, venue.product) in self._server.players:
            return True
        topic = venue.find(name)
        return topic is not None and not self._rejected(topic)

    def _rejected(self, topic: Topic) -> bool:
        taken = self._server.board.take("reject_topic", self._venue.exchange, self._venue.product, topic)
        return taken is not None


def _response(reply: RestReply) -> web.Response:
    headers = dict(reply.headers)
    content_type = headers.pop("Content-Type", JSON_TYPE)
    return web.Response(status=reply.status, body=reply.body, content_type=content_type, headers=headers)
