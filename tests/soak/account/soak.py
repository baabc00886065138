"""The soak of the account plane: accounts that trade, everything taken away and brought back, then the comparison."""

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from services.bench.proxy import DelayProxy
from services.cli.local_rabbit import RabbitNode
from tests.soak.account.consumer import Consumer
from tests.soak.account.judge import Findings, judge, streams_of
from tests.soak.account.outcome import Outcome
from tests.soak.account.plan import ACCOUNTS, CLOCK_OFF_MS, LAG_S, Form, Step, plan
from tests.soak.account.plane import Plane
from tests.soak.account.view import View
from tests.support.eventually import eventually_async

__all__ = ["soak"]

SETTLE_S: Final = 300.0
SYNC: Final = "[dets:sync(Table) || Table <- dets:all()]."
"""RabbitMQ 3.10 writes down which quorum queues a node has only every three minutes: one that was declared later need
not come back after a kill."""
RTT_S: Final = 0.1
STEP_S: Final = 2.0
"""In which an account's share of a step happens, about."""

LAGGING_REPLIES: Final = 12
LAGGING_NS: Final = 20 * 1_000_000_000
"""In which so many replies have been asked for."""

SURELY_NS: Final = CLOCK_OFF_MS * 1_000_000 + int(LAG_S * 1e9)
"""A venue's times may be ahead by as much as its clock was, and its lists lag once more."""

LATE_RATE: Final = 100.0
"""Of what is left at the end, a second and account."""

T = TypeVar("T")


async def soak(seed: int, form: Form, say: Callable[[str], None], logs: Path | None = None) -> Outcome:
    """Run the whole of it on a broker of its own; ``say`` hears what happens, ``logs`` is where logs are kept."""
    with tempfile.TemporaryDirectory(prefix="tidegate-soak-") as directory:
        node = RabbitNode()
        try:
            await asyncio.to_thread(node.start)
            view = View()
            consumer = Consumer(node.url, view)
            consuming = asyncio.create_task(consumer.run(), name="checker")
            await _while(consuming, consumer.listening.wait())
            plane = await asyncio.to_thread(Plane, node, Path(directory))
            try:
                async with DelayProxy("127.0.0.1", node.port, RTT_S) as proxy:
                    return await _while(consuming, _Run(seed, form, say, node, plane, view, proxy.port).whole())
            finally:
                consuming.cancel()
                await asyncio.gather(consuming, return_exceptions=True)
                await asyncio.to_thread(plane.close, logs)
        finally:
            await asyncio.to_thread(node.close)


class _Run:
    """One soak whose processes are there."""

    def __init__(
        self,
        seed: int,
        form: Form,
        say: Callable[[str], None],
        node: RabbitNode,
        plane: Plane,
        view: View,
        distant_port: int,
    ) -> None:
        self._seed = seed
        self._form = form
        self._say = say
        self._node = node
        self._plane = plane
        self._view = view
        self._distant = f"amqp://guest:guest@127.0.0.1:{distant_port}/"
        self._problems: list[str] = []
        self._began = time.monotonic()

    async def whole(self) -> Outcome:
        """Start, disturb, let it settle, judge."""
        await asyncio.to_thread(self._plane.start)
        await self._insist(lambda: self._node.ctl("eval", SYNC))
        self._tell("everything is reconciled")
        steps = plan(self._seed, self._form)
        findings = await self._disturbed(steps)
        self._problems += self._plane.died()
        events = await asyncio.to_thread(self._plane.happened)
        self._problems += await asyncio.to_thread(self._plane.stop)
        duplicates = sum(told.duplicates for told in self._view.streams.values())
        return Outcome(self._seed, events, self._view.messages, duplicates, len(steps), findings, self._problems)

    async def _disturbed(self, steps: Sequence[Step]) -> Findings:
        share = -(-self._form.events // (len(ACCOUNTS) * len(steps)))
        for number, step in enumerate(steps):
            await self._play(share, number, share / STEP_S)
            self._tell(f"{step.action} ({'.'.join(ACCOUNTS[step.target])}, {step.seconds:.1f} s)")
            await self._do(step)
            await asyncio.sleep(step.rest)
        await self._finish(len(steps))
        return await self._settle()

    async def _play(self, share: int, number: int, rate: float) -> None:
        for account in range(len(ACCOUNTS)):
            await asyncio.to_thread(self._plane.play, account, share, rate, self._seed * 1_000 + number)

    async def _finish(self, number: int) -> None:
        """Until all events have happened: a step's share was left out where the one before was still under way."""
        while not self._problems:
            await self._promised(self._quiet, "the accounts' scripts end")
            left = self._form.events - await asyncio.to_thread(self._plane.happened)
            if left <= 0:
                return
            number += 1
            await self._play(-(-left // len(ACCOUNTS)), number, LATE_RATE)

    async def _quiet(self) -> bool:
        return not await asyncio.to_thread(self._plane.playing)

    async def _do(self, step: Step) -> None:
        match step.action:
            case "kill ingest":
                await asyncio.to_thread(self._plane.kill_ingest, step.target)
            case "kill normalizer":
                await asyncio.to_thread(self._plane.kill_normalizer)
            case "kill broker" | "broker away":
                await asyncio.to_thread(self._node.kill)
                await asyncio.sleep(step.seconds)
                await asyncio.to_thread(self._node.start)
            case "far ingest":
                await asyncio.to_thread(self._plane.kill_ingest, step.target, self._distant)
                await asyncio.sleep(step.seconds)
                await asyncio.to_thread(self._plane.kill_ingest, step.target)
            case "far normalizer":
                await asyncio.to_thread(self._plane.kill_normalizer, self._distant)
                await asyncio.sleep(step.seconds)
                await asyncio.to_thread(self._plane.kill_normalizer)
            case "memory alarm":
                await self._insist(lambda: self._node.memory_alarm(on=True))
                await asyncio.sleep(step.seconds)
                await self._insist(lambda: self._node.memory_alarm(on=False))
            case "clock ahead" | "clock behind":
                offset_ms = CLOCK_OFF_MS if step.action == "clock ahead" else -CLOCK_OFF_MS
                await asyncio.to_thread(self._plane.set_clock, step.target, offset_ms)
                await asyncio.sleep(step.seconds)
                await asyncio.to_thread(self._plane.set_clock, step.target, 0)
            case action:
                await asyncio.to_thread(self._fault, action, step.target)

    async def _insist(self, order: Callable[[], object]) -> None:
        """RabbitMQ's tools start an Erlang of their own, which takes longer than they wait where much else runs."""
        while True:
            try:
                await asyncio.to_thread(order)
            except subprocess.TimeoutExpired:
                self._tell("rabbitmqctl was too slow, once more")
            else:
                return

    def _fault(self, action: str, target: int) -> None:
        fault = self._plane.fault
        match action:
            case "drop socket":
                fault("drop_socket", target)
            case "duplicate":
                fault("duplicate", target, count=5)
            case "reorder":
                fault("reorder", target, count=5, seconds=1.0)
            case "rest error":
                fault("rest_error", target, count=8, status=500)
                fault("drop_socket", target)
            case "rest slow":
                fault("rest_slow", target, count=3, seconds=2.0)
                fault("drop_socket", target)
            case "rest lag":
                now = time.time_ns()
                self._view.lags(*ACCOUNTS[target], now - SURELY_NS, now + LAGGING_NS)
                fault("rest_lag", target, count=LAGGING_REPLIES, seconds=LAG_S)
                fault("drop_socket", target)
            case "refuse auth":
                fault("refuse_auth", target)
                fault("disconnect", target, code=1006)
            case "expire key":
                fault("expire_key", target)
            case _:
                raise ValueError(f"nobody knows how to do {action!r}")

    async def _settle(self) -> Findings:
        """Until every stream says that it has told everything that happened before the markets stood still."""
        await asyncio.to_thread(self._plane.stand_still)
        since_ns = time.time_ns() + SURELY_NS
        ledgers: list[dict[str, Any]] = await asyncio.to_thread(self._plane.ledgers)
        streams = {stream for ledger in ledgers for stream in streams_of(ledger).values()}
        self._tell("the markets stand still")
        await self._promised(lambda: self._view.reconciled(streams, since_ns), "every stream is reconciled at the end")
        self._tell("everything is reconciled")
        return judge(self._view, ledgers)

    async def _promised(self, probe: Callable[[], bool] | Callable[[], Awaitable[bool]], what: str) -> None:
        """Wait for it; a problem if it does not come."""

        async def asked() -> bool:
            answer = probe()
            return answer if isinstance(answer, bool) else await answer

        try:
            await eventually_async(asked, what, within=SETTLE_S, interval=0.2)
        except AssertionError as error:
            self._problems.append(str(error))
            self._tell(str(error))

    def _tell(self, text: str) -> None:
        self._say(f"{time.monotonic() - self._began:6.1f} s  {text}")


async def _while(task: "asyncio.Task[Any]", work: Awaitable[T]) -> T:
    """The work's result; raises what the task ended with, should it end before."""
    working = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task, working}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            task.result()
        return await working
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
