"""The recorder on the in-process bus."""

import asyncio
from pathlib import Path

import pytest

from services.cli.record import MAX_WAITING, Recorder
from shared.bus.memory import MemoryBus
from shared.capture import read
from shared.topology import RAW, raw_key
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
        recorder = Recorder(path)
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
        recorder = Recorder(path)
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
        recorder = Recorder(path, [f"market.{SPOT.stream}"])
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
            await Recorder(tmp_path / "no" / "file").run(bus, asyncio.Event())
        with pytest.raises(IsADirectoryError):
            await Recorder(tmp_path).run(bus, asyncio.Event())
