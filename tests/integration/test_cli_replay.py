"""A recorded run, played back: the same messages, byte for byte but for ``ts_normalized``."""

import asyncio
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec import Raw, json

from services.cli.embedded import Embedded, Options
from shared.bus.memory import MemoryBus
from shared.capture import MAGIC, encode_record
from shared.envelope import Envelope, Frame, FrameKind, encode_envelope
from shared.errors import BrokerUnavailable
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry
from shared.topology import MARKET
from tests.unit.cli.processes import finished
from tests.unit.exchanges.bybit.frames import TS, trade, trades

pytestmark = pytest.mark.integration

Identity = tuple[str, int, int, int]


def plain(message: bytes) -> tuple[Identity, bytes]:
    """A message's identity and its bytes without the time that may differ."""
    fields = json.decode(message)
    identity = (fields["stream"], fields["epoch"], fields["frame"], fields["part"])
    text, count = re.subn(rb'"ts_normalized":\d+', b'"ts_normalized":0', message)
    assert count == 1
    return identity, text


def in_order(messages: Iterable[bytes]) -> list[tuple[Identity, bytes]]:
    return sorted(map(plain, messages))


async def collect(bus: MemoryBus, messages: list[bytes], ready: asyncio.Event) -> None:
    subscriber = await bus.subscribe(MARKET, ["#"], limit=500_000)
    ready.set()
    try:
        while True:
            body = (await subscriber.receive()).body
            messages += (bytes(item) for item in json.decode(body, type=list[Raw]))
    except BrokerUnavailable:
        return


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[bytes]]:
    """A capture file of a run with bursts, and the messages of that run."""
    path = tmp_path_factory.mktemp("recorded") / "run.capture"
    messages: list[bytes] = []

    async def record() -> dict[str, object]:
        bus, ready = MemoryBus(), asyncio.Event()
        options = Options(3.0, True, False, [], [], 5.0, None, path)
        async with bus:
            collecting = asyncio.create_task(collect(bus, messages, ready))
            await ready.wait()
            result = await Embedded(options, Settings(), Telemetry(), bus).run()
            await collecting
            return result

    result = asyncio.run(record())
    assert result["messages_published"] == len(messages) > 1_000
    return path, messages


def test_a_replay_gives_the_recorded_runs_messages_again(recorded: tuple[Path, list[bytes]]) -> None:
    path, messages = recorded
    done = finished("replay", str(path))
    assert done.returncode == 0
    assert re.fullmatch(rf"tidegate: \d+ frames, {len(messages)} messages, 0 rejected\n", done.stderr.decode())
    assert in_order(done.stdout.splitlines()) == in_order(messages)


def test_two_replays_are_the_same(recorded: tuple[Path, list[bytes]]) -> None:
    path, _ = recorded
    first, second = finished("replay", str(path)), finished("replay", str(path))
    assert [plain(line) for line in first.stdout.splitlines()] == [plain(line) for line in second.stdout.splitlines()]


def test_speed_changes_when_not_what(recorded: tuple[Path, list[bytes]]) -> None:
    path, messages = recorded
    done = finished("replay", str(path), "--speed", "20")
    assert in_order(done.stdout.splitlines()) == in_order(messages)
    keys: dict[tuple[str, str, str | None], list[Identity]] = {}
    for line in done.stdout.splitlines():
        fields = json.decode(line)
        keys.setdefault((fields["stream"], fields["feed"], fields["symbol"]), []).append(plain(line)[0])
    assert all(each == sorted(each) for each in keys.values())


def test_a_file_that_was_cut_off_gives_what_is_whole_and_says_where(
    recorded: tuple[Path, list[bytes]], tmp_path: Path
) -> None:
    path, messages = recorded
    cut = tmp_path / "cut.capture"
    cut.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    done = finished("replay", str(cut))
    assert done.returncode == 1
    assert re.fullmatch(
        rf"tidegate: {re.escape(str(cut))} ends within a record.* at offset \d+.*\n", done.stderr.decode()
    )
    played = set(in_order(done.stdout.splitlines()))
    assert 100 < len(played) < len(messages)
    assert played <= set(in_order(messages))


def test_a_damaged_record_ends_the_replay_after_what_is_before_it(
    recorded: tuple[Path, list[bytes]], tmp_path: Path
) -> None:
    path, _ = recorded
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    damaged = tmp_path / "damaged.capture"
    damaged.write_bytes(data)
    done = finished("replay", str(damaged))
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"tidegate: {damaged} ")
    assert len(done.stdout.splitlines()) > 100


@pytest.mark.parametrize(
    "content", [b"", b"no capture", MAGIC[:-2], b"\x00" * 100], ids=["empty", "text", "cut", "zeros"]
)
def test_what_is_no_capture_file_is_told(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    done = finished("replay", str(file))
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith(f"tidegate: {file} is no capture file: it begins with")


def test_a_missing_file_and_bad_arguments(tmp_path: Path) -> None:
    done = finished("replay", str(tmp_path / "none"))
    assert (done.returncode, done.stderr.decode()) == (1, f"tidegate: {tmp_path}/none: No such file or directory\n")
    for speed in ("-1", "nan", "inf"):
        done = finished("replay", "x", f"--speed={speed}")
        assert (done.returncode, done.stderr.decode().count("\n")) == (2, 1)
        assert done.stderr.startswith(b"tidegate: --speed: must be a positive number")


@pytest.mark.parametrize("speed", ["0", "1000"])
def test_frames_that_are_rejected_are_told_and_the_others_played(tmp_path: Path, speed: str) -> None:
    frames = [Frame(FrameKind.TEXT, TS, trades(trade("t1"))), Frame(FrameKind.TEXT, TS, b"garbage")]
    envelope = encode_envelope(Envelope(1, "bybit", "linear", "market", "bybit.linear.0", 1, 0, frames))
    empty = encode_envelope(Envelope(1, "bybit", "linear", "market", "bybit.linear.0", 1, 2, []))
    file = tmp_path / "file"
    file.write_bytes(MAGIC + b"".join(map(encode_record, (b"no envelope", empty, envelope))))
    done = finished("replay", str(file), "--speed", speed)
    assert done.returncode == 3
    told = [json.decode(line) for line in done.stderr.splitlines() if line.startswith(b"{")]
    assert [(each["stream"], each["frame"], each["code"]) for each in told] == [
        ("replay", 0, "invalid_envelope"),
        ("bybit.linear.0", 1, "invalid_json"),
    ]
