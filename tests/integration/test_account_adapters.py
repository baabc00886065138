"""Account adapters against the simulator, which encodes the venues' private sides by itself: both must agree.

Real sockets and REST, no broker: what an account did while connected, while not, and connected again is put together
from the stream and one reconciliation, and compared with the simulator's ledger.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from services.simulator import Simulator
from shared.accounts.base import (
    AccountAdapter,
    AccountEndpoints,
    AccountPlan,
    Call,
    CatchUpNeeds,
    Credentials,
    Found,
    Step,
    StepKind,
)
from shared.envelope import Frame, FrameKind, RestReply
from shared.exchanges.accounts import account_adapter
from shared.exchanges.base import Origin
from shared.instruments import InstrumentTable
from shared.transport.http import RestClient
from shared.transport.websocket import WebSocketStream
from tests.support.eventually import eventually, eventually_async
from tests.unit.simulator.private import SECRETS, do, fetch, key, ledger, with_accounts

if TYPE_CHECKING:
    from shared.accounts.messages import Balance, Fill, Order, Position

pytestmark = pytest.mark.integration

SYMBOLS = {
    "bybit": ("BTCUSDT", "ETHUSDT", "BTCUSD"),
    "binance": ("BTCUSDT", "ETHUSDT"),
    "mexc": ("BTCUSDT", "ETHUSDT", "BTC_USDT", "ETH_USDT"),
}
ENDED = {"filled", "canceled", "rejected", "expired"}


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Seen:
    """What a consumer would know: fills once each, of the rest the latest."""

    def __init__(self) -> None:
        self.fills: dict[tuple[str | None, str], Fill] = {}
        self.orders: dict[tuple[str | None, str], Order] = {}
        self.balances: dict[tuple[str, str], Balance] = {}
        self.positions: dict[tuple[str | None, str], Position] = {}
        self.rejections: list[object] = []

    def take(self, found: Found, wallet: str) -> None:
        self.rejections += found.rejections
        for fill in found.fills:
            self.fills.setdefault((fill.symbol, fill.execution_id), fill)
        for order in found.orders:
            known = self.orders.get((order.symbol, order.order_id))
            if known is None or (known.status not in ENDED and (known.ts_updated or 0) <= (order.ts_updated or 0)):
                self.orders[order.symbol, order.order_id] = order
        for position in found.positions:
            self.positions[position.symbol, position.leg] = position
        if found.all_balances:
            self.balances = {one: held for one, held in self.balances.items() if one[0] != wallet}
        for balance in found.balances:
            self.balances[wallet, balance.asset] = balance


class Stream:
    """One private stream as ingest and a normalizer drive it together."""

    def __init__(self, adapter: AccountAdapter, plan: AccountPlan, rest: RestClient, seen: Seen) -> None:
        self.adapter, self.plan, self.rest, self.seen = adapter, plan, rest, seen
        self.credentials = Credentials(key(plan.exchange), SECRETS[plan.exchange])
        self.tables = {product: InstrumentTable() for product in plan.products}
        self.parser = adapter.parser(plan, self.tables)
        self.broken: list[Step] = []
        self.wallet = "unified" if len(plan.products) > 1 else plan.products[0]

    def origin(self) -> Origin:
        origin = Origin(self.plan.exchange, self.plan.name)
        origin.epoch = 1
        origin.ts_received = origin.ts_normalized = time.time_ns()
        return origin

    async def ask(self, call: Call) -> RestReply:
        reply = await self.rest.send(call, lambda: self.adapter.sign(self.plan, call, self.credentials, now_ms()))
        assert self.adapter.refused(reply) is None
        return reply

    async def learn(self) -> None:
        for request in self.adapter.instrument_requests(self.plan):
            reply = await self.rest.get(request)
            for instrument in self.adapter.instruments(self.plan, reply):
                self.tables[instrument.product].update([instrument])
            assert self.adapter.next_instruments(self.plan, request, reply) is None

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        dialogue = self.adapter.dialogue(self.plan, self.credentials)
        before = dialogue.before()
        if before is not None:
            assert dialogue.replied(before, await self.ask(before)).kind is StepKind.CONTROL
        sends: asyncio.Queue[str] = asyncio.Queue()
        authenticated = asyncio.Event()

        def obey(step: Step) -> None:
            for text in step.send:
                sends.put_nowait(text)
            if step.kind is StepKind.AUTHENTICATED:
                authenticated.set()
            elif step.kind in {StepKind.REFUSED, StepKind.BROKEN}:
                self.broken.append(step)

        def receive(data: bytes, binary: bool) -> None:  # noqa: FBT001 - the shape of MessageSink
            step = dialogue.received(data, binary, now_ms())
            obey(step)
            if step.kind is StepKind.DATA:
                kind = FrameKind.BINARY if binary else FrameKind.TEXT
                self.seen.take(self.parser.data(self.origin(), Frame(kind, time.time_ns(), data)), self.wallet)

        async with (
            WebSocketStream(dialogue.url, max_size=1 << 24, open_timeout_s=10.0, ping_interval_s=None) as socket,
            asyncio.TaskGroup() as tasks,
        ):

            async def send() -> None:
                while True:
                    await socket.send(await sends.get())

            socket.listen(receive)
            obey(dialogue.opened(now_ms()))
            sending = tasks.create_task(send())
            await asyncio.wait_for(authenticated.wait(), 60)
            yield
            sending.cancel()

    async def catch_up(self, since_ms: int) -> None:
        catch_up = self.adapter.catch_up(self.plan, CatchUpNeeds(since_ms, now_ms()))
        waiting, replies = list(catch_up.begin()), []
        while waiting:
            call = waiting.pop(0)
            replies.append(await self.ask(call))
            waiting.extend(catch_up.replied(call, replies[-1]))
        found = self.parser.caught_up(self.origin(), replies)
        assert set(found.open_orders_of or ()) == set(self.plan.products)
        self.seen.take(found, self.wallet)


async def trade(sim: Simulator, exchange: str, seed: int, events: int) -> None:
    """Random activity, to its end."""
    await do(sim, exchange, "script", events=events, rate=500.0, seed=seed)

    async def ended() -> bool:
        state = (await fetch("GET", f"{sim.control_base}/accounts/{exchange}/main/script")).body
        return not state["running"]

    await eventually_async(ended, within=60.0)


@asynccontextmanager
async def connected(streams: list[Stream]) -> AsyncIterator[None]:
    """All of them at once."""
    async with AsyncExitStack() as stack:
        for stream in streams:
            await stack.enter_async_context(stream.connected())
        yield


def agrees(seen: Seen, ledger: Any) -> bool:
    """Whether all that was seen is all that happened."""
    assert {
        at: (fill.order_id, fill.side, Decimal(fill.price), Decimal(fill.size), Decimal(fill.fee or 0), fill.fee_asset)
        for at, fill in seen.fills.items()
    } == {
        (row["symbol"], row["execution_id"]): (
            row["order_id"],
            row["side"],
            *(Decimal(row[name]) for name in ("price", "size", "fee")),
            row["fee_asset"],
        )
        for row in ledger["executions"]
    }
    assert {at: (one.status, Decimal(one.filled_size)) for at, one in seen.orders.items()} == {
        (row["symbol"], row["order_id"]): (row["status"], Decimal(row["filled_size"]))
        for row in ledger["orders"].values()
    }
    assert {at: (one.side, Decimal(one.size)) for at, one in seen.positions.items() if one.side} == {
        (row["symbol"], row["leg"]): (row["side"], abs(Decimal(row["size"])))
        for row in ledger["positions"]
        if row["side"]
    }
    assert seen.balances
    assert {
        at: Decimal(balance.total)
        for at, balance in seen.balances.items()
        if balance.total is not None and Decimal(balance.total)
    } == {
        (wallet, asset): Decimal(row["total"])
        for wallet, assets in ledger["balances"].items()
        for asset, row in assets.items()
        if Decimal(row["total"])
    }
    return True


@pytest.mark.parametrize("seed", [10, 20, 30])
@pytest.mark.parametrize("exchange", SYMBOLS)
async def test_stream_and_reconciliation_give_the_ledger(exchange: str, seed: int) -> None:
    adapter = account_adapter(exchange)
    async with Simulator(with_accounts(exchange, *SYMBOLS[exchange])) as sim:
        endpoints = {
            product: AccountEndpoints(sim.websocket_base(exchange, product), sim.rest_base(exchange, product))
            for product in adapter.products
        }
        plans = adapter.plan("main", list(adapter.products), SYMBOLS[exchange], endpoints)
        seen, since = Seen(), now_ms() - 1_000
        async with RestClient(adapter.limits(plans[0])) as rest:
            streams = [Stream(adapter, plan, rest, seen) for plan in plans]
            for stream in streams:
                await stream.learn()
            async with connected(streams):
                await trade(sim, exchange, seed, 200)
            before = len(seen.fills)
            await trade(sim, exchange, seed + 1, 200)
            for stream in streams:
                await stream.catch_up(since)
            assert 0 < before < len(seen.fills)
            async with connected(streams):
                await trade(sim, exchange, seed + 2, 100)
                final = await ledger(sim, exchange)
                await eventually(lambda: agrees(seen, final))
    assert seen.rejections == []
    assert [step for stream in streams for step in stream.broken] == []
    assert {fill.source for fill in seen.fills.values()} == {"stream", "rest"}
