"""What came of the deliveries of one batch, ready to be published. Synchronous; knows no bus."""

from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar

from shared.bus.base import Delivery
from shared.clock import Clock
from shared.control import ResyncRequest
from shared.envelope import Envelope, decode_envelope
from shared.errors import ParseError, TidegateError
from shared.exchanges import adapter
from shared.instruments import InstrumentTable
from shared.messages import Message
from shared.normalizing import Outcome, StreamNormalizer, group_by_key
from shared.quarantine import QuarantineRecord

__all__ = ["Batch", "Streams"]

KeyT = TypeVar("KeyT", bound=Hashable)


class Batch:
    """Messages, rejections and wishes of the frames handled so far."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.messages: dict[tuple[str, str], list[Message]] = {}
        """By (exchange, stream), in order."""
        self.quarantine: list[QuarantineRecord] = []
        self.resyncs: dict[ResyncRequest, None] = {}
        self.frames: dict[str, int] = {}
        self.rejected: dict[str, int] = {}
        self.repeated: dict[str, int] = {}
        self.duplicates: dict[str, int] = {}
        self.stale: dict[str, int] = {}
        self.lost: dict[tuple[str, str], int] = {}
        self.oldest_received: dict[str, int] = {}

    def add(self, envelope: Envelope, outcome: Outcome, now: int) -> None:
        """Take up what came of one frame."""
        exchange, output = envelope.exchange, outcome.output
        _count(self.frames, exchange)
        if outcome.repeated:
            _count(self.repeated, exchange)
            return
        received = outcome.frame.ts_received
        self.oldest_received[exchange] = min(received, self.oldest_received.get(exchange, received))
        if output.messages:
            self.messages.setdefault((exchange, envelope.stream), []).extend(output.messages)
        if output.duplicates:
            _count(self.duplicates, exchange, output.duplicates)
        if output.stale:
            _count(self.stale, exchange, output.stale)
        for wish in output.resyncs:
            request = ResyncRequest(exchange, envelope.stream, wish.feed, wish.native_symbol, wish.reason)
            self.resyncs[request] = None
        if output.rejections:
            _count(self.rejected, exchange)
            self.quarantine.append(_record(envelope, outcome, now))

    def add_unreadable(self, delivery: Delivery, error: ParseError, now: int) -> None:
        """Take up an AMQP body that is no envelope."""
        key = delivery.key
        record = QuarantineRecord(
            "unknown", "unknown", "market", key, 0, 0, -1, now, now, error.code, error.detail, delivery.body
        )
        _count(self.frames, "unknown")
        _count(self.rejected, "unknown")
        self.quarantine.append(record)

    def market(self) -> list[tuple[str, bytes]]:
        """``(routing key, body)`` of everything for ``market``, in an order that keeps every stream's."""
        return [pair for messages in self.messages.values() for pair in group_by_key(messages)]

    def counts(self) -> dict[tuple[str, str, str | None], int]:
        """Messages by (exchange, feed, symbol)."""
        counts: dict[tuple[str, str, str | None], int] = {}
        for (exchange, _), messages in self.messages.items():
            for message in messages:
                _count(counts, (exchange, message.feed, message.symbol))
        return counts

    def firehose(self) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
        """``(<exchange>.<stream>, its encoded groups)``."""
        for (exchange, stream), messages in self.messages.items():
            yield f"{exchange}.{stream}", group_by_key(messages)


class Streams:
    """The normalizer of every stream that this process consumes. A stream that isn't known yet starts fresh."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._normalizers: dict[str, StreamNormalizer] = {}

    def handle(self, delivery: Delivery, batch: Batch, pause: Callable[[], bool]) -> Iterator[None]:
        """Normalize a delivery's frames into the batch; yields where ``pause`` says that the loop must breathe."""
        batch.deliveries.append(delivery)
        try:
            envelope = decode_envelope(delivery.body)
            normalizer = self._normalizer(envelope)
        except ParseError as error:
            batch.add_unreadable(delivery, error, self._clock.wall())
            return
        now = self._clock.wall()
        lost = normalizer.lost
        number = envelope.first
        for frame in envelope.frames:
            batch.add(envelope, normalizer.frame(envelope.epoch, number, frame, now), now)
            number += 1
            if pause():
                yield
        if normalizer.lost != lost:
            _count(batch.lost, (envelope.exchange, envelope.stream), normalizer.lost - lost)

    def forget(self) -> None:
        """Drop all state: the streams may have gone on elsewhere."""
        self._normalizers.clear()

    def _normalizer(self, envelope: Envelope) -> StreamNormalizer:
        normalizer = self._normalizers.get(envelope.stream)
        if normalizer is None:
            try:
                venue = adapter(envelope.exchange)
            except TidegateError as error:
                raise ParseError("invalid_envelope", str(error)) from error
            if envelope.product not in venue.products:
                raise ParseError("invalid_envelope", f"{envelope.exchange} has no product {envelope.product!r}")
            normalizer = StreamNormalizer(venue, envelope.product, envelope.stream, InstrumentTable())
            self._normalizers[envelope.stream] = normalizer
        return normalizer


def _record(envelope: Envelope, outcome: Outcome, now: int) -> QuarantineRecord:
    first = outcome.output.rejections[0]
    return QuarantineRecord(
        envelope.exchange,
        envelope.product,
        envelope.plane,
        envelope.stream,
        envelope.epoch,
        outcome.number,
        outcome.frame.kind,
        outcome.frame.ts_received,
        now,
        first.code,
        "; ".join(rejection.detail for rejection in outcome.output.rejections[:5]),
        outcome.frame.data,
    )


def _count(counts: dict[KeyT, int], key: KeyT, by: int = 1) -> None:
    counts[key] = counts.get(key, 0) + by
