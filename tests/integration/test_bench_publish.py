"""What a published message costs, measured."""

import argparse

import pytest
from msgspec import json

from services.bench import publish
from services.cli.errors import UsageError
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry
from tests.support.rabbit import ensure_server

pytestmark = pytest.mark.integration


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    publish.add_arguments(parser)
    return publish.run(parser.parse_args(arguments), Settings(), Telemetry())


def test_both_publishers_are_measured_in_every_shape(capsys: pytest.CaptureFixture[str]) -> None:
    ensure_server()
    assert run("--rounds", "1", "--count", "20", "--json") == 0
    found = json.decode(capsys.readouterr().out.splitlines()[-1])["results"]
    assert [one["shape"] for one in found] == [shape.name for shape in publish.SHAPES]
    assert all(one[name] > 0 for one in found for name in ("lean_us", "plain_us", "ratio", "lean_per_s", "plain_per_s"))


@pytest.mark.parametrize("argument", ["--rounds", "--count", "--bytes"])
def test_what_cannot_be_measured_is_refused(argument: str) -> None:
    with pytest.raises(UsageError, match=argument):
        run(argument, "0")
