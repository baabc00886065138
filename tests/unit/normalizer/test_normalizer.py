"""The normalizer on the in-process bus."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence

import pytest
from msgspec import json, msgpack

from services.normalizer.batch import Batch, Streams, unlisted
from services.normalizer.holding import Owned
from services.normalizer.session import Session
from services.normalizer.telemetry import NormalizerTelemetry
from shared.bus.base import Bus, Delivery, Publisher, RawConsumer, Subscriber
from shared.bus.memory import MemoryBus
from shared.clock import SystemClock
from shared.control import ResyncRequest, StreamInfo, decode_control
from shared.envelope import Envelope, Frame, FrameKind, encode_envelope
from shared.errors import BrokerUnavailable, PublishFailed
from shared.quarantine import decode_record
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry
from shared.topology import CONTROL, FIREHOSE, MARKET, QUARANTINE, announcement_key, resync_key
from tests.support.eventually import eventually
from tests.unit.exchanges.bybit.frames import book
from tests.unit.normalizer.plane import (
    LINEAR,
    SPOT,
    Plane,
    announce,
    connected,
    envelope,
    messages,
    running,
    settings,
    snapshot,
    text,
    trades_of,
)


@pytest.fixture
async def bus() -> AsyncIterator[MemoryBus]:
    async with MemoryBus() as bus:
        yield bus


@pytest.mark.parametrize("executor", ["inline", "thread"])
async def test_messages_of_a_stream_come_in_its_order(bus: MemoryBus, executor: str) -> None:
    market = await bus.subscribe(MARKET, ["trade.bybit.*"])
    async with running(bus, settings(executor=executor)) as plane:
        await plane.consume(LINEAR, SPOT)
        for stream in (LINEAR, SPOT):
            frames = [connected(), *trades_of(*range(300))]
            await plane.send(*(envelope(at, frames[at : at + 7], stream) for at in range(0, 301, 7)), stream=stream)
        found = await messages(market, 600)
        await plane.done_with(602)
    for stream in (LINEAR, SPOT):
        mine = [message for message in found if message["stream"] == stream.stream]
        assert [message["trade_id"] for message in mine] == [str(number) for number in range(300)]
        assert [message["frame"] for message in mine] == list(range(1, 301))


async def test_no_thread_is_left_when_a_session_has_ended(bus: MemoryBus) -> None:
    async with running(bus, settings(executor="thread")) as plane:
        await plane.consume(LINEAR)
        await plane.send(envelope(0, [connected(), *trades_of(1)]), stream=LINEAR)
        await plane.done_with(2)
    await eventually(lambda: not [one for one in threading.enumerate() if one.name.startswith("normalizer")], "it ends")


async def test_a_poisoned_body_goes_to_quarantine_and_the_stream_goes_on(bus: MemoryBus) -> None:
    quarantine = await bus.subscribe(QUARANTINE, ["market"])
    market = await bus.subscribe(MARKET, ["trade.#"])
    beyond = [1, "bybit", "linear", "market", "bybit.linear.0", 2**64 - 1, 2**64 - 1, [[0, 2**64 - 1, b"{}"]] * 3]
    poison = [b"\x1f\x8b broken gzip", b'{"truncated":', b"", b"\x93\x01\x02", msgpack.encode(beyond)]
    async with running(bus) as plane:
        await plane.consume(LINEAR)
        await plane.send(envelope(0, trades_of("first")), *poison, envelope(1, trades_of("last")))
        found = await messages(market, 2)
        records = [decode_record((await quarantine.receive()).body) for _ in poison]
        await plane.done_with(7)
        assert plane.frames("rejected") == 5
    assert [message["trade_id"] for message in found] == ["first", "last"]
    assert [record.data for record in records] == poison
    assert {(record.stream, record.code, record.kind) for record in records} == {
        ("bybit.linear.0", "invalid_envelope", -1)
    }
    assert all(record.detail for record in records)


async def test_a_rejected_frame_is_kept_with_all_that_is_needed_to_try_again(bus: MemoryBus) -> None:
    quarantine = await bus.subscribe(QUARANTINE, ["market"])
    async with running(bus) as plane:
        await plane.consume(LINEAR)
        await plane.send(envelope(7, [text(b'{"topic":')], epoch=3))
        record = decode_record((await quarantine.receive()).body)
        await plane.done_with(1)
        assert (plane.frames("rejected"), plane.frames("published")) == (1, 0)
    where = (record.exchange, record.product, record.plane, record.stream, record.epoch, record.frame, record.kind)
    assert where == ("bybit", "linear", "market", "bybit.linear.0", 3, 7, FrameKind.TEXT)
    assert (record.code, record.data) == ("invalid_json", b'{"topic":')
    assert record.ts_rejected > 0


@pytest.mark.parametrize(
    ("exchange", "product"), [("kraken", "spot"), ("bybit", "usdm"), ("", ""), ("\u2028" * 500, "x")]
)
async def test_an_envelope_of_an_unknown_venue_is_quarantined_whole(
    bus: MemoryBus, exchange: str, product: str
) -> None:
    quarantine = await bus.subscribe(QUARANTINE, ["market"])
    market = await bus.subscribe(MARKET, ["trade.#"])
    strange = envelope(0, trades_of("x"), StreamInfo(exchange, product, "market", "bybit.linear.0"))
    async with running(bus) as plane:
        await plane.consume(LINEAR)
        await plane.send(strange, envelope(0, trades_of("good")))
        record = decode_record((await quarantine.receive()).body)
        assert (record.code, record.data) == ("invalid_envelope", strange)
        assert (await messages(market, 1))[0]["trade_id"] == "good"


async def test_frames_that_come_again_are_left_alone_and_counted(bus: MemoryBus) -> None:
    market = await bus.subscribe(MARKET, ["trade.#"])
    async with running(bus) as plane:
        await plane.consume(LINEAR)
        body = envelope(0, trades_of("1", "2"))
        await plane.send(body, body, envelope(1, trades_of("2", "3")))
        found = await messages(market, 3)
        await plane.done_with(6)
        assert (plane.frames("repeated"), plane.frames("published")) == (3, 3)
    assert [message["trade_id"] for message in found] == ["1", "2", "3"]


async def resync_asked(control: Subscriber) -> ResyncRequest:
    async with asyncio.timeout(60):
        while not isinstance(asked := decode_control((await control.receive()).body), ResyncRequest):
            continue
    return asked


async def test_a_hole_is_told_counted_and_cured(bus: MemoryBus) -> None:
    control = await bus.subscribe(CONTROL, [resync_key("bybit")])
    market = await bus.subscribe(MARKET, ["stream_status.#"])
    async with running(bus) as plane:
        await plane.consume(LINEAR)
        await plane.send(envelope(0, [connected(), snapshot()]), envelope(5, trades_of("x")))
        statuses = [message for message in await messages(market, 3) if message["status"] == "lost"]
        asked = await resync_asked(control)
        await plane.done_with(3)
        assert plane.frames("lost") == 3
    assert [status["count"] for status in statuses] == [3]
    assert (asked.stream, asked.feed) == ("bybit.linear.0", "book")


@pytest.mark.parametrize("wide", [True, False])
async def test_the_firehose_has_everything_of_a_batch_in_one_body(bus: MemoryBus, *, wide: bool) -> None:
    firehose = await bus.subscribe(FIREHOSE, ["#"])
    market = await bus.subscribe(MARKET, ["#"])
    async with running(bus, Settings.model_validate({"broker": {"firehose": wide}})) as plane:
        await plane.consume(LINEAR)
        await plane.send(envelope(0, [connected(), snapshot(), *trades_of("1", "2")]))
        narrow = await messages(market, 4)
        await plane.done_with(4)
    if not wide:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await firehose.receive()
        return
    delivery = await firehose.receive()
    assert delivery.key == "bybit.bybit.linear.0"
    assert json.decode(delivery.body) == narrow


async def test_announcements_that_are_garbage_cost_nobody_anything(bus: MemoryBus) -> None:
    publisher = await bus.publisher()
    market = await bus.subscribe(MARKET, ["trade.#"])
    async with running(bus) as plane:
        await plane.consume(LINEAR)
        for body in (b"", b"{", b"[]", b'{"type":"streams"}', b'{"type":"nonsense"}', b"\xff", b"[" * 100_000):
            await publisher.publish(CONTROL, announcement_key(), body, deadline_s=1)
        for name in ("", "x" * 300, "a." + "x" * 300, "#", "bybit.linear.0\n", "ünï.spot.0", "a b.c"):
            await announce(bus, StreamInfo("bybit", "linear", "market", name))
        await announce(bus, StreamInfo("kraken", "spot", "market", "kraken.spot.0"))
        await announce(bus, StreamInfo("bybit", "linear", "account", "bybit.main"))
        await plane.consume(SPOT)
        await plane.send(envelope(0, trades_of("1")))
        assert (await messages(market, 1))[0]["trade_id"] == "1"
        assert set(plane.normalizer.consuming) == {LINEAR.stream, SPOT.stream}
        assert plane.normalizer.problem() is None


async def test_hundreds_of_streams(bus: MemoryBus) -> None:
    streams = [StreamInfo("bybit", "linear", "market", f"bybit.linear.{number}") for number in range(400)]
    market = await bus.subscribe(MARKET, ["trade.#"])
    async with running(bus) as plane:
        await plane.consume(*streams)
        for stream in streams:
            await plane.send(envelope(0, trades_of(stream.stream), stream), stream=stream)
        found = await messages(market, 400)
        await plane.done_with(400)
    assert {message["trade_id"] for message in found} == {stream.stream for stream in streams}


async def test_a_stream_that_someone_else_has_is_taken_when_it_is_free(bus: MemoryBus) -> None:
    other = await bus.consume_raw()
    await other.add(SPOT)
    market = await bus.subscribe(MARKET, ["trade.#"])
    async with running(bus) as plane:
        await plane.consume(LINEAR)
        plane.announced.add(SPOT)
        await plane.send(envelope(0, trades_of("1")))
        await messages(market, 1)
        assert plane.normalizer.problem() is None
        await other.close()
        await plane.consume(SPOT)


class Unreliable:
    """A publisher on the in-process bus that fails when told to."""

    blocked: str | None = None

    def __init__(self, inner: Publisher, failures: list[Exception]) -> None:
        self._inner = inner
        self._over = False
        self.failures = failures

    async def publish(self, exchange: str, key: str, body: bytes, *, deadline_s: float) -> None:
        await self._inner.publish(exchange, key, body, deadline_s=deadline_s)

    async def publish_batch(self, exchange: str, messages: Sequence[tuple[str, bytes]], *, deadline_s: float) -> None:
        if self._over:
            raise BrokerUnavailable("a batch was not written")
        if exchange == MARKET and self.failures:
            # Written, and in doubt only for who waited, or not written whole: that ends a session's publisher.
            failure = self.failures.pop(0)
            written = isinstance(failure, PublishFailed)
            self._over = not written
            there = len(messages) if written else len(messages) // 2
            await self._inner.publish_batch(exchange, messages[:there], deadline_s=deadline_s)
            raise failure
        await self._inner.publish_batch(exchange, messages, deadline_s=deadline_s)


class UnreliableBus(MemoryBus):
    """The in-process bus with such publishers."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[Exception] = []

    async def publisher(self, session: RawConsumer | None = None) -> Publisher:  # type: ignore[override]
        return Unreliable(await super().publisher(session), self.failures)


async def unreliable(failures: list[Exception]) -> tuple[list[tuple[object, ...]], Plane]:
    """Send ten envelopes while publishing fails; what a consumer that deduplicates has in the end."""
    bus: Bus
    seen: dict[tuple[object, ...], str] = {}
    async with UnreliableBus() as bus:
        market = await bus.subscribe(MARKET, ["trade.#"])
        async with running(bus, settings(publish_retries=1)) as plane:
            await plane.consume(LINEAR)
            await plane.send(envelope(0, [connected(), *trades_of("a", "b")]))
            await plane.done_with(3)
            bus.failures += failures
            await plane.send(*(envelope(number, trades_of(number)) for number in range(3, 13)))
            last = None
            while last != "12":
                for message in await messages(market, 1):
                    last = message["trade_id"]
                    seen[message["stream"], message["epoch"], message["frame"], message["part"]] = last
            await plane.done_with(13)
    return [(*identity, text) for identity, text in seen.items()], plane


WANTED = [("bybit.linear.0", 1, number, 0, str(number)) for number in range(3, 13)]


@pytest.mark.parametrize("reason", ["nacked", "timeout", "returned"])
async def test_what_was_not_confirmed_is_published_again(reason: str) -> None:
    seen, plane = await unreliable([PublishFailed(reason, "test")])
    assert seen[2:] == WANTED
    assert plane.frames("returned") == 0


async def test_what_can_not_be_published_comes_again_to_the_next_session() -> None:
    """Its state is gone, its frames are not; every one of them is accounted for."""
    seen, plane = await unreliable([PublishFailed("timeout", "test")] * 2 + [BrokerUnavailable("test")])
    assert seen[2:] == WANTED
    assert plane.frames("returned") > 0
    assert plane.conserved()


async def test_a_consumer_whose_queue_refuses_does_not_hold_up_the_others() -> None:
    """The broker nacks what one queue would not take; all other queues have it."""
    seen, plane = await unreliable([PublishFailed("nacked", "test")] * 4)
    assert seen[2:] == WANTED
    assert plane.frames("returned") == 0


async def test_a_defect_ends_the_session_not_the_process() -> None:
    seen, plane = await unreliable([ZeroDivisionError("a defect")])
    assert seen[2:] == WANTED
    assert plane.telemetry.total("tidegate_task_crashes_total", {"task": "normalizer"}) == 1
    assert plane.conserved()


async def test_what_no_broker_takes_is_counted_and_left_out(bus: MemoryBus) -> None:
    levels = [(f"{price}.{'1' * 17}", "0." + "1" * 17) for price in range(1, 420_000)]
    huge = text(book("snapshot", levels, [], 10, depth=1000))
    assert len(huge.data) > 16 * 1024 * 1024
    delivery = Delivery(LINEAR.stream, envelope(0, [huge, *trades_of("after")]), 1, False, 0)
    market = await bus.subscribe(MARKET, ["#"])
    telemetry = Telemetry()
    consumer = Given([delivery])
    bound = NormalizerTelemetry(telemetry)
    publisher = await bus.publisher()
    session = Session(consumer, publisher, Settings(), SystemClock(), bound, Owned("test"), unlisted)
    with pytest.raises(BrokerUnavailable):
        await session.run()
    assert [message["feed"] for message in await messages(market, 1)] == ["trade"]
    assert consumer.acknowledged == [delivery]
    assert telemetry.total("tidegate_publish_failures_total", {"reason": "refused"}) >= 1


class Given:
    """A consumer with these deliveries and no more."""

    def __init__(self, deliveries: list[Delivery]) -> None:
        self._deliveries = deliveries
        self.acknowledged: list[Delivery] = []

    async def receive(self, limit: int) -> list[Delivery]:
        if not self._deliveries:
            raise BrokerUnavailable("no more")
        taken, self._deliveries = self._deliveries[:limit], self._deliveries[limit:]
        return taken

    async def ack(self, deliveries: Sequence[Delivery]) -> None:
        self.acknowledged += deliveries


async def test_the_loop_gets_its_turn_within_a_huge_envelope(bus: MemoryBus) -> None:
    turns, ended = 0, False

    async def count() -> None:
        nonlocal turns
        while not ended:
            turns += 1
            await asyncio.sleep(0)

    frames = trades_of(*range(20_000))
    async with running(bus) as plane:
        await plane.consume(LINEAR)
        counting = asyncio.create_task(count())
        await plane.send(envelope(0, frames))
        before = turns
        await plane.done_with(20_000)
        during = turns - before
        ended = True
        await counting
    assert during > 200


async def test_streams_of_one_name_and_two_products_are_kept_apart() -> None:
    streams, batch = Streams(SystemClock(), unlisted), Batch()
    twin = StreamInfo("bybit", "spot", "market", LINEAR.stream)
    for stream in (LINEAR, twin):
        delivery = Delivery(LINEAR.stream, envelope(0, trades_of("1"), stream), 1, False, 0)
        assert list(streams.handle(delivery, batch, lambda: False)) == []
    batch.gather()
    assert list(batch.encode(lambda: False, firehose=True)) == []
    assert sorted(key for key, _ in batch.market) == ["trade.bybit.BTC/USDT", "trade.bybit.BTC/USDT:USDT"]
    assert [len(json.decode(body)) for _, body in batch.firehose] == [2]


async def test_an_envelope_without_frames_is_nothing(bus: MemoryBus) -> None:
    market = await bus.subscribe(MARKET, ["trade.#"])
    async with running(bus) as plane:
        await plane.consume(LINEAR)
        await plane.send(envelope(0, []), envelope(0, trades_of("1")))
        assert (await messages(market, 1))[0]["trade_id"] == "1"
        await plane.done_with(1)


async def test_an_unknown_kind_of_frame_is_rejected(bus: MemoryBus) -> None:
    frame = Frame(99, 1, b"x")
    body = encode_envelope(Envelope(1, "bybit", "linear", "market", LINEAR.stream, 1, 0, [frame]))
    async with running(bus) as plane:
        await plane.consume(LINEAR)
        await plane.send(body)
        await plane.done_with(1)
        assert plane.frames("rejected") == 1
