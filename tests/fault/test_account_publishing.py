"""From the journal to a real broker that fails in every way: every frame, each once by its number, in order."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from services.bench.proxy import DelayProxy
from services.ingest.account.numbering import Begin, Push, Release
from services.ingest.account.outlet import AccountOutlet
from services.ingest.account.telemetry import AccountTelemetry
from services.ingest.account.writer import JournalWriter
from shared.bus.base import Publisher
from shared.bus.memory import MemoryBus
from shared.bus.rabbit import PublisherKind, RabbitBus
from shared.clock import SystemClock
from shared.envelope import Frame, FrameKind
from shared.errors import PublishFailed
from shared.telemetry.bundle import Telemetry
from shared.topology import RAW, raw_key, raw_queue
from tests.fault.broker import Broker
from tests.support.account_reader import AccountReader, reading
from tests.support.accounting import STREAM
from tests.support.eventually import eventually
from tests.support.publishers import FaultyPublisher

pytestmark = pytest.mark.fault

QUEUE = f"raw.{raw_key(STREAM)}"
DEADLINE_S = 1.0
BUSY = 500
WITHIN = 90.0
"""Brokers start slowly where much else runs."""


class Line:
    """A journal with an outlet, fed without an end."""

    def __init__(self, path: Path, publisher: Publisher) -> None:
        self.telemetry = Telemetry()
        bound = AccountTelemetry(self.telemetry, "bybit", "main").stream(STREAM.stream)
        self.writer = JournalWriter(path, STREAM.stream, 1 << 30, SystemClock(), bound)
        self.outlet = AccountOutlet(STREAM, publisher, self.writer, DEADLINE_S, SystemClock(), bound)
        self.fed = 0

    def feed(self, count: int = 1) -> None:
        for _ in range(count):
            assert self.writer.put(Push(Frame(FrameKind.TEXT, self.fed, str(self.fed).encode())))
            self.fed += 1

    def published(self) -> float:
        return self.telemetry.total("tidegate_account_frames_published_total", {})

    def failures(self, reason: str) -> float:
        return self.telemetry.total("tidegate_publish_failures_total", {"plane": "account", "reason": reason})

    async def everything(self, reader: AccountReader) -> None:
        """All that was fed arrives, in order, and the journal is empty then."""
        expected = [str(number) for number in range(self.fed)]
        await eventually(lambda: len(reader.texts()) >= len(expected), "everything arrives", within=WITHIN)
        assert reader.texts() == expected
        reader.assert_whole()
        await eventually(lambda: self.telemetry.total("tidegate_journal_frames", {}) == 0, "nothing waits")


@asynccontextmanager
async def line(path: Path, publisher: Publisher) -> AsyncIterator[Line]:
    one = Line(path, publisher)
    tasks = [asyncio.create_task(one.writer.run()), asyncio.create_task(one.outlet.run())]
    await one.writer.usable.wait()
    one.writer.put(Begin(1, "wss://venue.test", 1), Release())
    try:
        yield one
        for task in tasks:
            if task.done():
                task.result()
    finally:
        one.writer.close()
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def bus(broker: Broker) -> AsyncIterator[RabbitBus]:
    async with RabbitBus(broker.url, "test") as bus:
        await bus.declare(STREAM)
        yield bus


async def test_a_broker_that_is_killed_costs_time_and_nothing_else(
    broker: Broker, bus: RabbitBus, tmp_path: Path
) -> None:
    """What is in the queue by then outlives it, what is not is published again."""
    # RabbitMQ 3.10 keeps a new quorum queue's place in memory at first; killed then, it forgets the queue's log.
    await broker.stop()
    await broker.start()
    await eventually(lambda: bus.connected, within=WITHIN)
    async with line(tmp_path / "j", await bus.publisher()) as one:
        one.feed(200)
        await eventually(lambda: one.published() > 50, within=WITHIN)
        await broker.kill()
        one.feed(BUSY)
        await eventually(lambda: one.failures("unavailable") >= 2)
        await broker.start()
        await eventually(lambda: bus.connected, within=WITHIN)
        async with reading(bus, STREAM) as reader:
            await one.everything(reader)


async def test_a_frozen_broker_is_asked_again_under_the_same_number(
    broker: Broker, publishing: PublisherKind, tmp_path: Path
) -> None:
    async with RabbitBus(broker.url, "test", publisher=publishing) as bus:
        await bus.declare(STREAM)
        async with line(tmp_path / "j", await bus.publisher()) as one, reading(bus, STREAM) as reader:
            one.feed(BUSY)
            await eventually(lambda: len(reader.texts()) > 100, "it flows")
            await broker.freeze()
            await eventually(lambda: one.failures("timeout") >= 2)
            broker.thaw()
            await one.everything(reader)
            assert reader.deliveries > len(reader.frames), "repetitions, told by their number"


async def test_a_memory_alarm_is_waited_for(broker: Broker, bus: RabbitBus, tmp_path: Path) -> None:
    async with line(tmp_path / "j", await bus.publisher()) as one, reading(bus, STREAM) as reader:
        one.feed(100)
        await eventually(lambda: len(reader.texts()) == 100, "it flows")
        await broker.memory_alarm(on=True)
        one.feed(100)
        await eventually(lambda: one.failures("timeout") >= 1)
        await broker.memory_alarm(on=False)
        await one.everything(reader)


async def test_a_queue_that_refuses_is_asked_until_it_takes(broker: Broker, bus: RabbitBus, tmp_path: Path) -> None:
    policy = '{"max-length":5,"overflow":"reject-publish"}'
    node = broker.node
    await asyncio.to_thread(node.ctl, "set_policy", "-p", broker.vhost, "narrow", "^raw.account", policy)
    async with line(tmp_path / "j", await bus.publisher()) as one:
        one.feed(100)
        await eventually(lambda: one.failures("nacked") >= 3)
        async with reading(bus, STREAM) as reader:
            await one.everything(reader)


async def test_a_deleted_queue_is_declared_again(broker: Broker, bus: RabbitBus, tmp_path: Path) -> None:
    async with line(tmp_path / "j", await bus.publisher()) as one:
        await eventually(lambda: one.published() == 1)
        await asyncio.to_thread(broker.node.ctl, "-p", broker.vhost, "delete_queue", QUEUE)
        one.feed(50)
        await eventually(lambda: one.failures("returned") >= 1)
        await eventually(lambda: one.telemetry.total("tidegate_journal_frames", {}) == 0, within=WITHIN)
        async with reading(bus, STREAM) as reader:
            await eventually(lambda: len(reader.texts()) == 50)
            assert reader.texts() == [str(number) for number in range(50)]


async def test_a_distant_broker_is_slow_and_nothing_else(broker: Broker, bus: RabbitBus, tmp_path: Path) -> None:
    port = int(broker.url.rpartition(":")[2].partition("/")[0])
    async with DelayProxy("127.0.0.1", port, 0.1) as proxy:
        far = broker.url.replace(f":{port}/", f":{proxy.port}/")
        async with (
            RabbitBus(far, "far") as distant,
            line(tmp_path / "j", await distant.publisher()) as one,
            reading(bus, STREAM) as reader,
        ):
            one.feed(30)
            await one.everything(reader)
            assert one.telemetry.total("tidegate_account_confirm_seconds_sum", {}) > 0.1 * 30, "one at a time"


async def test_messages_are_persistent_and_the_queue_is_a_quorum_queue(
    broker: Broker, bus: RabbitBus, tmp_path: Path
) -> None:
    async with line(tmp_path / "j", await bus.publisher()) as one:
        one.feed(10)
        await eventually(lambda: one.published() == 11)
    rows = await broker.listed("queues", "name", "type", "durable")
    assert [QUEUE, "quorum", "true"] in rows
    assert raw_queue(STREAM, bus._limits).arguments["x-queue-type"] == "quorum"


# What a broker can't be made to do at will: the in-process bus, with a publisher that does it.


class Raising:
    """Delivers, then fails with what ``failures`` says, in turn."""

    blocked: str | None = None

    def __init__(self, publisher: Publisher, *failures: Callable[[], BaseException]) -> None:
        self._publisher = publisher
        self._failures = list(failures)

    async def publish(self, exchange: str, key: str, body: bytes, *, deadline_s: float) -> None:
        await self._publisher.publish(exchange, key, body, deadline_s=deadline_s)
        if self._failures:
            failure = self._failures.pop(0)
            raise failure()

    async def publish_batch(self, exchange: str, messages: object, *, deadline_s: float) -> None:
        raise AssertionError(f"one by one, not {messages} to {exchange} within {deadline_s} s")


async def test_a_confirm_that_was_cancelled_under_us_is_a_doubt_and_no_cancellation(tmp_path: Path) -> None:
    failures: list[Callable[[], BaseException]] = [
        asyncio.CancelledError,
        lambda: PublishFailed("refused", "too large for this broker"),
        lambda: RuntimeError("a defect in a library"),
        TimeoutError,
        asyncio.CancelledError,
    ]
    async with MemoryBus() as bus:
        await bus.declare(STREAM)
        async with (
            line(tmp_path / "j", Raising(await bus.publisher(), *failures)) as one,
            reading(bus, STREAM) as reader,
        ):
            one.feed(5)
            await one.everything(reader)
            assert reader.deliveries == len(reader.frames) + len(failures)
            assert {reason: one.failures(reason) for reason in ("cancelled", "refused", "defect", "timeout")} == {
                "cancelled": 2,
                "refused": 1,
                "defect": 1,
                "timeout": 1,
            }


async def test_one_frame_at_a_time_and_nothing_behind_one_that_is_not_confirmed(tmp_path: Path) -> None:
    async with MemoryBus() as bus:
        await bus.declare(STREAM)
        publisher = FaultyPublisher(await bus.publisher())
        async with line(tmp_path / "j", publisher) as one, reading(bus, STREAM) as reader:
            one.feed(20)
            await eventually(lambda: len(reader.texts()) == 20)
            publisher.gate.clear()
            publisher.rude = True
            one.feed(20)
            await eventually(lambda: one.failures("timeout") >= 1, "one that ignores its deadline is cut off")
            assert publisher.most_under_way == 1
            assert len(reader.texts()) == 21
            publisher.up()
            await one.everything(reader)
            assert publisher.most_under_way == 1


def as_after_a_crash(directory: Path) -> None:
    for file in directory.glob("j*"):
        (directory / f"crashed{file.name[1:]}").write_bytes(file.read_bytes())


async def test_a_crash_between_confirm_and_removal_repeats_under_the_same_number(tmp_path: Path) -> None:
    """The journal as a crash would leave it: copied while frames that were confirmed are still in it."""
    async with MemoryBus() as bus:
        await bus.declare(STREAM)
        async with reading(bus, STREAM) as reader:
            async with line(tmp_path / "j", await bus.publisher()) as one:
                one.feed(30)
                await eventually(lambda: len(reader.texts()) == 30)
                await asyncio.to_thread(as_after_a_crash, tmp_path)
            async with line(tmp_path / "crashed", await bus.publisher()) as two:
                two.fed = 30
                two.feed(10)
                await eventually(lambda: len(reader.texts()) == 40)
                reader.assert_whole()


async def test_publishing_goes_to_the_raw_exchange_only(tmp_path: Path) -> None:
    async with MemoryBus() as bus:
        await bus.declare(STREAM)
        tap = await bus.subscribe(RAW, [f"{raw_key(STREAM)}"])
        async with line(tmp_path / "j", await bus.publisher()):
            assert (await tap.receive()).key == "account.bybit.main"
