"""What came of the deliveries of one batch, ready to be published. Synchronous; knows no bus."""

from collections.abc import Callable, Hashable, Iterator
from typing import Final, NamedTuple, TypeVar

from services.normalizer.bodies import bodies, joined
from shared.bus.base import Delivery
from shared.clock import Clock
from shared.control import ResyncRequest, StreamInfo
from shared.envelope import Envelope, decode_envelope
from shared.errors import ParseError
from shared.exchanges import EXCHANGES, adapter
from shared.exchanges.base import Group, Output
from shared.instruments import InstrumentTable
from shared.messages import Message
from shared.normalizing import Failure, Progress, StreamNormalizer
from shared.quarantine import QuarantineRecord, encode_record

__all__ = ["Batch", "Counts", "Groups", "Seed", "Streams", "unlisted"]

KeyT = TypeVar("KeyT", bound=Hashable)

Groups = list[tuple[Group, list[Message]]]
Seed = Callable[[str, str], InstrumentTable]
"""A table for a new stream of an (exchange, product)."""

MAX_DETAIL: Final = 2_000
"""Characters of a reason in quarantine."""


def unlisted(exchange: str, product: str) -> InstrumentTable:
    """A :data:`Seed` for streams that bring their own lists: it knows nothing."""
    del exchange, product
    return InstrumentTable()


class Counts:
    """Frames and elements of a batch, by exchange."""

    def __init__(self) -> None:
        self.frames: dict[str, int] = {}
        self.rejected: dict[str, int] = {}
        self.repeated: dict[str, int] = {}
        self.duplicates: dict[str, int] = {}
        self.stale: dict[str, int] = {}
        self.lost: dict[tuple[str, str], int] = {}
        """By (exchange, stream)."""
        self.oldest_received: dict[str, int] = {}
        self.newest: dict[tuple[str, str], tuple[int, int]] = {}
        """By (exchange, stream): frames, and ``ts_received`` of the newest."""


class Batch:
    """Messages, rejections and wishes of the frames handled so far."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.groups: dict[tuple[str, str], Groups] = {}
        """By (exchange, stream), in the order in which they are to be published; filled by :meth:`gather`."""
        self._outputs: dict[Output, tuple[str, str]] = {}
        self.market: list[tuple[str, bytes]] = []
        """``(routing key, body)`` of everything for ``market``, in an order that keeps every stream's."""
        self.firehose: list[tuple[str, bytes]] = []
        """The same in one body for each ``<exchange>.<stream>``."""
        self.quarantine: list[tuple[str, bytes]] = []
        """``(plane, body)`` of everything for ``quarantine``."""
        self.failures: list[tuple[QuarantineRecord, Failure | None]] = []
        self.resyncs: dict[ResyncRequest, None] = {}

    def add(self, envelope: Envelope, progress: Progress, lost: int, now: int) -> None:
        """Take up what came of an envelope; its messages stay where they gather."""
        exchange, counts, output = envelope.exchange, self.counts, progress.output
        _count(counts.frames, exchange, len(envelope.frames))
        _count(counts.repeated, exchange, progress.repeated)
        _count(counts.rejected, exchange, len(progress.failures))
        _count(counts.duplicates, exchange, output.duplicates)
        _count(counts.stale, exchange, output.stale)
        _count(counts.lost, (exchange, envelope.stream), lost)
        if envelope.frames:
            key = exchange, envelope.stream
            before = counts.newest.get(key)
            frames = len(envelope.frames) + (0 if before is None else before[0])
            counts.newest[key] = frames, envelope.frames[-1].ts_received
        if progress.repeated < len(envelope.frames):
            received = envelope.frames[0].ts_received
            counts.oldest_received[exchange] = min(received, counts.oldest_received.get(exchange, received))
        self.failures += ((_record(envelope, failure, now), failure) for failure in progress.failures)
        for wish in output.resyncs:
            self.resyncs[ResyncRequest(exchange, envelope.stream, wish.feed, wish.native_symbol, wish.reason)] = None
        self._outputs[output] = exchange, envelope.stream
        progress.repeated = output.duplicates = output.stale = 0
        progress.failures, output.resyncs = [], []

    def add_unreadable(self, delivery: Delivery, error: ParseError, now: int) -> None:
        """Take up an AMQP body that is no envelope, or one of a venue that nobody knows."""
        key = delivery.key
        record = QuarantineRecord(
            "unknown", "unknown", "market", key, 0, 0, -1, now, now, error.code, error.detail, delivery.body
        )
        _count(self.counts.frames, "unknown", 1)
        _count(self.counts.rejected, "unknown", 1)
        self.failures.append((record, None))

    def gather(self) -> None:
        """All frames were handled: take up the messages."""
        for output, key in self._outputs.items():
            self.groups.setdefault(key, []).extend(output.drain())

    def encode(self, pause: Callable[[], bool], *, firehose: bool) -> Iterator[None]:
        """Fill ``market``, ``firehose`` and ``quarantine``; yields where ``pause`` says that the loop must breathe."""
        self.quarantine = [(record.plane, encode_record(record)) for record, _ in self.failures]
        for (exchange, stream), groups in self.groups.items():
            begin = len(self.market)
            for group, messages in groups:
                for body in bodies(messages):
                    if body is not None:
                        self.market.append((group.key, body))
                    if pause():
                        yield
            if firehose:
                key = f"{exchange}.{stream}"
                self.firehose += ((key, body) for body in joined(body for _, body in self.market[begin:]))


class _Stream(NamedTuple):
    normalizer: StreamNormalizer
    progress: Progress


class Streams:
    """The normalizer of every stream that this process owns. A stream that isn't known yet starts fresh.

    ``seed`` gives the instruments that are known of an exchange's product.
    """

    def __init__(self, clock: Clock, seed: Seed) -> None:
        self._clock = clock
        self._seed = seed
        self._streams: dict[tuple[str, str, str], _Stream] = {}

    def handle(self, delivery: Delivery, batch: Batch, pause: Callable[[], bool]) -> Iterator[None]:
        """Normalize a delivery's frames; yields where ``pause`` says that the loop must breathe."""
        try:
            envelope = decode_envelope(delivery.body)
            normalizer, progress = self._stream(envelope)
        except ParseError as error:
            batch.add_unreadable(delivery, error, self._clock.wall())
            return
        lost, index, end = normalizer.lost, 0, len(envelope.frames)
        while (index := normalizer.advance(envelope, index, self._clock.wall(), progress, pause)) < end:
            yield
        batch.add(envelope, progress, normalizer.lost - lost, self._clock.wall())

    def forget(self, stream: StreamInfo) -> None:
        """It is owned no longer: should it come back, it is met as a stranger."""
        self._streams.pop((stream.exchange, stream.product, stream.stream), None)

    def _stream(self, envelope: Envelope) -> _Stream:
        key = (envelope.exchange, envelope.product, envelope.stream)
        stream = self._streams.get(key)
        if stream is None:
            if envelope.exchange not in EXCHANGES:
                raise ParseError("invalid_envelope", f"exchange was {envelope.exchange[:40]!r}")
            venue = adapter(envelope.exchange)
            if envelope.product not in venue.products:
                raise ParseError("invalid_envelope", f"{envelope.exchange} has no product {envelope.product[:40]!r}")
            table = self._seed(envelope.exchange, envelope.product)
            normalizer = StreamNormalizer(venue, envelope.product, envelope.stream, table)
            stream = self._streams[key] = _Stream(normalizer, Progress())
        return stream


def _record(envelope: Envelope, failure: Failure, now: int) -> QuarantineRecord:
    frame, rejections = failure.frame, failure.rejections
    return QuarantineRecord(
        envelope.exchange,
        envelope.product,
        envelope.plane,
        envelope.stream,
        envelope.epoch,
        failure.number,
        frame.kind,
        frame.ts_received,
        now,
        rejections[0].code,
        "; ".join(rejection.detail for rejection in rejections[:5])[:MAX_DETAIL],
        frame.data,
    )


def _count(counts: dict[KeyT, int], key: KeyT, by: int) -> None:
    if by:
        counts[key] = counts.get(key, 0) + by
