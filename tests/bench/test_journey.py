"""The journey in small: its shapes, its accounts, and that it cleans up."""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pytest
from msgspec import json

from services.bench.burst import build, read_index
from shared.envelope import Frame, FrameKind
from shared.exchanges import adapter
from shared.instruments import InstrumentTable
from shared.normalizing import StreamNormalizer
from tests.support.paths import ROOT
from tests.support.rabbit import ensure_server

if TYPE_CHECKING:
    from array import array

FRAMES: Final = 600
NOW: Final = 1_760_000_000_000_000_000
ROW: Final = {
    "name",
    "frames_in",
    "published",
    "shed",
    "q_wait_us",
    "norm_time_us",
    "loop_lag_us",
    "loop_lag_p50_us",
    "net_write_us",
    "active_tasks_peak",
    "rss_peak_mib",
}


def left_over(mark: str) -> list[str]:
    """Processes that have ``mark`` in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


@pytest.mark.e2e
def test_four_designs_report_the_same_things_and_leave_nothing_running(tmp_path: Path) -> None:
    ensure_server()
    mark = uuid4().hex
    command = ["journey", "--rate", "200", "--seconds", "3", "--rtt-ms", "100", "--out", str(tmp_path), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "services.bench", *command],
        cwd=ROOT,
        env=os.environ | {"JOURNEY_MARK": mark},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert left_over(mark) == []

    rows: list[dict[str, Any]] = json.decode(done.stdout.splitlines()[-1])["designs"]
    assert [row["name"] for row in rows] == ["1 sequential", "2 unbounded", "3 metered", "4 tidegate"]
    for row in rows:
        assert row.keys() == ROW
        assert row["q_wait_us"].keys() == {"p50", "p99"}
        assert row["published"] + row["shed"] == FRAMES
        assert row["rss_peak_mib"] > 0
    sequential, tidegate = rows[0], rows[-1]
    assert sequential["shed"] > 0
    assert (tidegate["frames_in"], tidegate["published"], tidegate["shed"]) == (FRAMES, FRAMES, 0)

    written = json.decode((tmp_path / "journey.json").read_bytes())
    assert written["designs"] == rows
    assert [bool(result["report"]["timeline"]) for result in written["results"]] == [True] * 4
    assert {block["name"].partition(":")[0] for block in written["results"][2]["report"]["blocks"]} == {
        "logging",
        "asyncio",
        "raw_router",
        "executor",
        "publisher",
    }
    assert (tmp_path / "journey.png").exists() or "matplotlib is not installed" in done.stdout


def test_every_frame_of_the_burst_is_normalized(tmp_path: Path) -> None:
    path = tmp_path / "burst"
    build(path, 2_000)
    payloads = unframed(path.read_bytes(), read_index(path))
    venue = adapter("bybit")
    normalizer = StreamNormalizer(venue, "linear", "bybit.linear.0", InstrumentTable())
    rejected, feeds = [], set()
    for number, payload in enumerate(payloads):
        output = normalizer.frame(1, number, Frame(FrameKind.TEXT, NOW, payload), NOW).output
        rejected += output.rejections
        feeds |= {message.feed for message in output.messages}
    assert rejected == []
    assert {"trade", "quote", "book_snapshot", "book_delta", "liquidation"} <= feeds
    assert normalizer.lost == 0


def unframed(data: bytes, offsets: "array[int]") -> list[bytes]:
    frames = [data[begin:end] for begin, end in pairwise(offsets)]
    return [frame[4:] if frame[1] == 126 else frame[2:] for frame in frames]
