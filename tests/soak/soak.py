"""The soak: sixteen streams under load, normalizers and the broker taken away and brought back, a checker watching."""

import asyncio
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from services.cli.local_rabbit import RabbitNode
from tests.soak.checker.checker import Checker, Disturbance, Verdict
from tests.soak.checker.consumer import Consumer
from tests.soak.outcome import Options, Outcome
from tests.soak.plan import Step, plan
from tests.soak.plane import STREAMS, Ledger, Plane
from tests.support.eventually import eventually_async
from tests.support.processes import Stage

__all__ = ["soak"]

LOOK_EVERY_S: Final = 5.0
SETTLE_S: Final = 60.0
BURST: Final = 5.0
BURST_S: Final = 3.0
ENDS_WITHIN_S: Final = 20.0

T = TypeVar("T")


async def soak(options: Options, say: Callable[[str], None]) -> Outcome:
    """Run the whole of it on a broker of its own; ``say`` hears what happens."""
    with tempfile.TemporaryDirectory(prefix="tidegate-soak-") as directory:
        node = RabbitNode()
        try:
            await asyncio.to_thread(node.start)
            checker = Checker()
            consumer = Consumer(node.url, checker)
            consuming = asyncio.create_task(consumer.run(), name="checker")
            await _while(consuming, consumer.listening.wait())
            plane = await asyncio.to_thread(Plane, node, Path(directory), options.rate, options.heartbeat_s)
            run = _Run(options, say, node, plane, checker, consumer)
            try:
                return await _while(consuming, run.whole())
            finally:
                consuming.cancel()
                await asyncio.gather(consuming, return_exceptions=True)
                await asyncio.to_thread(plane.close, options.logs)
        finally:
            await asyncio.to_thread(node.close)


class _Run:
    """One soak whose processes are there."""

    def __init__(
        self,
        options: Options,
        say: Callable[[str], None],
        node: RabbitNode,
        plane: Plane,
        checker: Checker,
        consumer: Consumer,
    ) -> None:
        self._options = options
        self._say = say
        self._node = node
        self._plane = plane
        self._checker = checker
        self._consumer = consumer
        self._chance = random.Random(options.seed)
        self._ledger = Ledger(plane.state, plane.sent)
        self._restarts = 0
        self._problems: list[str] = []
        self._ending: list[asyncio.Task[None]] = []
        self._began = 0.0

    async def whole(self) -> Outcome:
        """Start, disturb, let it settle, judge."""
        await asyncio.to_thread(self._plane.start)
        self._began = time.monotonic()
        looking = asyncio.create_task(self._look(), name="ledger")
        try:
            for number, step in enumerate(plan(self._options.seed, self._options.first)):
                if number >= len(self._options.first) and self._elapsed() + step.rest > self._options.seconds:
                    break
                await _while(looking, self._do(step))
                if not step.hasty:
                    await _while(looking, self._in_order(f"after {step.action}"))
                await _while(looking, asyncio.sleep(step.rest))
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
        await asyncio.gather(*self._ending)
        verdict = await self._settle()
        self._problems += self._plane.died()
        self._problems += await asyncio.to_thread(self._plane.stop)
        return Outcome(self._ledger.frames, verdict, self._restarts, self._problems)

    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    async def _look(self) -> None:
        while True:
            await asyncio.to_thread(self._ledger.look)
            await asyncio.sleep(LOOK_EVERY_S)

    async def _do(self, step: Step) -> None:
        match step.action:
            case "add":
                self._tell(f"{step.many} more normalizers")
                await asyncio.to_thread(self._plane.add, step.many)
            case "kill":
                await self._kill(self._victim())
            case "stop":
                await self._stop(self._victim())
            case "pause":
                await self._pause(self._victim())
            case "kill broker":
                await self._kill_broker()
            case "burst":
                self._tell(f"{BURST:g} times the rate for {BURST_S:g} s")
                await asyncio.to_thread(self._plane.burst, BURST, BURST_S)

    def _victim(self) -> Stage:
        """One that owns something, where there is one."""
        stages = self._plane.normalizers
        owners = [stage for stage in stages if self._owned_by(stage)]
        return self._chance.choice(owners or stages)

    def _owned_by(self, stage: Stage) -> int:
        """Streams whose last message came from it."""
        return sum(f":{stage.process.pid}:" in owner for owner in self._checker.owners.latest())

    async def _kill(self, stage: Stage) -> None:
        self._tell(f"kill -9 of {stage.process.pid}, which owns {self._owned_by(stage)} streams")
        self._took_away("killed", stage)
        stage.process.kill()
        self._plane.take_away(stage)
        self._restarts += 1

    async def _stop(self, stage: Stage) -> None:
        self._tell(f"SIGTERM for {stage.process.pid}, which owns {self._owned_by(stage)} streams")
        self._took_away("stopped", stage)
        stage.process.send_signal(signal.SIGTERM)
        self._plane.take_away(stage)
        self._restarts += 1
        self._ending.append(asyncio.create_task(self._ended(stage), name="end of a normalizer"))

    async def _ended(self, stage: Stage) -> None:
        began = time.monotonic()
        try:
            status = await asyncio.to_thread(stage.process.wait, ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            status = None
        self._tell(f"{stage.process.pid} ended with {status} after {time.monotonic() - began:.2f} s")
        if status != 0:
            self._problems.append(f"a normalizer that was told to end did so with {status}:\n{stage.log()[-2000:]}")

    async def _pause(self, stage: Stage) -> None:
        """Past its heartbeat, three times as long, and until everything it had was taken over."""
        owned = self._owned_by(stage)
        self._took_away("paused", stage)
        stage.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        await asyncio.sleep(3.0 * self._options.heartbeat_s + 1.0)
        await self._promised(lambda: not self._owned_by(stage), f"all that {stage.process.pid} had was taken over")
        stage.process.send_signal(signal.SIGCONT)
        paused = time.monotonic() - began
        self._tell(f"{stage.process.pid} was paused for {paused:.1f} s, it owned {owned} streams")

    async def _kill_broker(self) -> None:
        away = self._chance.uniform(0.5, 3.0)
        self._tell(f"kill -9 of the broker, which comes back after {away:.1f} s")
        begun = time.time_ns()
        await asyncio.to_thread(self._node.kill)
        self._restarts += 1
        await asyncio.sleep(away)
        await asyncio.to_thread(self._node.start)
        self._checker.disturbed(Disturbance("broker", begun, until=time.time_ns()))

    def _took_away(self, kind: str, stage: Stage) -> None:
        self._checker.disturbed(Disturbance(kind, time.time_ns(), stage.process.pid))

    async def _settle(self) -> Verdict:
        """Until every book is whole and, once the market stands still, everything came and is the venue's own."""
        await self._in_order("at the end")
        await asyncio.to_thread(self._ledger.look)
        instruments = self._ledger.instruments
        await self._promised(lambda: not self._checker.broken_books(instruments), "at the end: every book is whole")
        await asyncio.to_thread(self._plane.pause)
        await asyncio.to_thread(self._ledger.look)
        venue = {key: await asyncio.to_thread(self._plane.book, *key) for key in instruments}
        sent = self._ledger.trades
        self._tell("the market stands still")
        await self._promised(
            lambda: not self._checker.wrong_books(venue) and not self._checker.missing(sent),
            "at the end: books are equal and no trade is missing",
        )
        return self._checker.verdict(sent, venue)

    async def _in_order(self, when: str) -> None:
        """Every normalizer is ready, every stream is owned, and the checker hears of them."""
        began = time.monotonic()
        await self._promised(self._consumer.listening.is_set, f"{when}: the checker is connected")
        await self._promised(self._all_ready, f"{when}: every normalizer is ready", interval=0.2)
        await self._promised(self._all_owned, f"{when}: {STREAMS} streams are owned", interval=0.1)
        self._tell(f"in order after {time.monotonic() - began:.1f} s")

    async def _promised(
        self, probe: Callable[[], bool] | Callable[[], Awaitable[bool]], what: str, interval: float = 0.05
    ) -> None:
        """Wait for it; a problem if it does not come."""

        async def asked() -> bool:
            answer = probe()
            return answer if isinstance(answer, bool) else await answer

        try:
            await eventually_async(asked, what, within=SETTLE_S, interval=interval)
        except AssertionError as error:
            self._problems.append(str(error))
            self._tell(str(error))

    async def _all_ready(self) -> bool:
        return await asyncio.to_thread(self._plane.ready)

    async def _all_owned(self) -> bool:
        """By those that live, as they say and as what they send shows."""
        pids = {f":{stage.process.pid}:" for stage in self._plane.normalizers}
        latest = self._checker.owners.latest()
        heard = len(latest) == STREAMS and all(any(pid in owner for pid in pids) for owner in latest)
        return heard and await asyncio.to_thread(self._plane.owned) == STREAMS

    def _tell(self, text: str) -> None:
        self._say(f"{self._elapsed():6.1f} s  {text}")


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
