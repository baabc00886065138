"""The process that holds an account, killed at every step; and what it shows of its key and secret: nothing."""

import asyncio
import os
import re
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from aiohttp import web
from msgspec import json

from shared.bus.rabbit import RabbitBus
from shared.envelope import FrameKind, decode_reconciliation
from tests.fault.broker import Broker
from tests.support.account_reader import AccountReader, reading
from tests.support.accounting import STREAM, shown
from tests.support.eventually import eventually, eventually_sync
from tests.support.paths import ROOT
from tests.support.private_bybit import KEY, SECRET, PrivateBybit
from tests.support.processes import Stage, counter

pytestmark = pytest.mark.fault

WITHIN = 60.0
STEPS = ["auth", "execution/list", "account/wallet-balance", "caught up"]
ALL_STEPS = [
    "market/instruments-info",
    "market/time",
    "auth",
    "subscribe",
    "subscribed",
    "order/realtime",
    "order/history",
    "execution/list",
    "position/list",
    "account/wallet-balance",
    "caught up",
]
"""What the venue is asked, in order; ``caught up`` is a while after the last of it."""


class Account:
    """One account's processes, one after the other, on the same journal."""

    def __init__(self, directory: Path, venue: PrivateBybit, url: str, *arguments: str) -> None:
        self.directory = directory
        self._arguments = arguments
        self._url = url
        (directory / "key").write_text(f"{KEY}\n", encoding="utf-8")
        (directory / "secret").write_text(f"{SECRET}\n", encoding="utf-8")
        text = f"""
            [account]
            journal_directory = "{directory / "journal"}"
            hold_s = 3.0
            reconcile_interval_s = 0.5
            refused_initial_s = 0.2
            [ingest]
            reconnect_initial_s = 0.1
            reconnect_cap_s = 0.5
            announce_interval_s = 0.2
            [accounts.bybit.main]
            products = ["linear"]
            symbols = ["SOL/USDT:USDT"]
            key_file = "{directory / "key"}"
            secret_file = "{directory / "secret"}"
            [accounts.bybit.main.endpoints.linear]
            websocket = "{venue.websocket}"
            rest = "{venue.rest}"
        """
        (directory / "tidegate.toml").write_text(text, encoding="utf-8")

    @contextmanager
    def process(self, more: Mapping[str, str] | None = None) -> Iterator[Stage]:
        """One life; ``more`` is for its environment."""
        environment = {
            "TIDEGATE_CONFIG": str(self.directory / "tidegate.toml"),
            "AMQP_URL": self._url,
            **(more or {}),
        }
        stage = Stage(*self._arguments, "ingest", "bybit", "--account", "main", environment=environment)
        try:
            yield stage
        except AssertionError as error:
            raise AssertionError(f"{error}; its log ends with:\n{stage.log()[-3000:]}") from error
        finally:
            stage.close()


@asynccontextmanager
async def venue_and_bus(broker: Broker) -> AsyncIterator[tuple[PrivateBybit, RabbitBus]]:
    async with PrivateBybit() as venue, RabbitBus(broker.url, "test") as bus:
        await bus.declare(STREAM)
        yield venue, bus


def executions(reader: AccountReader) -> dict[str, int]:
    """Execution ids by the place of the first frame that tells of them, pushed or caught up with."""
    found: dict[str, int] = {}
    for place, one in enumerate(reader.frames):
        if one.frame.kind == FrameKind.TEXT:
            bodies = [one.frame.data]
        elif one.frame.kind == FrameKind.CATCH_UP:
            bodies = [reply.body for reply in decode_reconciliation(one.frame.data).replies]
        else:
            continue
        for body in bodies:
            for execution in re.findall(rb'"execId":"(\w+)"', body):
                found.setdefault(execution.decode(), place)
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("steps", [STEPS, pytest.param(ALL_STEPS, marks=pytest.mark.soak)])
async def test_killed_at_every_step_it_tells_every_execution_and_keeps_the_order(
    broker: Broker, tmp_path: Path, steps: list[str]
) -> None:
    lives: list[Stage] = []
    kills = 0

    async def before(what: str) -> web.Response | None:
        nonlocal kills
        await venue.push("execution.linear", venue.execution(len(venue.executions)))
        if kills < len(lives) and what == steps[kills]:  # each of the lives is killed once
            kills += 1
            lives[-1].process.kill()
        return None

    async with venue_and_bus(broker) as (venue, bus), reading(bus, STREAM) as reader:
        venue.before = before
        account = Account(tmp_path, venue, broker.url)
        for step in steps:
            with account.process() as stage:
                lives.append(stage)
                if step == "caught up":
                    await eventually(lambda: len(catch_ups(reader)) >= 2, within=WITHIN)
                    await before("caught up")
                await eventually(lambda: kills == len(lives), step, within=WITHIN)
                await asyncio.to_thread(stage.process.wait, 10)
        with account.process() as stage:
            await asyncio.to_thread(stage.wait_ready, WITHIN)
            everything = {str(row["execId"]) for row in venue.executions}
            await eventually(lambda: everything <= executions(reader).keys(), "all are told", within=WITHIN)
            assert await asyncio.to_thread(stage.terminate) == 0
        await eventually(lambda: shown(reader.frames[-1]) == "Disconnected", within=WITHIN)
        reader.assert_whole()
        assert_missed_come_first(reader)
        assert sum(1 for one in reader.frames if shown(one) == "Connected") >= 3


def catch_ups(reader: AccountReader) -> list[int]:
    return [place for place, one in enumerate(reader.frames) if one.frame.kind == FrameKind.CATCH_UP]


def assert_missed_come_first(reader: AccountReader) -> None:
    """In an epoch that was caught up with, nothing that was pushed comes out before that."""
    epochs: dict[int, list[str]] = {}
    for one in reader.frames:
        epochs.setdefault(one.epoch, []).append("text" if one.frame.kind == FrameKind.TEXT else shown(one))
    for words in epochs.values():
        if "catch_up" in words and "text" in words and "ReconciliationFailed" not in words:
            assert words.index("catch_up") < words.index("text"), words


async def test_a_broker_that_is_away_at_the_start_costs_no_frame(broker: Broker, tmp_path: Path) -> None:
    await broker.stop()
    async with PrivateBybit() as venue:
        account = Account(tmp_path, venue, broker.url)
        with account.process() as stage:
            await eventually(lambda: len(venue.sockets) == 1, "it listens all the same", within=WITHIN)
            for number in range(50):
                await venue.push("execution.linear", venue.execution(number))
            assert await asyncio.to_thread(waiting, stage, 50) >= 50
            assert await asyncio.to_thread(stage.terminate) == 0
        await broker.start()
        with account.process() as stage:
            async with RabbitBus(broker.url, "test") as bus, reading(bus, STREAM) as reader:
                await eventually(lambda: len(reader.texts()) == 50, "all comes out", within=WITHIN)
                await asyncio.to_thread(stage.wait_ready, WITHIN)
                reader.assert_whole()


def waiting(stage: Stage, count: int) -> int:
    """Frames in the journal, once there are so many."""

    def look() -> int:
        frames = counter(stage.metrics(), "tidegate_journal_frames", account="main")
        return frames if frames >= count else 0

    return eventually_sync(look, "frames wait", within=WITHIN)


async def test_key_and_secret_are_shown_nowhere(broker: Broker, tmp_path: Path) -> None:
    """Log lines of every level, tracebacks, metrics, readiness, the journal's file, frames, the process's arguments."""
    trouble = ["refuse", "errors", "close", "none"]
    signatures: set[str] = set()

    async def before(what: str) -> web.Response | None:
        if trouble[0] == "errors" and what == "order/realtime":
            return web.Response(status=500, text=f"{KEY} {SECRET}")
        if trouble[0] == "close" and what == "execution/list":
            venue.drop()
        return None

    shown_texts: list[str] = []
    async with venue_and_bus(broker) as (venue, bus):
        venue.before = before
        venue.signatures = signatures
        venue.refusal = f"Params Error for {KEY}"
        account = Account(tmp_path, venue, broker.url, "--verbose")
        async with reading(bus, STREAM) as reader:
            with account.process() as stage:
                await eventually(lambda: "AccountFailed" in map(shown, reader.frames), within=WITHIN)
                shown_texts += await asyncio.to_thread(pages, stage)
                venue.refusal = None
                trouble.pop(0)
                await eventually(lambda: "ReconciliationFailed" in map(shown, reader.frames), within=WITHIN)
                shown_texts += await asyncio.to_thread(pages, stage)
                trouble.pop(0)
                await eventually(lambda: venue.opened >= 4, within=WITHIN)
                trouble.pop(0)
                await eventually(lambda: catch_ups(reader), within=WITHIN)
                await asyncio.to_thread(stage.wait_ready, WITHIN)
                shown_texts += await asyncio.to_thread(pages, stage)
                shown_texts += await asyncio.to_thread(told_by_the_system, stage)
                with account.process() as second:  # ends with a traceback: its HTTP port and its journal are taken
                    await asyncio.to_thread(second.terminate)
                    shown_texts.append(second.log())
                assert await asyncio.to_thread(stage.terminate) == 0
                shown_texts.append(stage.log())
        shown_texts += [one.frame.data.decode(errors="replace") for one in reader.frames]
        shown_texts += [
            file.read_bytes().decode(errors="replace") for file in (tmp_path / "journal").iterdir() if file.is_file()
        ]
        assert len(signatures) > 10
        for text in shown_texts:
            for secret in (KEY, SECRET, *signatures):
                assert secret not in text, re.findall(rf".{{0,200}}{secret}", text)[0]
    assert "account_refused" in "".join(shown_texts)


DEFECT = """
import os
import threading

import shared.exchanges.signing as signing

right = signing.hmac_hex
made = []


class Fatal(BaseException):
    pass


def hmac_hex(secret, text):
    made.append(right(secret, text))
    if len(made) < int(os.environ["DEFECT_AFTER"]):
        return made[-1]
    words = f"signing {text} with {secret} failed"
    if os.environ["DEFECT_KIND"] == "thread":
        def crash():
            raise RuntimeError(words)
        thread = threading.Thread(target=crash)
        thread.start()
        thread.join()
        return made[-1]
    if os.environ["DEFECT_KIND"] == "fatal":
        raise Fatal(words)
    raise RuntimeError(words)


signing.hmac_hex = hmac_hex
"""
"""Put into a process before Tidegate's own code: signing breaks, and says everything that it knows."""


@pytest.mark.parametrize(
    ("kind", "after", "status"),
    [("fatal", 1, 1), ("fatal", 4, 1), ("error", 1, 0), ("error", 4, 0), ("thread", 1, 0)],
)
async def test_a_crash_in_the_middle_of_signing_shows_nothing(
    broker: Broker, tmp_path: Path, kind: str, after: int, status: int
) -> None:
    """At the login and at a request, caught by Tidegate and by nobody: the exception's text has all secrets in it."""
    (tmp_path / "defect").mkdir()
    (tmp_path / "defect" / "sitecustomize.py").write_text(DEFECT, encoding="utf-8")
    environment = {
        "PYTHONPATH": f"{tmp_path / 'defect'}{os.pathsep}{ROOT}",
        "DEFECT_KIND": kind,
        "DEFECT_AFTER": str(after),
    }
    async with venue_and_bus(broker) as (venue, _):
        venue.signatures = set()
        account = Account(tmp_path, venue, broker.url, "--verbose")
        with account.process(environment) as stage:
            if status:
                assert await asyncio.to_thread(stage.process.wait, WITHIN) == status
                served = []
            else:
                await eventually(lambda: CRASH in stage.log(), "it crashes", within=WITHIN)
                served = await asyncio.to_thread(pages, stage)
                assert await asyncio.to_thread(stage.terminate) == status
            log = stage.log()
    assert CRASH in log
    assert kind == "error" or "Traceback (most recent call last)" in log, "nobody caught it"
    for text in (log, *served):
        for secret in (KEY, SECRET, *venue.signatures):
            assert secret not in text, re.findall(rf".{{0,200}}{secret}", text)[0]


CRASH = "with ********** failed"


def told_by_the_system(stage: Stage) -> list[str]:
    """What every other process of this user can see."""
    return [Path(f"/proc/{stage.process.pid}/{name}").read_text() for name in ("cmdline", "environ")]


def pages(stage: Stage) -> list[str]:
    """Everything that it serves."""
    found = [stage.metrics()]
    for path in ("readyz", "livez", "asyncapi.json"):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{stage.port}/{path}", timeout=60) as reply:
                found.append(reply.read().decode())
        except urllib.error.HTTPError as error:
            found.append(error.read().decode())
            error.close()
    return found


def test_a_key_that_cannot_be_used_is_a_mistake_that_names_the_place_and_nothing_else(tmp_path: Path) -> None:
    account = Account(tmp_path, PrivateBybit(), "amqp://127.0.0.1:1/")
    (tmp_path / "key").write_text(f"{KEY}\n{KEY}")
    (tmp_path / "secret").unlink()
    with account.process() as stage:
        assert stage.process.wait(timeout=60) == 2
        assert "accounts.bybit.main.key: has characters that no key has" in stage.log()
        assert f"{tmp_path / 'secret'} cannot be read: No such file" in stage.log()
        assert KEY not in stage.log()


def test_an_account_that_is_not_configured_is_a_mistake(tmp_path: Path) -> None:
    environment = {"TIDEGATE_CONFIG": os.devnull}
    stage = Stage("ingest", "bybit", "--account", "other", environment=environment)
    try:
        assert stage.process.wait(timeout=60) == 2
        assert "accounts.bybit.other: there is no such account" in stage.log()
    finally:
        stage.close()


def test_the_words_of_the_venue_are_json() -> None:
    """What the other tests look for in frames stands on this spelling."""
    assert re.findall(rb'"execId":"(\w+)"', json.encode({"execId": "e1"})) == [b"e1"]
