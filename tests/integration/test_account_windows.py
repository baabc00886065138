"""Reconciliations that don't fit: into the adapter's bounds, or into one frame."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from services.ingest.account import catching_up, main
from shared.accounts.base import AccountPlan, Call, CatchUp, CatchUpNeeds
from shared.envelope import ReconciliationFailed, RestReply
from shared.exchanges.bybit.account.adapter import BybitAccountAdapter
from tests.support.accounting import AccountRunning, account_running, account_settings
from tests.support.eventually import eventually
from tests.support.private_bybit import PrivateBybit

pytestmark = pytest.mark.integration

HOUR_MS: Final = 3_600_000


class OneCall:
    """Asks once; ``covers`` so many ms of its window, 0 for nothing of it."""

    def __init__(self, needs: CatchUpNeeds, covers: int) -> None:
        self._needs = needs
        self._covers = covers

    def begin(self) -> Sequence[Call]:
        parameters = (("category", "linear"), ("startTime", str(self._needs.since_ms)))
        return [Call("GET", "/v5/execution/list", (*parameters, ("endTime", str(self._needs.until_ms))))]

    def replied(self, call: Call, reply: RestReply) -> Sequence[Call]:
        del call, reply
        return ()

    @property
    def covered_ms(self) -> int:
        return min(self._needs.since_ms + self._covers, self._needs.until_ms)


class Bounded(BybitAccountAdapter):
    """Bybit, asked in another way."""

    def __init__(self, covers: int) -> None:
        self.covers = covers
        self.needs: list[CatchUpNeeds] = []

    def catch_up(self, plan: AccountPlan, needs: CatchUpNeeds) -> CatchUp:
        del plan
        self.needs.append(needs)
        return OneCall(needs, self.covers)


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> Bounded:
    """Takes the place of the venue's own adapter."""
    adapter = Bounded(HOUR_MS)
    monkeypatch.setattr(main, "account_adapter", lambda _: adapter)
    return adapter


def windows(one: AccountRunning) -> list[tuple[int, int]]:
    return [(each.since_ms, each.until_ms) for each in one.reconciliations()]


async def test_what_an_adapter_does_not_cover_at_once_is_asked_for_at_once_again(
    tmp_path: Path, bounded: Bounded
) -> None:
    bounded.covers = HOUR_MS // 4
    async with PrivateBybit() as venue, account_running(venue, account_settings(tmp_path, lookback_s=3600)) as one:
        await eventually(lambda: one.count("reconciliations_total", outcome="complete") == 1)
        await eventually(lambda: len(windows(one)) == one.count("reconciliations_total"))
        found = windows(one)
        assert len(found) >= 4
        assert [until for _, until in found[:-1]] == [since for since, _ in found[1:]]
        one.raw.assert_complete()


async def test_held_frames_wait_for_the_last_part(tmp_path: Path, bounded: Bounded) -> None:
    bounded.covers = HOUR_MS // 4

    async def before(what: str) -> None:
        if what == "subscribed":
            await venue.push("execution.linear", venue.execution(1))

    async with PrivateBybit() as venue:
        venue.before = before
        async with account_running(venue, account_settings(tmp_path, lookback_s=3600)) as one:
            await eventually(one.texts)
            words = one.words()
            assert words[:3] == ["Connected", "lists", "Authenticated"]
            assert set(words[3:-1]) == {"catch_up"}
            assert len(words) >= 8


async def test_a_reply_that_is_too_large_for_a_frame_is_asked_for_in_halves(
    tmp_path: Path, bounded: Bounded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catching_up, "MAX_FRAME_BYTES", 1500)
    async with PrivateBybit() as venue:
        now = venue.now_ms()
        for number in range(40):
            venue.execution(number, now - number * HOUR_MS // 40)
        venue.page = 1000
        async with account_running(venue, account_settings(tmp_path, lookback_s=3600, hold_s=0.1)) as one:
            await eventually(lambda: one.count("reconciliations_total", outcome="complete") == 1, within=60)
            assert one.count("reconciliations_total", outcome="too_large") >= 3
            told = b"".join(reply.body for each in one.reconciliations() for reply in each.replies)
            assert all(f'"e{number}"'.encode() in told for number in range(40))
            widths = [needs.until_ms - needs.since_ms for needs in bounded.needs]
            assert widths[1] == widths[0] // 2
            one.raw.assert_complete()


async def test_one_that_gets_nowhere_is_a_failure_and_tried_later(tmp_path: Path, bounded: Bounded) -> None:
    bounded.covers = 0
    async with PrivateBybit() as venue, account_running(venue, account_settings(tmp_path, lookback_s=60)) as one:
        await eventually(lambda: one.count("reconciliations_total", outcome="stuck") >= 2)
        assert len(venue.windows) < 10
        assert one.ingest.problem() is not None
        bounded.covers = HOUR_MS
        await eventually(lambda: one.ingest.problem() is None)


async def test_endless_paging_is_a_failure(tmp_path: Path, bounded: Bounded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OneCall, "replied", lambda _self, call, _reply: [call])
    monkeypatch.setattr(catching_up, "MAX_CALLS", 20)
    async with PrivateBybit() as venue, account_running(venue, account_settings(tmp_path, hold_s=1.0)) as one:
        await eventually(lambda: one.raw.marks(ReconciliationFailed))
        assert "more than 20 calls" in str(one.raw.marks(ReconciliationFailed)[0].detail)
