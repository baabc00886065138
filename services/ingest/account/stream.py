"""One private stream, held for as long as the process lives: connect, serve, wait, again."""

import asyncio
import random
from typing import Final

from services.ingest.account.numbering import Begin, Operation, Release, Tell
from services.ingest.account.session import AccountSession, mark_frame
from services.ingest.account.telemetry import StreamTelemetry
from services.ingest.account.venue import AccountVenue
from services.ingest.account.writer import JournalWriter
from shared.accounts.base import REFUSALS, AccountPlan
from shared.backoff import Backoff
from shared.clock import Clock
from shared.envelope import MAX_FRAME_BYTES, AccountFailed, Disconnected, Frame, FrameKind
from shared.errors import AccountRefused, ParseError, RequestFailed, StreamClosed
from shared.settings import Settings
from shared.telemetry.tasks import TaskSet
from shared.transport.websocket import WebSocketStream

__all__ = ["AccountHolder"]

CLOCK_JUMP_NS: Final = 500_000_000
"""A measurement that moves the venue's time by more explains a refusal: it is tried again at once."""

INSTRUMENTS_MAX_AGE_S: Final = 60.0


class AccountHolder:
    """Owns a stream's connections. A venue that refuses the account is asked again after minutes, not seconds."""

    def __init__(
        self, venue: AccountVenue, journal: JournalWriter, settings: Settings, clock: Clock, telemetry: StreamTelemetry
    ) -> None:
        self.plan: AccountPlan = venue.plan
        self._venue = venue
        self._journal = journal
        self._settings = settings
        self._clock = clock
        self._telemetry = telemetry
        account, ingest = settings.account, settings.ingest
        self._backoff = Backoff(ingest.reconnect_initial_s, ingest.reconnect_cap_s)
        # The n-th delay lies between half and all of its value.
        self._refusals = Backoff(2 * account.refused_initial_s, account.refused_cap_s)
        self._session: AccountSession | None = None
        self._floor = 0
        self._clock_was_wrong = False
        self._refused: str | None = None
        self._tasks = TaskSet(telemetry.crashed)
        self._listing_wanted = False
        self._listing = False
        journal.failed = self._journal_failed

    def problem(self) -> str | None:
        """What keeps the stream from being reconciled; None while it is."""
        name = self.plan.name
        if self._journal.problem is not None:
            return f"{name}: {self._journal.problem}"
        if self._refused is not None:
            return f"{name}: the venue refuses the account: {self._refused}"
        session = self._session
        if session is None or not session.authenticated:
            return f"{name}: not connected"
        return None if session.reconciled else f"{name}: not reconciled"

    async def hold(self) -> None:
        """Until cancelled. Whatever ends a connection, another one follows."""
        async with self._tasks:
            await self._tasks.first(self._hold())

    def resync(self, feed: str, native_symbol: str | None) -> None:
        """A normalizer lacks instrument lists, or knows a higher epoch."""
        if feed == "instruments":
            self._listing_wanted = True
            if not self._listing:
                self._listing = True
                self._tasks.spawn(self._refresh(), "instruments")
        elif feed == "epoch" and native_symbol is not None and native_symbol.isdecimal():
            self._floor = max(self._floor, int(native_symbol) + 1)
            if self._session is not None:
                self._session.leave("planned", "a normalizer knows a higher epoch")

    def tell_instruments(self) -> None:
        """Put the instrument lists into the stream."""
        if self._session is not None:
            self._journal.put(*self._lists())

    async def _refresh(self) -> None:
        while self._listing_wanted:
            self._listing_wanted = False
            await self._venue.listing.refresh(INSTRUMENTS_MAX_AGE_S)
            self.tell_instruments()
        self._listing = False

    async def _hold(self) -> None:
        while True:
            await self._journal.usable.wait()
            await self._venue.connects.acquire()
            try:
                await self._live()
            except AccountRefused as error:
                await asyncio.sleep(await self._refusal(str(error)))
            else:
                await asyncio.sleep(self._backoff.next(random.random()))

    async def _live(self) -> None:
        """One connection, or the attempt; raises AccountRefused."""
        try:
            if self._venue.caller.clock_due:
                await self._measure_clock()
            session = AccountSession(
                self._venue,
                self._journal,
                self._settings.account,
                self._clock,
                self._telemetry,
                self._backoff.healthy,
                self._accepted,
            )
            await session.prepare()
            socket = WebSocketStream(
                session.url,
                label=session.label,
                # What is larger could never be published: the connection ends (1009) and a catch-up follows.
                max_size=MAX_FRAME_BYTES,
                open_timeout_s=self._settings.ingest.open_timeout_s,
                ping_interval_s=self._settings.account.alive_interval_s,
            )
            try:
                async with socket:
                    await self._serve(session, socket)
            finally:
                self._tasks.spawn(session.give_back(), "private_calls")
        except (StreamClosed, RequestFailed) as error:
            self._telemetry.connect_failed(error)
        except ParseError as error:
            self._telemetry.clock_unknown(error)

    async def _measure_clock(self) -> None:
        """Raises RequestFailed or ParseError where the venue's time is not known at all; an old measurement will do."""
        try:
            await self._venue.caller.measure_clock(self._settings.account.max_clock_offset_ms)
        except (RequestFailed, ParseError) as error:
            if not self._venue.caller.venue_clock.measured:
                raise
            self._telemetry.clock_unknown(error)

    async def _serve(self, session: AccountSession, socket: WebSocketStream) -> None:
        self._begin(session.label)
        self._session = session
        ended = Disconnected("crashed")
        try:
            ended = await session.serve(socket)
        except asyncio.CancelledError:
            ended = Disconnected("stopped")
            raise
        except AccountRefused as error:
            ended = Disconnected("refused", None, str(error))
            raise
        except Exception as error:  # noqa: BLE001 - a defect costs this connection; what is on disk still has to leave
            self._telemetry.crashed("private_stream", error)
        finally:
            socket.leave()
            self._session = None
            self._journal.put(Release(), Tell(mark_frame(ended, self._clock)))
            self._telemetry.disconnected(ended)

    def _begin(self, label: str) -> None:
        now = self._clock.wall()
        floor = max(self._floor, now // 1_000_000)
        self._journal.put(Begin(floor, label, now), *self._lists())
        self._telemetry.connected(floor, label)

    def _lists(self) -> list[Operation]:
        now = self._clock.wall()
        return [Tell(Frame(FrameKind.REST, now, reply)) for reply in self._venue.listing.replies]

    async def _refusal(self, why: str) -> float:
        """The account is refused; how long to wait (s)."""
        word, _, _ = why.partition(":")
        if await self._clock_jumped():
            return self._backoff.next(random.random())
        reason = word if word in REFUSALS else "other"
        delay_s = self._refusals.next(random.random())
        self._refused = why
        self._telemetry.refused(reason, why, delay_s)
        await self._journal.written()
        failed = Tell(mark_frame(AccountFailed(reason, why), self._clock))
        if self._journal.epoch:
            self._journal.put(failed)
        else:  # there was no connection ever, and a frame needs an epoch
            self._begin(self.plan.endpoints.rest)
            self._journal.put(Release(), failed)
        return delay_s

    async def _clock_jumped(self) -> bool:
        """Measure the clock anew; whether that explains a refusal, which venues seldom say is for the time.

        Once in a row: then the fault lies elsewhere.
        """
        before = self._venue.caller.now_ms()
        began = self._clock.monotonic()
        try:
            await self._venue.caller.measure_clock(self._settings.account.max_clock_offset_ms)
        except (RequestFailed, ParseError) as error:
            self._telemetry.clock_unknown(error)
            return False
        passed_ms = (self._clock.monotonic() - began) // 1_000_000
        moved_ms = abs(self._venue.caller.now_ms() - before - passed_ms)
        jumped = moved_ms * 1_000_000 > CLOCK_JUMP_NS and not self._clock_was_wrong
        self._clock_was_wrong = jumped
        return jumped

    def _accepted(self) -> None:
        self._refusals.healthy()
        self._refused = None
        self._clock_was_wrong = False

    def _journal_failed(self) -> None:
        if self._session is not None:
            self._session.leave("journal_failed", str(self._journal.problem))
