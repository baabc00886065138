"""The recorder on the in-process bus."""

import asyncio
from pathlib import Path

import pytest

from services.cli.record import MAX_WAITING, Recorder
from shared.bus.memory import MemoryBus
from shared.capture import read
from shared.telemetry.bundle import Telemetry
from shared.topology import RAW, raw_key
from tests.support.limits import room_for
from tests.unit.normalizer.plane import LINEAR, SPOT


def recorded(path: Path) -> list[bytes]:
    with path.open("rb") as file:
        return list(read(file))


@pytest.mark.parametrize("count", [0, 1, 5_000])
async def test_what_was_published_before_the_end_is_in_the_file(tmp_path: Path, count: int) -> None:
    path, stop = tmp_path / "file", asyncio.Event()
    bodies = [b"%d" % number for number in range(count)]
    async with MemoryBus() as bus:
        await bus.declare(LINEAR)
        publisher = await bus.publisher()
        recorder = Recorder(path, Telemetry().events)
        recording = asyncio.create_task(recorder.run(bus, stop))
        await recorder.ready.wait()
        await publisher.publish_batch(RAW, [(raw_key(LINEAR), body) for body in bodies], deadline_s=1)
        stop.set()
        await recording
    assert recorded(path) == bodies
    assert (recorder.envelopes, recorder.dropped) == (count, 0)


async def test_more_than_may_wait_for_the_disk_gets_there_in_order(tmp_path: Path) -> None:
    path, stop = tmp_path / "file", asyncio.Event()
    size = 1024 * 1024
    async with MemoryBus() as bus:
        await bus.declare(LINEAR)
        publisher = await bus.publisher()
        recorder = Recorder(path, Telemetry().events)
        recording = asyncio.create_task(recorder.run(bus, stop))
        await recorder.ready.wait()
        for number in range(MAX_WAITING // size + 20):
            await publisher.publish(RAW, raw_key(LINEAR), number.to_bytes(4, "big") * (size // 4), deadline_s=1)
        stop.set()
        await recording
    numbers = [int.from_bytes(body[:4], "big") for body in recorded(path)]
    assert numbers == sorted(numbers)
    assert len(numbers) + recorder.dropped == MAX_WAITING // size + 20


async def test_only_the_streams_that_are_asked_for(tmp_path: Path) -> None:
    path, stop = tmp_path / "file", asyncio.Event()
    async with MemoryBus() as bus:
        publisher = await bus.publisher()
        recorder = Recorder(path, Telemetry().events, [f"market.{SPOT.stream}"])
        recording = asyncio.create_task(recorder.run(bus, stop))
        await recorder.ready.wait()
        for stream in (LINEAR, SPOT):
            await bus.declare(stream)
            await publisher.publish(RAW, raw_key(stream), stream.stream.encode(), deadline_s=1)
        stop.set()
        await recording
    assert recorded(path) == [SPOT.stream.encode()]


async def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    async with MemoryBus() as bus:
        with pytest.raises(FileNotFoundError):
            await Recorder(tmp_path / "no" / "file", Telemetry().events).run(bus, asyncio.Event())
        with pytest.raises(IsADirectoryError):
            await Recorder(tmp_path, Telemetry().events).run(bus, asyncio.Event())


async def failed(path: Path, bodies: list[bytes]) -> Recorder:
    """Record what is too much; the recorder, which has ended by itself."""
    telemetry = Telemetry()
    async with MemoryBus() as bus:
        await bus.declare(LINEAR)
        publisher = await bus.publisher()
        recorder = Recorder(path, telemetry.events)
        recording = asyncio.create_task(recorder.run(bus, asyncio.Event()))
        await recorder.ready.wait()
        await publisher.publish_batch(RAW, [(raw_key(LINEAR), body) for body in bodies], deadline_s=1)
        async with asyncio.timeout(60):
            await recording
    assert telemetry.total("tidegate_recording_failures_total", {}) == 1
    return recorder


@pytest.mark.parametrize("size", [0, 10, 18, 19, 5_000, 65_536])
async def test_a_full_disk_ends_the_recording_and_leaves_whole_records(tmp_path: Path, size: int) -> None:
    bodies = [b"%099d" % number for number in range(2_000)]
    with room_for(size):
        recorder = await failed(tmp_path / "file", bodies)
    assert recorder.failure is not None
    assert recorder.failure.filename == str(tmp_path / "file")
    assert recorder.problem == (
        f"{tmp_path}/file: File too large; the recording ends after {recorder.envelopes} envelopes"
    )
    assert recorder.envelopes == max(0, (size - 19) // (8 + 99))
    if size >= 19:
        assert recorded(tmp_path / "file") == bodies[: recorder.envelopes]


async def test_a_device_without_room_is_an_error_that_names_it() -> None:
    recorder = await failed(Path("/dev/full"), [b"body"])
    assert recorder.problem == "/dev/full: No space left on device; the recording ends after 0 envelopes"
