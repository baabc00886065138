"""One account stream: read, judge, publish one by one, remember, acknowledge; strictly in that order."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from services.normalizer.account.keeper import Keeper
from services.normalizer.account.telemetry import StreamTelemetry
from shared.accounts.base import AccountPlan
from shared.accounts.messages import AccountMessage, Balance, account_key, encode_account_messages
from shared.accounts.state_stream import NOTHING, AccountStream, Outcome, Reading
from shared.backoff import Backoff
from shared.bus.base import Delivery, Publisher, RawConsumer
from shared.clock import Clock
from shared.control import ResyncRequest, StreamInfo, encode_control
from shared.envelope import Envelope, Frame, decode_envelope
from shared.errors import ParseError, PublishFailed, StateError
from shared.exchanges.accounts import account_adapter
from shared.exchanges.output import Rejection
from shared.quarantine import QuarantineRecord, encode_record
from shared.settings import Settings
from shared.topology import ACCOUNT, CONTROL, QUARANTINE, resync_key

__all__ = ["StreamWorker", "runs", "state_file"]

GROUP_FRAMES: Final = 64
"""Frames that share a commit, about. None of them is acknowledged before it."""

LINGER_S: Final = 0.01
"""How long nothing may have come before there is a commit: one takes milliseconds that the next frame would wait for,
and what happens at a venue comes as several frames."""

RUN: Final = 64
"""Consecutive messages of one routing key that share a body."""

MAX_DETAIL: Final = 2_000


class Defect(Exception):
    """A frame ended in the middle of the state: it is to be kept, and everything before it done again without it."""


class StreamWorker:
    """Deals with what :meth:`put` brings; ends only with the session.

    Where the state can't be kept nothing goes on: deliveries wait unacknowledged until the file can be used again.
    """

    def __init__(
        self,
        info: StreamInfo,
        plan: AccountPlan,
        consumer: RawConsumer,
        publisher: Publisher,
        settings: Settings,
        clock: Clock,
        telemetry: StreamTelemetry,
    ) -> None:
        self._info = info
        self._plan = plan
        self._consumer = consumer
        self._publisher = publisher
        self._settings = settings
        self._clock = clock
        self._telemetry = telemetry
        self._hand: list[Delivery] = []
        """Everything that is not acknowledged, oldest first."""
        self._done = 0
        """How many of them were published since the last commit."""
        self._defects: dict[tuple[int, int], str] = {}
        self._arrived = asyncio.Event()

    def put(self, delivery: Delivery) -> None:
        """The next delivery of the stream."""
        self._hand.append(delivery)
        self._arrived.set()

    async def run(self) -> None:
        """Until cancelled; raises BrokerError."""
        pauses = Backoff(0.5, 30.0)
        path = state_file(self._settings, self._info.stream)
        while True:
            self._done = 0
            try:
                async with Keeper(path, self._info.stream) as keeper:
                    adapter = account_adapter(self._info.exchange)
                    stream = AccountStream(adapter, self._plan, await keeper.load())
                    self._telemetry.state_opened(stream.header)
                    await self._work(keeper, stream, pauses)
            except StateError as error:
                self._telemetry.state_failed(error)
                await asyncio.sleep(pauses.next(random.random()))
            except Defect:
                continue

    async def _work(self, keeper: Keeper, stream: AccountStream, pauses: Backoff) -> None:
        most = max(1, self._settings.normalizer.prefetch_envelopes // 2)
        while True:
            frames = 0
            while self._done < most and frames < GROUP_FRAMES and await self._more(LINGER_S if self._done else None):
                frames += await self._delivery(keeper, stream, self._hand[self._done])
                self._done += 1
            begun = self._clock.monotonic()
            await keeper.commit(stream.header, stream.changes)
            stream.committed()
            self._telemetry.committed(self._clock.monotonic() - begun, self._clock.wall())
            done = self._hand[: self._done]
            del self._hand[: self._done]
            self._done = 0
            self._defects.clear()
            pauses.healthy()
            await self._consumer.ack(done)

    async def _more(self, within_s: float | None) -> bool:
        """Whether there is a delivery that was not dealt with, or comes in that time (None: waits until there is)."""
        self._arrived.clear()
        if self._done < len(self._hand):
            return True
        try:
            async with asyncio.timeout(within_s):
                return await self._arrived.wait()
        except TimeoutError:
            return False

    async def _delivery(self, keeper: Keeper, stream: AccountStream, delivery: Delivery) -> int:
        """Deal with a delivery; how many frames it had."""
        try:
            envelope = self._envelope(delivery)
        except ParseError as error:
            await self._quarantine_body(delivery, error)
            stream.poisoned(error.code)
            return 1
        for number, frame in enumerate(envelope.frames, envelope.first):
            await self._frame(keeper, stream, envelope, number, frame)
        return len(envelope.frames)

    def _envelope(self, delivery: Delivery) -> Envelope:
        envelope = decode_envelope(delivery.body)
        if (envelope.plane, envelope.stream) != ("account", self._info.stream):
            raise ParseError("invalid_envelope", f"it is one of {envelope.plane} {envelope.stream[:80]}")
        return envelope

    async def _frame(
        self, keeper: Keeper, stream: AccountStream, envelope: Envelope, number: int, frame: Frame
    ) -> None:
        begun = self._clock.monotonic()
        reading = stream.read(envelope.epoch, number, frame, self._clock.wall())
        defect = self._defects.get((envelope.epoch, number))
        if defect is not None and reading.content is not None:
            reading = reading._replace(content=ParseError("internal", defect))
        needs = reading.needs
        recalled = await keeper.recall(needs) if needs.seen or needs.orders else NOTHING
        try:
            outcome = stream.apply(reading, recalled)
        except Exception as error:
            # What is in memory is half changed: it is read from the disk again, and this frame goes into quarantine.
            self._telemetry.crashed(error)
            self._defects[envelope.epoch, number] = f"{type(error).__name__}: {error}"
            raise Defect from error
        spent = self._clock.monotonic() - begun
        if outcome.rejections:
            await self._quarantine(envelope, reading, outcome.rejections)
        for key, run in runs(outcome.messages):
            await self._insist(ACCOUNT, key, encode_account_messages(run))
        self._telemetry.dealt_with(outcome, frame, spent)
        await self._wish(outcome)

    async def _quarantine(self, envelope: Envelope, reading: Reading, rejections: Sequence[Rejection]) -> None:
        frame = reading.frame
        record = QuarantineRecord(
            envelope.exchange,
            envelope.product,
            envelope.plane,
            envelope.stream,
            envelope.epoch,
            reading.number,
            frame.kind,
            frame.ts_received,
            self._clock.wall(),
            rejections[0].code,
            "; ".join(rejection.detail for rejection in rejections[:5])[:MAX_DETAIL],
            frame.data,
        )
        await self._insist(QUARANTINE, "account", encode_record(record))
        self._telemetry.rejected(record, rejections)

    async def _quarantine_body(self, delivery: Delivery, error: ParseError) -> None:
        info, now = self._info, self._clock.wall()
        where = info.exchange, info.product, "account", info.stream, 0, 0, -1
        record = QuarantineRecord(*where, now, now, error.code, error.detail, delivery.body)
        await self._insist(QUARANTINE, "account", encode_record(record))
        self._telemetry.poisoned(record)

    async def _insist(self, exchange: str, key: str, body: bytes) -> None:
        """Until it is confirmed, nothing behind it leaves. BrokerUnavailable ends the session, and it comes again."""
        pauses = Backoff(0.05, 5.0)
        while True:
            try:
                await self._publisher.publish(exchange, key, body, deadline_s=self._settings.account.publish_deadline_s)
            except PublishFailed as error:
                self._telemetry.publish_failed(error)
                if error.reason == "refused":
                    return  # no broker will ever take it: it is counted and left out, or the stream would stand still
                await asyncio.sleep(pauses.next(random.random()))
            else:
                return

    async def _wish(self, outcome: Outcome) -> None:
        info = self._info
        for wish in outcome.wishes:
            request = ResyncRequest(info.exchange, info.stream, wish.feed, wish.native_symbol, wish.reason)
            self._telemetry.asked(request)
            try:
                await self._publisher.publish(
                    CONTROL,
                    resync_key(info.exchange),
                    encode_control(request),
                    deadline_s=self._settings.account.publish_deadline_s,
                )
            except PublishFailed as error:
                self._telemetry.publish_failed(error)


def runs(messages: Sequence[AccountMessage]) -> Iterator[tuple[str, list[AccountMessage]]]:
    """Routing keys with the messages that share a body, in order: neighbors of one key."""
    key, run = "", list[AccountMessage]()
    for message in messages:
        about = message.asset if isinstance(message, Balance) else message.symbol
        its_key = account_key(message.feed, message.exchange, message.account, about)
        if run and (its_key != key or len(run) == RUN):
            yield key, run
            run = []
        key = its_key
        run.append(message)
    if run:
        yield key, run


def state_file(settings: Settings, stream: str) -> Path:
    """Where a stream's state is."""
    return settings.account.state_directory / f"{stream}.sqlite"
