"""One connection of a private stream: opened, authenticated, reconciled, watched, until it ends."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from services.ingest.account.catching_up import CaughtUp, ReconciliationTooLarge, catch_up
from services.ingest.account.numbering import Cover, Learn, Operation, Push, Release, Tell
from services.ingest.account.reconciling import Reconciling, Window, window
from services.ingest.account.telemetry import StreamTelemetry
from services.ingest.account.venue import AccountVenue
from services.ingest.account.writer import JournalWriter
from shared.account_settings import AccountSection
from shared.accounts.base import Call, Step, StepKind
from shared.clock import Clock
from shared.envelope import (
    Alive,
    Authenticated,
    Disconnected,
    Frame,
    FrameKind,
    Mark,
    ReconciliationFailed,
    encode_mark,
)
from shared.errors import AccountRefused, ParseError, RequestFailed, StreamClosed
from shared.telemetry.tasks import TaskSet
from shared.transport.websocket import WebSocketStream

__all__ = ["AccountSession", "mark_frame"]

TICK_S: Final = 0.25
CLOCK_RETRY_NS: Final = 10_000_000_000
NO_CLOSE_FRAME: Final = 1006
"""RFC 6455 section 7.4.1."""

MAX_SYMBOLS: Final = 500
"""Symbols that an account is known to have to do with: each may cost calls of every reconciliation."""

LEAST_SPAN_MS: Final = 1_000


def mark_frame(mark: Mark, clock: Clock) -> Frame:
    """Something that happened to the stream, as a frame."""
    return Frame(FrameKind.MARK, clock.wall(), encode_mark(mark))


class AccountSession:
    """Everything between two connects. What it hears and does goes into the journal; nothing waits for the broker.

    ``healthy`` is called when the venue took the login, ``accepted`` when it answered all signed calls, too.
    """

    def __init__(
        self,
        venue: AccountVenue,
        journal: JournalWriter,
        settings: AccountSection,
        clock: Clock,
        telemetry: StreamTelemetry,
        healthy: Callable[[], None],
        accepted: Callable[[], None],
    ) -> None:
        self._venue = venue
        self._caller = venue.caller
        self._journal = journal
        self._settings = settings
        self._clock = clock
        self._telemetry = telemetry
        self._healthy = healthy
        self._accepted = accepted
        self._dialogue = venue.adapter.dialogue(venue.plan, venue.credentials)
        self._reconciling = Reconciling(
            int(settings.hold_s * 1e9), int(settings.reconcile_interval_s * 1e9), int(settings.alive_interval_s * 1e9)
        )
        self._symbols = set(journal.symbols)
        self._span_ms: int | None = None
        self._goes_on = False
        self._last_failure = ReconciliationFailed("slow")
        self._outgoing: asyncio.Queue[str] = asyncio.Queue()
        self._tasks = TaskSet(telemetry.crashed)
        self._over: asyncio.Future[Disconnected] = asyncio.get_running_loop().create_future()
        self._refusal: str | None = None
        self._deaf = False
        self._measuring_from = 0
        self.authenticated = False

    @property
    def reconciled(self) -> bool:
        """Whether nothing is known to be missing."""
        return self._reconciling.reconciled

    @property
    def url(self) -> str:
        """Where to connect once :meth:`prepare` is done; may hold a secret."""
        return self._dialogue.url

    @property
    def label(self) -> str:
        """The same for logs and frames."""
        return self._dialogue.label

    async def prepare(self) -> None:
        """What comes before the socket; raises RequestFailed, StreamClosed or AccountRefused."""
        call = self._dialogue.before()
        while call is not None:
            step = self._dialogue.replied(call, await self._caller.plain(call))
            if step.kind is StepKind.REFUSED:
                raise AccountRefused(step.detail or "other: no reason was given")
            if step.kind is StepKind.BROKEN:
                raise StreamClosed(NO_CLOSE_FRAME, step.detail or f"{call.method} {call.path} was no success")
            call = step.calls[0] if step.calls else None

    async def serve(self, socket: WebSocketStream) -> Disconnected:
        """Until the connection ends or is of no use any more; raises AccountRefused."""
        async with self._tasks as tasks:
            self._take(self._dialogue.opened(self._caller.now_ms()))
            socket.listen(self._sink)
            tasks.spawn(self._send(socket), "private_sends")
            await tasks.first(self._watch(socket))
        if self._refusal is not None:
            raise AccountRefused(self._refusal)
        return self._over.result()

    async def give_back(self) -> None:
        """What comes after the socket; that it fails is no matter."""
        call = self._dialogue.after()
        if call is not None:
            with suppress(RequestFailed):
                await self._caller.plain(call)

    def leave(self, reason: str, detail: str | None = None) -> None:
        """End this connection now; ``reason`` is a bounded word."""
        if not self._over.done():
            self._over.set_result(Disconnected(reason, None, detail))

    def _refuse(self, why: str) -> None:
        self._refusal = why
        self.leave("refused", why)

    # The socket's side

    def _sink(self, data: bytes, binary: bool) -> None:  # noqa: FBT001 - the shape of MessageSink
        step = self._dialogue.received(data, binary, self._caller.now_ms())
        if step.kind is StepKind.DATA and not self._deaf:
            frame = Frame(FrameKind.BINARY if binary else FrameKind.TEXT, self._clock.wall(), data)
            if not self._journal.put(Push(frame), *self._learned(step)):
                self._deaf = True  # nothing may come out behind what is missing
                self._telemetry.too_slow()
                self.leave("journal_slow", "the disk did not take what the venue sent")
        self._take(step)

    def _learned(self, step: Step) -> tuple[Operation, ...]:
        """Symbols that are new, so that reconciliations ask for them, after a restart too."""
        new = tuple(symbol for symbol in dict.fromkeys(step.symbols) if symbol not in self._symbols)
        new = new[: MAX_SYMBOLS - len(self._symbols)]
        self._symbols.update(new)
        return (Learn(new),) if new else ()

    def _take(self, step: Step) -> None:
        """Do what a step says."""
        for text in step.send:
            self._outgoing.put_nowait(text)
        for call in step.calls:
            self._tasks.spawn(self._ask(call), "private_calls")
        if step.kind is StepKind.AUTHENTICATED and not self.authenticated:
            self.authenticated = True
            self._healthy()
            self._tell(Authenticated())
            self._reconciling.authenticated(self._clock.monotonic())
        elif step.kind is StepKind.REFUSED:
            self._refuse(step.detail or "other: no reason was given")
        elif step.kind is StepKind.BROKEN:
            self.leave("broken", step.detail)

    async def _send(self, socket: WebSocketStream) -> None:
        try:
            while True:
                text = await self._outgoing.get()
                await self._venue.pace.acquire()
                await socket.send(text)
        except StreamClosed:
            return  # whoever waits for the end of the connection learns why it ended

    async def _ask(self, call: Call) -> None:
        try:
            reply = await self._caller.plain(call)
        except RequestFailed as error:
            self.leave("broken", f"{call.method} {call.path} {error.problem}")
        else:
            self._take(self._dialogue.replied(call, reply))

    # The clock's side

    async def _watch(self, socket: WebSocketStream) -> None:
        closed = asyncio.ensure_future(socket.wait_closed())
        try:
            while not self._over.done():
                await asyncio.wait((closed, self._over), timeout=TICK_S, return_when=asyncio.FIRST_COMPLETED)
                if closed.done():
                    why = closed.result()
                    self.leave_closed(why)
                elif not self._over.done():
                    self._look()
        finally:
            closed.cancel()

    def leave_closed(self, why: StreamClosed) -> None:
        """The connection ended by itself."""
        if not self._over.done():
            self._over.set_result(Disconnected("closed", why.code, why.reason or None))

    def _look(self) -> None:
        now = self._clock.monotonic()
        self._take(self._dialogue.due(self._caller.now_ms()))
        due = self._reconciling.due(now)
        if due.release:
            self._journal.put(Tell(mark_frame(self._last_failure, self._clock)), Release())
        if due.alive:
            self._tell(Alive())
        if due.catch_up:
            self._tasks.spawn(self._reconcile(), "reconciliation")
        if self._caller.clock_due and now >= self._measuring_from:
            self._measuring_from = now + CLOCK_RETRY_NS
            self._tasks.spawn(self._measure(), "clock")

    async def _measure(self) -> None:
        try:
            await self._caller.measure_clock(self._settings.max_clock_offset_ms)
        except (RequestFailed, ParseError) as error:
            self._telemetry.clock_unknown(error)

    # Reconciliation

    async def _reconcile(self) -> None:
        await self._journal.written()  # what an earlier reconciliation covered is known from the journal
        now_ms = self._caller.now_ms()
        lookback_ms = int(self._settings.lookback_s * 1e3)
        asked = window(self._journal.covered_ms, now_ms, lookback_ms, self._span_ms, goes_on=self._goes_on)
        symbols = tuple(sorted(self._symbols | set(self._venue.plan.symbols)))
        try:
            caught = await catch_up(self._venue.adapter, self._venue.plan, self._caller, asked, symbols)
        except AccountRefused as error:
            self._telemetry.reconciliation_failed("refused", str(error))
            self._refuse(str(error))
        except ReconciliationTooLarge as error:
            self._too_large(asked, str(error))
        except (RequestFailed, ParseError) as error:
            self._failed("failed", str(error))
        else:
            self._caught_up(asked, caught, complete=caught.covered_ms >= now_ms)

    def _caught_up(self, asked: Window, caught: CaughtUp, *, complete: bool) -> None:
        self._accepted()
        frame = Frame(FrameKind.CATCH_UP, self._clock.wall(), caught.data)
        operations: list[Operation] = [Tell(frame), Cover(caught.covered_ms)]
        now = self._clock.monotonic()
        if not complete and caught.covered_ms <= asked.since_ms and self._goes_on:
            self._journal.put(*operations)
            self._failed("stuck", f"nothing after {caught.covered_ms} ms could be reached")
            return
        if self._reconciling.succeeded(now, complete=complete):
            operations.append(Release())
        self._journal.put(*operations)
        self._goes_on = not complete
        if complete:
            self._span_ms = None
        self._telemetry.reconciled(complete=complete, calls=caught.calls, until_ms=caught.covered_ms)

    def _too_large(self, asked: Window, detail: str) -> None:
        """Half of the time at once; where that is too short to halve, it is a failure like any."""
        span_ms = (asked.until_ms - asked.since_ms) // 2
        if span_ms < LEAST_SPAN_MS:
            self._failed("too_large", detail)
            return
        self._span_ms = span_ms
        self._telemetry.reconciliation_failed("too_large", detail)
        self._reconciling.succeeded(self._clock.monotonic(), complete=False)

    def _failed(self, outcome: str, detail: str) -> None:
        self._telemetry.reconciliation_failed(outcome, detail)
        self._last_failure = ReconciliationFailed(outcome, detail)
        if self._reconciling.failed(self._clock.monotonic(), random.random()):
            self._tell(self._last_failure)

    def _tell(self, mark: Mark) -> None:
        self._journal.put(Tell(mark_frame(mark, self._clock)))
