"""An account's ingest and a private venue over real sockets: what comes out, in which order, when things go wrong."""

import asyncio
import shutil
from pathlib import Path

import pytest
from aiohttp import web

from services.ingest.account import writer
from shared.accounts.base import Credentials
from shared.control import Announcement, ResyncRequest, decode_control, encode_control
from shared.envelope import AccountFailed, Connected, Disconnected, FrameKind, ReconciliationFailed, decode_mark
from shared.topology import CONTROL, announcement_key, resync_key
from tests.support.accounting import STREAM, account_running, account_settings
from tests.support.eventually import eventually
from tests.support.ingesting import ShiftedClock
from tests.support.private_bybit import KEY, SECRET, PrivateBybit, nothing

pytestmark = pytest.mark.integration

BEGINNING = ["Connected", "lists", "Authenticated", "catch_up"]


async def test_a_connection_begins_with_lists_login_and_reconciliation(tmp_path: Path) -> None:
    async with PrivateBybit() as venue, account_running(venue, account_settings(tmp_path)) as one:
        await one.reconciled()
        await venue.push("execution.linear", venue.execution(1))
        await eventually(lambda: len(one.texts()) == 1)
        assert one.words()[:4] == BEGINNING
        assert one.ingest.problem() is None
        await one.stop()
        assert one.words()[5:] == ["Disconnected"]
        one.raw.assert_complete()
        assert one.raw.marks(Connected) == [Connected(f"{venue.websocket}/v5/private")]
        assert {numbered.frame.kind for numbered in one.raw.of(STREAM.stream)} == set(FrameKind) - {FrameKind.BINARY}
        received, published = one.count("account_frames_received_total"), one.count("account_frames_published_total")
        assert received == published == len(one.raw.only())


async def test_what_is_pushed_during_the_reconciliation_comes_out_behind_it(tmp_path: Path) -> None:
    go_on = asyncio.Event()

    async def before(what: str) -> None:
        if what == "subscribed":
            await venue.push("execution.linear", venue.execution(1))
        if what == "account/wallet-balance":
            await venue.push("execution.linear", venue.execution(2))
            await go_on.wait()

    async with PrivateBybit() as venue:
        venue.before = before
        async with account_running(venue, account_settings(tmp_path)) as one:
            await eventually(lambda: one.words() == BEGINNING[:3])
            await eventually(lambda: one.count("journal_frames") == 2, "both are held on disk")
            assert one.texts() == []
            go_on.set()
            await eventually(lambda: len(one.texts()) == 2)
            assert one.words()[:4] == BEGINNING
            assert ["e1" in text for text in one.texts()] == [True, False]
        one.raw.assert_complete()


async def test_held_frames_go_on_after_a_while_and_it_is_said_that_something_may_be_missing(tmp_path: Path) -> None:
    broken = True

    async def before(what: str) -> web.Response | None:
        if what == "subscribed":
            await venue.push("execution.linear", venue.execution(1))
        if what == "execution/list" and broken:
            return web.Response(status=500)
        return None

    async with PrivateBybit() as venue:
        venue.before = before
        async with account_running(venue, account_settings(tmp_path, hold_s=0.5)) as one:
            await eventually(lambda: len(one.texts()) == 1)
            assert [word[:7] for word in one.words()[3:5]] == ["Reconci", '{"id":"']
            assert "not reconciled" in str(one.ingest.problem())
            await eventually(lambda: one.count("reconciliations_total", outcome="failed") >= 1)
            broken = False
            await one.reconciled()
            assert len(one.raw.marks(ReconciliationFailed)) == 1
            await eventually(lambda: one.ingest.problem() is None)
        one.raw.assert_complete()


async def test_after_a_lost_connection_is_asked_what_happened_meanwhile(tmp_path: Path) -> None:
    async with PrivateBybit() as venue, account_running(venue, account_settings(tmp_path)) as one:
        await one.reconciled()
        before = one.reconciliations()[0].until_ms
        venue.drop()
        for number in range(5):
            venue.execution(number)
        await one.reconciled(2)
        again = one.reconciliations()[1]
        assert before - 61_000 < again.since_ms <= before - 60_000
        assert again.until_ms >= int(str(venue.executions[-1]["execTime"]))
        found = b"".join(reply.body for reply in again.replies)
        assert all(f'"e{number}"'.encode() in found for number in range(5))
        assert one.words()[4:] == ["Disconnected", *BEGINNING]
        one.raw.assert_complete()
        marks = one.raw.marks(Connected)
        assert (marks[1].previous_epoch, marks[1].previous_frames) == (one.raw.epochs()[0], 5)


async def test_a_restart_goes_on_from_what_the_journal_knows(tmp_path: Path) -> None:
    async with PrivateBybit() as venue:
        async with account_running(venue, account_settings(tmp_path)) as one:
            await one.reconciled()
            covered, epoch = one.reconciliations()[0].until_ms, one.raw.epochs()[0]
        async with account_running(venue, account_settings(tmp_path)) as two:
            await two.reconciled()
            assert covered - 61_000 < two.reconciliations()[0].since_ms <= covered - 60_000
            assert two.raw.marks(Connected)[0].previous_epoch == epoch
            assert two.raw.marks(Connected)[0].previous_frames == len(one.raw.only())


async def test_the_first_start_ever_looks_back_as_far_as_the_settings_say(tmp_path: Path) -> None:
    async with PrivateBybit() as venue, account_running(venue, account_settings(tmp_path, lookback_s=3600)) as one:
        await one.reconciled()
        first = one.reconciliations()[0]
        assert first.until_ms - first.since_ms == 3_600_000


async def test_reconciliation_is_repeated_and_signs_of_life_are_given(tmp_path: Path) -> None:
    settings = account_settings(tmp_path, reconcile_interval_s=0.6, alive_interval_s=0.2)
    async with PrivateBybit() as venue, account_running(venue, settings) as one:
        await one.reconciled(4)
        await eventually(lambda: one.words().count("Alive") >= 2)
        assert one.words()[:4] == BEGINNING
        assert one.count("reconnects_total") == 0


async def test_a_reconciliation_that_fails_later_is_said_once_and_made_good(tmp_path: Path) -> None:
    broken = False

    async def before(what: str) -> web.Response | None:
        return web.Response(status=502) if broken and what == "account/wallet-balance" else None

    settings = account_settings(tmp_path, reconcile_interval_s=0.3)
    async with PrivateBybit() as venue:
        venue.before = before
        async with account_running(venue, settings) as one:
            await one.reconciled()
            broken = True
            await eventually(lambda: one.raw.marks(ReconciliationFailed))
            await eventually(lambda: one.count("reconciliations_total", outcome="failed") >= 2)
            assert len(one.raw.marks(ReconciliationFailed)) == 1
            assert one.ingest.problem() is not None
            broken = False
            seen = len(one.reconciliations())
            await one.reconciled(seen + 1)
            await eventually(lambda: one.ingest.problem() is None)


@pytest.mark.parametrize("keys", [("wrong", SECRET), (KEY, "wrong")])
async def test_a_refused_key_is_said_and_asked_for_again_much_later(tmp_path: Path, keys: tuple[str, str]) -> None:
    settings = account_settings(tmp_path, refused_initial_s=600.0, refused_cap_s=3600.0)
    async with (
        PrivateBybit() as venue,
        account_running(venue, settings, credentials=Credentials(*keys)) as one,
    ):
        await eventually(lambda: one.raw.marks(AccountFailed))
        assert one.words() == ["Connected", "lists", "Disconnected", "AccountFailed"]
        assert one.raw.marks(Disconnected)[0].reason == "refused"
        assert "the venue refuses the account" in str(one.ingest.problem())
        assert one.count("account_failures_total", account="main") == 1
        assert venue.logins == 1
        one.raw.assert_complete()


async def test_a_key_that_only_rest_refuses_is_refused(tmp_path: Path) -> None:
    async def before(what: str) -> web.Response | None:
        if what == "order/realtime":
            return web.Response(body=b'{"retCode":10005,"retMsg":"Permission denied","result":{},"time":1}')
        return None

    async with PrivateBybit() as venue:
        venue.before = before
        async with account_running(venue, account_settings(tmp_path, refused_initial_s=600.0)) as one:
            await eventually(lambda: one.raw.marks(AccountFailed))
            assert one.raw.marks(AccountFailed)[0].reason == "permission"
            assert one.words()[-2:] == ["Disconnected", "AccountFailed"]


async def test_an_account_comes_back_when_the_venue_takes_it_again(tmp_path: Path) -> None:
    async with PrivateBybit() as venue:
        venue.refusal = "Params Error"
        async with account_running(venue, account_settings(tmp_path)) as one:
            await eventually(lambda: len(one.raw.marks(AccountFailed)) >= 2)
            venue.refusal = None
            await one.reconciled()
            assert one.ingest.problem() is None
        one.raw.assert_complete()


@pytest.mark.parametrize("offset_ms", [900, -6000, 3_600_000])
async def test_the_venue_s_clock_counts_whatever_ours_says(tmp_path: Path, offset_ms: int) -> None:
    async with PrivateBybit() as venue:
        venue.offset_ms = offset_ms
        async with account_running(venue, account_settings(tmp_path)) as one:
            await one.reconciled()
            measured = one.count("account_clock_offset_seconds")
            assert abs(measured * 1000 - offset_ms) < 500
            alarms = one.count("account_failures_total", reason="clock_offset")
            assert alarms == (1 if abs(offset_ms) > 1000 else 0)


async def test_a_wall_clock_that_is_set_while_it_runs_breaks_nothing(tmp_path: Path) -> None:
    class SetClock(ShiftedClock):
        """Only the wall clock is set."""

        def monotonic(self) -> int:
            return super().monotonic() - self.shift

    clock = SetClock()
    settings = account_settings(tmp_path, reconcile_interval_s=0.3)
    async with PrivateBybit() as venue, account_running(venue, settings, clock=clock) as one:
        await one.reconciled()
        asked = venue.asked.count("market/time")
        clock.shift = -7200 * 1_000_000_000
        seen = len(one.reconciliations())
        await one.reconciled(seen + 3)
        assert venue.asked.count("market/time") > asked, "it was measured anew"
        assert one.count("reconnects_total") == 0
        assert one.raw.marks(AccountFailed) == []


async def test_a_venue_whose_clock_is_set_is_measured_anew_instead_of_given_up(tmp_path: Path) -> None:
    settings = account_settings(tmp_path, reconcile_interval_s=0.3, refused_initial_s=600.0)
    async with PrivateBybit() as venue, account_running(venue, settings) as one:
        await one.reconciled()
        venue.offset_ms = 20_000
        await eventually(lambda: one.raw.marks(Disconnected))
        assert one.raw.marks(Disconnected)[0].reason == "refused"
        seen = len(one.reconciliations())
        await one.reconciled(seen + 1)
        assert one.raw.marks(AccountFailed) == []
        assert one.count("account_clock_offset_seconds") == pytest.approx(20, abs=0.5)


async def test_a_login_that_comes_too_late_for_the_venue_s_clock_is_made_anew(tmp_path: Path) -> None:
    """The venue does not say that it was the time."""
    async with (
        PrivateBybit() as venue,
        account_running(venue, account_settings(tmp_path, refused_initial_s=600.0)) as one,
    ):
        await one.reconciled()
        venue.offset_ms = 3_600_000
        venue.drop()
        await one.reconciled(2)
        assert venue.logins == 3
        assert one.raw.marks(AccountFailed) == []


async def test_a_disk_that_is_too_slow_costs_the_connection_and_no_execution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with PrivateBybit() as venue, account_running(venue, account_settings(tmp_path)) as one:
        await one.reconciled()
        monkeypatch.setattr(writer, "MAX_PENDING_BYTES", 10)
        await venue.push("execution.linear", venue.execution(1))
        await eventually(lambda: one.raw.marks(Disconnected))
        monkeypatch.undo()
        assert one.raw.marks(Disconnected)[0].reason == "journal_slow"
        assert one.count("account_failures_total", reason="journal_slow") == 1
        await one.reconciled(2)
        assert b'"e1"' in b"".join(reply.body for reply in one.reconciliations()[1].replies)


async def test_frames_that_were_held_when_the_process_died_come_first(tmp_path: Path) -> None:
    async def before(what: str) -> None:
        if what == "account/wallet-balance":
            await venue.push("execution.linear", venue.execution(1))
            await venue.push("execution.linear", venue.execution(2))
            await asyncio.Event().wait()

    async with PrivateBybit() as venue:
        venue.before = before
        async with account_running(venue, account_settings(tmp_path / "first")) as one:
            await eventually(lambda: one.words() == BEGINNING[:3])
            await eventually(lambda: one.count("journal_frames") == 2, "both are held on disk")
            await asyncio.to_thread(shutil.copytree, tmp_path / "first", tmp_path / "crashed")
            epoch = one.raw.epochs()[0]
        venue.before = nothing
        async with account_running(venue, account_settings(tmp_path / "crashed")) as two:
            await two.reconciled()
            frames = two.raw.only()
            assert [(one.epoch, one.number) for one in frames[:2]] == [(epoch, 3), (epoch, 4)]
            assert [b'"e1"' in one.frame.data for one in frames[:2]] == [True, False]
            assert two.words()[2:] == BEGINNING
            assert two.raw.marks(Connected)[0].previous_frames == 5


async def test_normalizers_learn_of_the_stream_and_get_the_lists_when_they_ask(tmp_path: Path) -> None:
    async with PrivateBybit() as venue, account_running(venue, account_settings(tmp_path)) as one:
        tap = await one.bus.subscribe(CONTROL, [announcement_key()])
        await one.reconciled()
        message = decode_control((await tap.receive()).body)
        assert isinstance(message, Announcement)
        assert message.streams == [STREAM]
        publisher = await one.bus.publisher()
        request = ResyncRequest("bybit", STREAM.stream, "instruments", None, "started")
        await publisher.publish(CONTROL, resync_key("bybit"), encode_control(request), deadline_s=1.0)
        await eventually(lambda: one.words().count("lists") == 2)
        known = one.raw.epochs()[-1] + 10_000_000
        request = ResyncRequest("bybit", STREAM.stream, "epoch", str(known), "started")
        await publisher.publish(CONTROL, resync_key("bybit"), encode_control(request), deadline_s=1.0)
        await one.reconciled(2)
        assert one.raw.epochs()[-1] > known


async def test_a_venue_that_accepts_and_closes_is_not_stormed(tmp_path: Path) -> None:
    async def before(what: str) -> None:
        if what == "auth":
            venue.drop()

    async with PrivateBybit() as venue:
        venue.before = before
        settings = account_settings(tmp_path)
        ingest = settings.ingest.model_copy(update={"reconnect_initial_s": 0.2, "reconnect_cap_s": 60.0})
        async with account_running(venue, settings.model_copy(update={"ingest": ingest})) as one:
            await eventually(lambda: venue.opened >= 4)
            assert one.ingest._holders["bybit.main"]._backoff.attempts >= 3, "an open socket alone is no success"
            assert len(one.raw.marks(Disconnected)) >= 3
        one.raw.assert_complete()


async def test_silence_of_the_rest_endpoints_costs_no_live_frame(tmp_path: Path) -> None:
    """No clock, no lists: nothing can be signed. Once they are back everything goes on by itself."""
    away = True

    async def before(what: str) -> web.Response | None:
        return web.Response(status=503) if away and what.startswith("market/") else None

    async with PrivateBybit() as venue:
        venue.before = before
        async with account_running(venue, account_settings(tmp_path)) as one:
            await eventually(lambda: "market/instruments-info" in venue.asked)
            assert "instrument lists are being loaded" in str(one.ingest.problem())
            away = False
            await one.reconciled()


def test_marks_of_the_account_plane_are_known() -> None:
    assert decode_mark(b'{"type":"alive"}').__class__.__name__ == "Alive"
