"""The private side of Bybit v5, doing exactly what a test says: real sockets, real signatures, lists that a test fills.

It stands on the venue's documents (docs/v5/websocket/wss-authentication.mdx, docs/v5/guide.mdx), not on Tidegate's
adapter. What a test wants to happen at a certain point goes into ``before``: it is awaited before every login, REST
call and subscription, with the name of what is asked.
"""

import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

from aiohttp import WSMsgType, web
from msgspec import json

__all__ = ["KEY", "SECRET", "PrivateBybit", "Row", "nothing"]

KEY: Final = "planted-api-key-4711"
SECRET: Final = "planted-api-secret-0815"
Row = dict[str, object]
Before = Callable[[str], Awaitable[web.Response | None]]


async def nothing(what: str) -> web.Response | None:
    """The default of ``before``."""
    del what
    return None


class PrivateBybit:
    """One account. ``offset_ms``: how far its clock is ahead; ``refusal``: what every login is refused with."""

    def __init__(self) -> None:
        self.offset_ms = 0
        self.refusal: str | None = None
        self.before: Before = nothing
        self.asked: list[str] = []
        self.opened = 0
        self.logins = 0
        self.page = 2
        """Rows of a page of executions, so that there are several pages."""
        self.windows: list[tuple[int, int]] = []
        """Times (ms) that executions were asked for."""
        self.signatures: set[str] = set()
        """Every signature that it was sent."""
        self.orders: dict[str, Row] = {}
        self.executions: list[Row] = []
        self.coins: list[Row] = []
        self.sockets: list[web.WebSocketResponse] = []
        """Those that are logged in and subscribed."""
        self.port = 0
        self._all: set[web.WebSocketResponse] = set()
        self._runner: web.AppRunner | None = None

    @property
    def websocket(self) -> str:
        """Base of its WebSocket URL."""
        return f"ws://127.0.0.1:{self.port}"

    @property
    def rest(self) -> str:
        """Base of its REST URLs."""
        return f"http://127.0.0.1:{self.port}"

    def now_ms(self) -> int:
        """Its clock."""
        return time.time_ns() // 1_000_000 + self.offset_ms

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_get("/v5/private", self._private)
        application.router.add_get("/v5/{path:.*}", self._rest)
        self._runner = web.AppRunner(application, access_log=None, handle_signals=False, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.drop()
        if self._runner is not None:
            await self._runner.cleanup()

    # What a test makes happen

    def execution(self, number: int, at_ms: int | None = None) -> Row:
        """One more fill of the order ``o1``, as the lists have it."""
        row: Row = {
            "category": "linear",
            "symbol": "SOLUSDT",
            "orderId": "o1",
            "side": "Buy",
            "execFee": "0.01",
            "execId": f"e{number}",
            "execPrice": "150",
            "execQty": "1",
            "execType": "Trade",
            "execTime": str(self.now_ms() if at_ms is None else at_ms),
            "isMaker": True,
            "feeCurrency": "USDT",
            "seq": number,
        }
        self.executions.append(row)
        return row

    async def push(self, topic: str, *rows: Mapping[str, object]) -> None:
        """A message to whoever is subscribed."""
        text = json.encode({"id": "1", "topic": topic, "creationTime": self.now_ms(), "data": rows}).decode()
        for socket in self.sockets:
            await socket.send_str(text)

    def drop(self) -> None:
        """Cut every connection."""
        for socket in tuple(self._all):
            transport = socket._req.transport if socket._req is not None else None
            if transport is not None:
                transport.abort()
        self.sockets.clear()

    # The venue

    async def _private(self, request: web.Request) -> web.WebSocketResponse:
        self.opened += 1
        socket = web.WebSocketResponse(compress=False, timeout=0.5)
        await socket.prepare(request)
        self._all.add(socket)
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    await self._said(socket, json.decode(message.data))
        finally:
            self._all.discard(socket)
            if socket in self.sockets:
                self.sockets.remove(socket)
        return socket

    async def _said(self, socket: web.WebSocketResponse, message: Any) -> None:
        operation = message["op"]
        answer: dict[str, object] = {"success": True, "ret_msg": "", "op": operation, "conn_id": "c"}
        self.asked.append(operation)
        if operation == "auth":
            await self.before("auth")
            self.logins += 1
            problem = self.refusal or self._login_problem(*message["args"])
            if problem is not None:
                answer |= {"success": False, "ret_msg": problem}
        elif operation == "subscribe":
            await self.before("subscribe")
            self.sockets.append(socket)
        elif operation == "ping":
            answer = {"op": "pong", "args": [str(self.now_ms())], "conn_id": "c"}
        await socket.send_str(json.encode(answer).decode())
        if operation == "subscribe":
            await self.before("subscribed")

    def _login_problem(self, key: str, expires: int, signature: str) -> str | None:
        self.signatures.add(signature)
        right = _hmac(f"GET/realtime{expires}")
        if key != KEY or not hmac.compare_digest(signature, right) or expires <= self.now_ms():
            return "Params Error"
        return None

    async def _rest(self, request: web.Request) -> web.Response:
        name = request.path.removeprefix("/v5/")
        self.asked.append(name)
        instead = await self.before(name)
        if instead is not None:
            return instead
        if name == "market/time":
            return self._reply({"timeSecond": str(self.now_ms() // 1000)})
        if name == "market/instruments-info":
            return self._reply(self._listed(request.query["category"]))
        problem = self._signature_problem(request)
        if problem is not None:
            return self._reply({}, *problem)
        if name == "execution/list":
            return self._reply(self._executions(request.query))
        rows: list[Row] = []
        if name == "order/realtime":
            wanted = request.query["category"]
            is_open = request.query["openOnly"] == "0"
            rows = [
                row
                for row in self.orders.values()
                if row["category"] == wanted and (row["orderStatus"] in {"New", "PartiallyFilled"}) == is_open
            ]
        elif name == "account/wallet-balance":
            rows = [{"accountType": "UNIFIED", "coin": self.coins}]
        return self._reply({"category": request.query.get("category"), "list": rows, "nextPageCursor": ""})

    def _signature_problem(self, request: web.Request) -> tuple[int, str] | None:
        headers = request.headers
        moment, window = headers.get("X-BAPI-TIMESTAMP", ""), headers.get("X-BAPI-RECV-WINDOW", "5000")
        query = request.raw_path.partition("?")[2]
        self.signatures.add(headers.get("X-BAPI-SIGN", "none"))
        if headers.get("X-BAPI-API-KEY") != KEY:
            return 10003, "API key is invalid."
        if not hmac.compare_digest(headers.get("X-BAPI-SIGN", ""), _hmac(f"{moment}{KEY}{window}{query}")):
            return 10004, "error sign! origin_string[…]"
        if not self.now_ms() - int(window) <= int(moment) < self.now_ms() + 1000:
            return 10002, "invalid request, please check your server timestamp or recv_window param"
        return None

    def _executions(self, query: Mapping[str, str]) -> Row:
        start, end = int(query["startTime"]), int(query["endTime"])
        self.windows.append((start, end))
        found = [
            row
            for row in self.executions
            if row["category"] == query["category"] and start <= int(str(row["execTime"])) <= end
        ]
        found.sort(key=lambda row: (int(str(row["execTime"])), str(row["execId"])), reverse=True)
        offset = int(query.get("cursor") or 0)
        page = found[offset : offset + self.page]
        more = str(offset + self.page) if offset + self.page < len(found) else ""
        return {"category": query["category"], "list": page, "nextPageCursor": more}

    def _listed(self, category: str) -> Row:
        contract = {
            "symbol": "SOLUSDT",
            "contractType": "LinearPerpetual",
            "status": "Trading",
            "baseCoin": "SOL",
            "quoteCoin": "USDT",
            "settleCoin": "USDT",
            "priceFilter": {"tickSize": "0.01"},
            "lotSizeFilter": {"qtyStep": "0.1"},
        }
        return {"category": category, "list": [contract], "nextPageCursor": ""}

    def _reply(self, result: Row, code: int = 0, text: str = "OK") -> web.Response:
        body = {"retCode": code, "retMsg": text, "result": result, "retExtInfo": {}, "time": self.now_ms()}
        return web.Response(body=json.encode(body), content_type="application/json")


def _hmac(text: str) -> str:
    return hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).hexdigest()
