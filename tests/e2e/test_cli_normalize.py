"""``tidegate normalize`` in pipes, and what the commands import."""

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import json

from tests.support.paths import ROOT
from tests.unit.cli.processes import command, environment, finished
from tests.unit.exchanges.bybit.frames import trade, trades

pytestmark = pytest.mark.e2e

LINEAR = ("normalize", "--exchange", "bybit", "--product", "linear")
TRADE = trades(trade("t1")) + b"\n"


@pytest.mark.parametrize("file", [[], ["-"]])
def test_standard_input_to_standard_output(file: list[str]) -> None:
    done = finished(*LINEAR, *file, data=TRADE * 2 + b"garbage\n")
    assert done.returncode == 3
    assert [json.decode(line)["trade_id"] for line in done.stdout.splitlines()] == ["t1"]
    assert json.decode(done.stderr)["line"] == 3


def test_what_came_of_a_line_is_there_before_the_next_one_comes() -> None:
    with subprocess.Popen(
        command(*LINEAR), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for number in (b"1", b"2"):
            process.stdin.write(TRADE.replace(b'"t1"', b'"t%b"' % number))
            process.stdin.flush()
            assert json.decode(process.stdout.readline())["trade_id"] == f"t{number.decode()}"
        process.stdin.write(b"garbage\n")
        process.stdin.flush()
        assert json.decode(process.stderr.readline())["code"] == "invalid_json"
        process.stdin.close()
        assert process.wait(timeout=60) == 3


@pytest.mark.parametrize("merged", [False, True], ids=["stdout", "both"])
def test_a_reader_who_has_enough_ends_it_quietly(tmp_path: Path, *, merged: bool) -> None:
    file = tmp_path / "frames"
    lines = [b"garbage\n"] * 20_000 if merged else [TRADE.replace(b'"t1"', b'"%d"' % each) for each in range(5_000)]
    file.write_bytes(b"".join(lines))
    # What is left to read is far more than a pipe holds.
    script = f"{' '.join(command(*LINEAR))} {file} {'2>&1' if merged else ''} | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, env=environment(), check=True)
    out = done.stdout.splitlines()
    assert (len(out), out[-1], done.stderr) == (2, b"3" if merged else b"0", b"")
    assert ("trade_id" if not merged else "invalid_json") in out[0].decode()


def test_help_ends_quietly_in_a_closed_pipe() -> None:
    script = f"{sys.executable} -m services.cli check --no-broker | true"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, env=environment(), check=False)
    assert done.stderr == b""


HEAVY = ("faststream", "aio_pika", "aiohttp", "pydantic", "rich", "prometheus_client", "websockets", "google.protobuf")


WATCH = """
import json, sys
from services.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def imported(*arguments: str, data: bytes = b"") -> set[str]:
    """Modules that are there when a command has ended."""
    done = subprocess.run(
        [sys.executable, "-c", WATCH, *arguments],
        input=data,
        capture_output=True,
        cwd=ROOT,
        env=environment(),
        timeout=60,
        check=True,
    )
    return set(json.decode(done.stderr.splitlines()[-1], type=list[str]))


def test_help_imports_next_to_nothing() -> None:
    modules = imported("--help")
    assert "argparse" in modules
    assert not modules & {*HEAVY, "msgspec", "asyncio"}


def test_normalize_imports_only_what_it_needs() -> None:
    modules = imported(*LINEAR, data=TRADE)
    assert "shared.exchanges.bybit" in modules
    assert not modules & {*HEAVY, "shared.exchanges.mexc", "shared.settings"}


def test_run_needs_no_broker_library() -> None:
    modules = imported("run", "--seconds", "0.2", "--json", "--exchange", "bybit")
    assert "services.normalizer.session" in modules
    assert not modules & {"faststream", "aio_pika", "aiormq"}


@pytest.mark.parametrize(
    "name",
    ["run", "up", "ingest", "normalizer", "simulator", "normalize", "record", "replay", "tap", "check"],
)
def test_help_of_every_command_tells_the_defaults(name: str) -> None:
    done = finished(name, "--help")
    assert done.returncode == 0
    text = " ".join(done.stdout.decode().split())
    options = [part for part in text.partition("options:")[2].split(" --") if part]
    for option in options[2:]:
        assert "default" in option or "several times" in option or option.startswith(("exchange", "product")), option


def test_unknown_commands_are_told() -> None:
    done = finished("frobnicate")
    assert done.returncode == 2
    assert b"frobnicate" in done.stderr


def test_who_stops_reading_still_has_the_exit_status(tmp_path: Path) -> None:
    """Of rejected lines, whichever of the two outputs nobody reads any more."""
    frames = tmp_path / "frames"
    frames.write_bytes(b"garbage\n" * 20_000)
    for gone in ("2> >(head -1 >/dev/null) >/dev/null", "2>/dev/null | head -1 >/dev/null; exit ${PIPESTATUS[0]}"):
        line = f"{sys.executable} -m services.cli normalize --exchange bybit --product linear {frames} {gone}"
        done = subprocess.run(["bash", "-c", line], cwd=ROOT, env=environment(), check=False)
        assert done.returncode == 3, gone


@pytest.mark.parametrize("reply", ['{"url": "http://[/", "body": {}}', '{"url": "http://x", "body": ' + "[" * 200_000])
def test_replies_that_cannot_be_are_unusable_arguments(tmp_path: Path, reply: str) -> None:
    """One line, status 2."""
    replies = tmp_path / "rest"
    replies.write_text(reply)
    done = subprocess.run(
        command("normalize", "--exchange", "binance", "--product", "spot", "--rest", str(replies)),
        cwd=ROOT,
        env=environment(),
        input=b"",
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
