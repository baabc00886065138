"""The account plane's normalizer on the in-process bus: order, identity, memory, quarantine, a file that fails."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from shared.accounts.state import AccountState
from shared.bus.base import Subscriber
from shared.bus.memory import MemoryBus
from shared.control import ResyncRequest, decode_control
from shared.envelope import Alive
from shared.quarantine import decode_record
from shared.topology import ACCOUNT, CONTROL, QUARANTINE, resync_key
from tests.support.eventually import eventually
from tests.unit.exchanges.bybit.account.frames import coin, execution, message, order, position, wallet
from tests.unit.normalizer.account_plane import (
    MAIN,
    SECOND,
    accounts_running,
    begin,
    caught_up,
    envelope_of,
    fills,
    mark,
    pushed,
)
from tests.unit.normalizer.plane import PATIENCE, messages


@pytest.fixture
async def bus() -> AsyncIterator[MemoryBus]:
    async with MemoryBus() as bus:
        yield bus


async def keys_of(subscriber: Subscriber, count: int) -> list[str]:
    async with asyncio.timeout(PATIENCE):
        return [(await subscriber.receive()).key for _ in range(count)]


def identities(found: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    return [(each["epoch"], each["frame"], each["part"]) for each in found]


async def test_every_kind_has_its_key_and_everything_comes_in_order(bus: MemoryBus, tmp_path: Path) -> None:
    account = await bus.subscribe(ACCOUNT, ["#"])
    frames = [
        *begin(),
        pushed(message("execution.linear", execution())),
        pushed(message("order.linear", order(orderStatus="PartiallyFilled", cumExecQty="4"))),
        pushed(wallet(coin())),
        pushed(message("position.linear", position())),
    ]
    async with accounts_running(bus, tmp_path) as plane:
        await plane.consume(MAIN)
        await plane.send(envelope_of(0, frames[:4]), envelope_of(4, frames[4:]), stream=MAIN)
        assert await keys_of(account, 6) == [
            "account_status.bybit.main._",
            "account_status.bybit.main._",
            "fill.bybit.main.SOL/USDT:USDT",
            "order.bybit.main.SOL/USDT:USDT",
            "balance.bybit.main.USDT",
            "position.bybit.main.SOL/USDT:USDT",
        ]
        await plane.done_with(7)
        assert plane.frames("published") == 7


async def test_neighbors_of_one_key_share_a_body(bus: MemoryBus, tmp_path: Path) -> None:
    account = await bus.subscribe(ACCOUNT, ["fill.#"])
    many = pushed(message("execution.linear", *(execution(execId=f"e-{index}") for index in range(70))))
    async with accounts_running(bus, tmp_path) as plane:
        await plane.consume(MAIN)
        await plane.send(envelope_of(0, [*begin(), many]), stream=MAIN)
        found = await messages(account, 64)
        assert len(found) == 64
        found += await messages(account, 6)
    assert identities(found) == [(1, 3, index) for index in range(70)]


async def test_after_a_restart_nothing_is_told_again(bus: MemoryBus, tmp_path: Path) -> None:
    account = await bus.subscribe(ACCOUNT, ["fill.#"])
    bodies = [envelope_of(0, begin()), *(envelope_of(3 + at, [each]) for at, each in enumerate(fills(1, 2, 3)))]
    async with accounts_running(bus, tmp_path) as plane:
        await plane.consume(MAIN)
        await plane.send(*bodies[:3], stream=MAIN)
        await plane.done_with(5)
    async with accounts_running(bus, tmp_path) as plane:
        await plane.consume(MAIN)
        again = envelope_of(6, fills(2, 4))
        await plane.send(*bodies[1:], again, stream=MAIN)
        found = await messages(account, 4)
        await plane.done_with(5)
        assert plane.frames("repeated") == 2
        assert plane.telemetry.total("tidegate_fills_deduplicated_total", {"account": "main"}) == 1
    assert [each["execution_id"] for each in found] == ["e-1", "e-2", "e-3", "e-4"]


async def test_what_cannot_be_read_is_kept_told_and_asked_for(bus: MemoryBus, tmp_path: Path) -> None:
    account = await bus.subscribe(ACCOUNT, ["account_status.#", "fill.#"])
    control = await bus.subscribe(CONTROL, [resync_key("bybit")])
    quarantine = await bus.subscribe(QUARANTINE, ["account"])
    async with accounts_running(bus, tmp_path) as plane:
        await plane.consume(MAIN)
        await plane.send(envelope_of(0, [*begin(), caught_up(1_000, 90_000)]), stream=MAIN)
        await plane.send(envelope_of(4, [pushed(b"{broken")]), b"no envelope", stream=MAIN)
        await plane.send(envelope_of(5, fills(1)), stream=MAIN)
        found = await messages(account, 6)
        kept = [decode_record((await quarantine.receive()).body) for _ in range(2)]
        async with asyncio.timeout(PATIENCE):
            asked = decode_control((await control.receive()).body)
        await plane.done_with(7)
        assert plane.telemetry.total("tidegate_quarantined_total", {"plane": "account"}) == 2
        stale = {"exchange": "bybit", "account": "main", "status": "stale"}
        assert plane.telemetry.total("tidegate_account_status", stale) == 1
    assert [(each["feed"], each.get("status"), each.get("detail")) for each in found[2:]] == [
        ("account_status", "reconciled", None),
        ("account_status", "stale", "invalid_json"),
        ("account_status", "stale", "invalid_envelope"),
        ("fill", None, None),
    ]
    assert [(record.code, record.frame, record.data) for record in kept] == [
        ("invalid_json", 4, b"{broken"),
        ("invalid_envelope", 0, b"no envelope"),
    ]
    assert asked == ResyncRequest("bybit", "bybit.main", "account", "30000", "quarantined")


async def test_a_defect_in_the_middle_of_a_frame_costs_that_frame_alone(
    bus: MemoryBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = AccountState._fill

    def breaks(self: AccountState, fill: Any, *rest: Any) -> None:
        taken(self, fill, *rest)
        if fill.execution_id == "e-2":
            raise ZeroDivisionError("a defect")

    monkeypatch.setattr(AccountState, "_fill", breaks)
    account = await bus.subscribe(ACCOUNT, ["fill.#"])
    quarantine = await bus.subscribe(QUARANTINE, ["account"])
    async with accounts_running(bus, tmp_path) as plane:
        await plane.consume(MAIN)
        await plane.send(envelope_of(0, [*begin(), *fills(1, 2, 3)]), stream=MAIN)
        found = await messages(account, 3)
        kept = decode_record((await quarantine.receive()).body)
        await plane.done_with(6)
    assert (kept.code, kept.frame, kept.detail) == ("internal", 4, "ZeroDivisionError: a defect")
    # What came before it was told already, and comes again with the same identity.
    assert [each["execution_id"] for each in found] == ["e-1", "e-1", "e-3"]
    assert identities(found)[0] == identities(found)[1]


async def test_a_file_that_is_corrupt_stops_its_stream_alone_until_it_is_set_aside(
    bus: MemoryBus, tmp_path: Path
) -> None:
    file = tmp_path / "bybit.main.sqlite"
    file.write_bytes(b"this is no database, and long enough to be taken for one" * 40)
    account = await bus.subscribe(ACCOUNT, ["fill.#"])
    async with accounts_running(bus, tmp_path) as plane:
        await plane.consume(MAIN, SECOND)
        for stream in (MAIN, SECOND):
            await plane.send(envelope_of(0, [*begin(), *fills(stream.stream)], stream), stream=stream)
        assert (await messages(account, 1))[0]["account"] == "second"
        problem = await eventually(plane.normalizer.problem, "the problem is told") or ""
        assert f"account state {file} corrupt: file is not a database; stop this process" in problem
        assert plane.telemetry.total("tidegate_account_state_usable", {"account": "main"}) == 0
        assert plane.telemetry.total("tidegate_account_failures_total", {"reason": "state_corrupt"}) >= 1
        file.rename(tmp_path / "aside")
        assert (await messages(account, 1))[0]["account"] == "main"
        await eventually(lambda: plane.normalizer.problem() is None)


async def test_a_file_of_another_process_is_not_touched(bus: MemoryBus, tmp_path: Path) -> None:
    async with accounts_running(bus, tmp_path) as plane:
        await plane.consume(MAIN)
        await plane.send(envelope_of(0, begin()), stream=MAIN)
        await plane.done_with(3)
    holder = sqlite3.connect(tmp_path / "bybit.main.sqlite", isolation_level=None)
    try:
        holder.execute("BEGIN EXCLUSIVE")
        account = await bus.subscribe(ACCOUNT, ["fill.#"])
        async with accounts_running(bus, tmp_path) as plane:
            await plane.consume(MAIN)
            await plane.send(envelope_of(3, fills(1)), stream=MAIN)
            problem = await eventually(plane.normalizer.problem, "the problem is told") or ""
            assert "locked" in problem
            holder.execute("ROLLBACK")
            holder.close()
            assert (await messages(account, 1))[0]["execution_id"] == "e-1"
    finally:
        holder.close()


async def test_alive_repeats_the_status(bus: MemoryBus, tmp_path: Path) -> None:
    account = await bus.subscribe(ACCOUNT, ["account_status.#"])
    async with accounts_running(bus, tmp_path) as plane:
        await plane.consume(MAIN)
        frames = [*begin(), caught_up(1_000, 90_000), mark(Alive()), mark(Alive())]
        await plane.send(envelope_of(0, frames), stream=MAIN)
        found = await messages(account, 5)
    assert [each["status"] for each in found[2:]] == ["reconciled"] * 3
    assert {each["ts_reconciled"] for each in found[2:]} == {90_000_000_000}
