"""The control API of accounts: make them, let them trade, read their ledgers."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from services.simulator.accounts.account import DEFAULT_BALANCES, Account, AccountSpec, Refused
from services.simulator.accounts.desk import Desk
from services.simulator.accounts.report import order_row
from services.simulator.accounts.requests import (
    AmendRequest,
    CancelRequest,
    FillRequest,
    OrderRequest,
    PositionRequest,
    TransferRequest,
)
from services.simulator.accounts.script import Script, ScriptRequest
from services.simulator.topics import encode_json

__all__ = ["AccountControl"]

PREFIX = "/control/accounts"
ONE = PREFIX + "/{exchange}/{name}"
MOST_EVENTS = 5000
Asked = TypeVar("Asked")
Handler = Callable[[web.Request], Awaitable[web.Response]]


class _New(msgspec.Struct, forbid_unknown_fields=True):
    exchange: str
    name: str
    key: str
    secret: str
    balances: dict[str, str] = msgspec.field(default_factory=lambda: dict(DEFAULT_BALANCES))


class _Funding(msgspec.Struct, forbid_unknown_fields=True):
    product: str = ""
    symbol: str = ""


class AccountControl:
    """Routes below ``/control/accounts``. What the venue refuses is answered with 409, what makes no sense with 400."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def add_routes(self, application: web.Application) -> None:
        """Make them known."""
        router = application.router
        router.add_get(PREFIX, self.accounts)
        router.add_post(PREFIX, _guarded(self.open))
        router.add_get(ONE + "/ledger", _guarded(self.ledger))
        router.add_get(ONE + "/events", _guarded(self.events))
        router.add_get(ONE + "/script", _guarded(self.script_state))
        router.add_delete(ONE + "/script", _guarded(self.stop_script))
        for path, handler in (
            ("script", self.script),
            ("orders", self.submit),
            ("cancel", self.cancel),
            ("amend", self.amend),
            ("fill", self.fill),
            ("funding", self.fund),
            ("transfer", self.transfer),
            ("liquidate", self.liquidate),
            ("deleverage", self.deleverage),
        ):
            router.add_post(f"{ONE}/{path}", _guarded(handler))

    async def accounts(self, _: web.Request) -> web.Response:
        """Every account, without its secret."""
        rows = [
            {
                "exchange": account.exchange,
                "name": account.name,
                "key": account.key,
                "happenings": report.happenings,
                "open_orders": sum(len(wallet.view.open) for wallet in account.wallets.values()),
                "connections": sum(len(self._desk.delivery.listeners(account, name)) for name in account.wallets),
            }
            for account, report in self._desk.reports.items()
        ]
        return _json(rows)

    async def open(self, request: web.Request) -> web.Response:
        """A new account."""
        asked = await _read(request, _New)
        account = self._desk.open(AccountSpec(asked.exchange, asked.name, asked.key, asked.secret, asked.balances))
        return _json({"exchange": account.exchange, "name": account.name, "wallets": [*account.wallets]})

    async def ledger(self, request: web.Request) -> web.Response:
        """What happened, in neutral terms."""
        self._desk.trading.collect(self._desk.markets.values())
        return _json(self._desk.reports[self._account(request)].ledger())

    async def events(self, request: web.Request) -> web.Response:
        """The venue's own messages."""
        since, limit = request.query.get("since", "0"), request.query.get("limit", "1000")
        if not since.isdecimal() or not limit.isdecimal() or not 1 <= int(limit) <= MOST_EVENTS:
            raise msgspec.ValidationError(f"since must be a number and limit from 1 to {MOST_EVENTS}")
        return _json(self._desk.reports[self._account(request)].events(int(since), int(limit)))

    async def script(self, request: web.Request) -> web.Response:
        """Random activity."""
        asked = await _read(request, ScriptRequest)
        return _json(_state(self._desk.script(self._account(request), asked)))

    async def script_state(self, request: web.Request) -> web.Response:
        """How far it is."""
        script = self._desk.scripts.get(self._account(request))
        return _json(_state(script) if script is not None else {"running": False})

    async def stop_script(self, request: web.Request) -> web.Response:
        """End it."""
        script = self._desk.scripts.get(self._account(request))
        if script is not None:
            script.stop()
        return _json({"running": False})

    async def submit(self, request: web.Request) -> web.Response:
        """An order."""
        asked = await _read(request, OrderRequest)
        return _json(order_row(self._desk.trading.submit(self._account(request), asked)))

    async def cancel(self, request: web.Request) -> web.Response:
        """Take one back."""
        asked = await _read(request, CancelRequest)
        return _json(order_row(self._desk.trading.cancel(self._account(request), asked)))

    async def amend(self, request: web.Request) -> web.Response:
        """Change one."""
        asked = await _read(request, AmendRequest)
        return _json(order_row(self._desk.trading.amend(self._account(request), asked)))

    async def fill(self, request: web.Request) -> web.Response:
        """Let the crowd fill one."""
        asked = await _read(request, FillRequest)
        return _json(order_row(self._desk.trading.reach(self._account(request), asked)))

    async def fund(self, request: web.Request) -> web.Response:
        """Funding of every open position."""
        asked = await _read(request, _Funding)
        return _json({"positions": self._desk.forced.fund(self._account(request), asked.product, asked.symbol)})

    async def transfer(self, request: web.Request) -> web.Response:
        """A deposit or withdrawal."""
        self._desk.forced.transfer(self._account(request), await _read(request, TransferRequest))
        return _json({})

    async def liquidate(self, request: web.Request) -> web.Response:
        """Close a position at the market."""
        self._desk.forced.liquidate(self._account(request), await _read(request, PositionRequest))
        return _json({})

    async def deleverage(self, request: web.Request) -> web.Response:
        """Close a position beside the market."""
        self._desk.forced.deleverage(self._account(request), await _read(request, PositionRequest))
        return _json({})

    def _account(self, request: web.Request) -> Account:
        names = request.match_info
        return self._desk.keyring.account(names["exchange"], names["name"])


async def _read(request: web.Request, kind: type[Asked]) -> Asked:
    return msgspec.json.decode(await request.read() or b"{}", type=kind)


def _state(script: Script) -> dict[str, Any]:
    return {
        "running": script.running,
        "happened": script.happened,
        "decisions": script.decisions,
        "refused": script.refused,
    }


def _guarded(handler: Handler) -> Handler:
    async def guarded(request: web.Request) -> web.Response:
        try:
            return await handler(request)
        except Refused as error:
            return _json({"error": str(error)}, 409)
        except msgspec.MsgspecError as error:
            return _json({"error": str(error)}, 400)

    return guarded


def _json(body: object, status: int = 200) -> web.Response:
    return web.Response(body=encode_json(body), status=status, content_type="application/json")
