"""Where parsing runs, measured."""

import argparse

import pytest
from msgspec import json

from services.bench import executor
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry


def test_both_forms_are_measured_on_the_same_frames(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    executor.add_arguments(parser)
    assert executor.run(parser.parse_args(["--rounds", "1", "--count", "1", "--json"]), Settings(), Telemetry()) == 0
    found = json.decode(capsys.readouterr().out.splitlines()[-1])["executors"]
    assert [one["executor"] for one in found] == ["inline", "thread"]
    assert all(one["frames_per_s"] > 0 and one["late_p99_us"] >= one["late_p50_us"] for one in found)
