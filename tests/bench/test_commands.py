"""The benchmarks as a user starts them, with rounds that are much too short to tell anything."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Self
from uuid import uuid4

import pytest
from msgspec import json

from tests.support.eventually import eventually_sync
from tests.support.paths import ROOT
from tests.support.rabbit import ensure_server

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

STAGES = {"generator", "ingest", "broker", "normalizer", "consumer"}
MARK = "TEST_BENCH_MARK"


class Bench:
    """One run, whose processes are known by what they have in their environment."""

    def __init__(self, *arguments: str) -> None:
        ensure_server()
        self.mark = uuid4().hex
        self.told = TemporaryFile()  # noqa: SIM115 - open for as long as the run is
        self.process = subprocess.Popen(
            [sys.executable, "-m", "services.bench", *arguments],
            cwd=ROOT,
            env={**os.environ, MARK: self.mark},
            stdout=subprocess.PIPE,
            stderr=self.told,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
        self.told.close()

    def result(self) -> Any:
        output, _ = self.process.communicate(timeout=360)
        self.told.seek(0)
        assert self.process.returncode == 0, self.told.read().decode()
        return json.decode(output.splitlines()[-1])

    def running(self) -> list[str]:
        """Command lines of what runs of it."""
        wanted = f"{MARK}={self.mark}".encode()
        found = []
        for directory in Path("/proc").iterdir():
            try:
                if directory.name.isdigit() and wanted in (directory / "environ").read_bytes():
                    found.append((directory / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        return [command for command in found if command]

    def gone(self) -> bool:
        return not self.running()


def is_number(value: object) -> bool:
    return isinstance(value, int | float)


def test_pipeline_says_what_is_asked_and_leaves_nothing_running() -> None:
    with Bench("pipeline", "--quick", "--seconds", "0.5", "--max-rate", "100", "--json") as bench:
        result = bench.result()
        eventually_sync(bench.gone, "nothing is left running")
    for name in ("tidegate", "phase1", "faststream", "firehose"):
        one = result[name]
        assert is_number(one["frames_per_s"]), name
        assert isinstance(one["shed"], int), name
        assert set(one["cpu_us_per_frame"]) == set(one["peak_rss_mib"]) == STAGES, name
        assert all(size > 1 for size in one["peak_rss_mib"].values()), name
        assert one["limited_by"], name
    assert {"ratio_phase1", "ratio_faststream", "ratio_firehose"} <= set(result)


def test_metrics_are_weighed_against_none_and_scraped() -> None:
    arguments = ("--rounds", "1", "--seconds", "0.5", "--rate", "200", "--instruments", "20", "--scrapes", "2")
    with Bench("metrics", *arguments, "--json") as bench:
        result = bench.result()
        eventually_sync(bench.gone, "nothing is left running")
    (rate,) = result["rates"]
    assert rate["with_us"].keys() == rate["without_us"].keys() == {"ingest", "normalizer"}
    assert is_number(rate["rise"])
    assert result["scrape"]["instruments"] == 20
    assert result["scrape"]["series"] > 20 * 12
    assert result["scrape"]["wall_ms"] > 0


def test_latency_says_what_is_asked_and_leaves_nothing_running() -> None:
    with Bench("latency", "--seconds", "1", "--rate", "50", "--rate", "200", "--json") as bench:
        rates = bench.result()["rates"]
        eventually_sync(bench.gone, "nothing is left running")
    assert [one["frames_per_s"] for one in rates] == [50, 200]
    for one in rates:
        for name in ("tidegate", "relay"):
            assert 0 < one[name]["p50_us"] <= one[name]["p99_us"] <= one[name]["p999_us"], one
            assert one[name]["kept_up"] > 0, one
        assert one["ratio_p99"] > 0


def test_scale_says_what_is_asked_and_leaves_nothing_running() -> None:
    with Bench("scale", "--seconds", "1", "--rate", "800", "--rounds", "1", "--json") as bench:
        result = bench.result()
        eventually_sync(bench.gone, "nothing is left running")
    assert set(result["normalizers"]) == {"1", "2", "4"}
    for one in result["normalizers"].values():
        assert one["cpu_us_per_frame"] > 1, one
        assert one["frames_per_s"] == 800, one
        assert one["shed"] == 0, one
    assert (result["streams"], result["target"]) == (16, 1.15)
    assert result["ratio_2"] > 0
    assert result["ratio_4"] > 0


def test_account_says_what_is_asked_and_leaves_nothing_running() -> None:
    with Bench("account", "--rounds", "1", "--count", "100", "--seconds", "3", "--json") as bench:
        result = bench.result()
        eventually_sync(bench.gone, "nothing is left running", within=60)
    publishing, latency = result["publishing"], result["latency"]
    assert set(publishing["per_s"]) == {"bare", "off", "on"}
    assert all(rate > 1 for rate in publishing["per_s"].values()), publishing
    assert publishing["ratio_journal_off"] > 0
    assert publishing["ratio_journal_on"] > 0
    for name in ("quiet", "burst"):
        assert 0 < latency[f"{name}_p50_ms"] <= latency[f"{name}_p99_ms"], latency
    assert latency["ratio_p99"] > 0
    assert latency["messages"] >= 40


def test_a_benchmark_that_is_killed_takes_everything_with_it() -> None:
    with Bench("pipeline", "--only", "tidegate", "--seconds", "60") as bench:

        def all_there() -> bool:
            running = bench.running()
            return all(any(part in command for command in running) for part in ("cli ingest", "cli normalizer", "beam"))

        eventually_sync(all_there, "the stages run", within=90)
        bench.process.send_signal(signal.SIGKILL)
        bench.process.wait(60)
        eventually_sync(bench.gone, "nothing is left running", within=60)


@pytest.mark.parametrize(
    "arguments", [("pipeline", "--seconds", "0"), ("latency", "--rate", "-1"), ("scale", "--rounds", "0"), ("nothing",)]
)
def test_what_cannot_be_measured_is_refused(arguments: tuple[str, ...]) -> None:
    with Bench(*arguments) as bench:
        assert bench.process.wait(60) == 2
