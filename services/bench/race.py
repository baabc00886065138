"""The product and the floor over the same frames, envelope by envelope in turn, so that both meet the same machine."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from time import perf_counter_ns, thread_time_ns
from typing import Final, NamedTuple

from services.bench.case import EPOCH, NORMALIZED, STREAM, Case
from services.bench.market import Asset, assets
from shared.envelope import SCHEMA_VERSION, Envelope, Frame, FrameKind, encode_reply
from shared.exchanges import adapter
from shared.instruments import Instrument, InstrumentTable
from shared.messages import Message
from shared.normalizing import Progress, StreamNormalizer, encoded

__all__ = ["FRAMES", "Contest", "Result", "Runner", "race", "result", "timed"]

FRAMES: Final = 200
"""Frames of one envelope."""

SLICE_NS: Final = 71_000
"""After which a normalizer would let the loop breathe."""


class Result(NamedTuple):
    """Frames per second of CPU time, medians over rounds; ``ratio`` is the median of the rounds' ratios."""

    exchange: str
    product: str
    feed: str
    frames_per_s: float
    floor_frames_per_s: float
    ratio: float
    new_numbers: float | None


class Runner:
    """The product, as a normalizer runs it: one stream, from envelope to AMQP bodies."""

    def __init__(self, exchange: str, product: str, instruments: Sequence[Instrument]) -> None:
        self.next = 0
        self.exchange = exchange
        self.product = product
        self.rejected = 0
        self._normalizer = StreamNormalizer(adapter(exchange), product, STREAM, InstrumentTable(instruments))
        self._limit = 0

    def envelope(self, frames: Sequence[Frame]) -> Envelope:
        """The next frames of the stream."""
        first, self.next = self.next, self.next + len(frames)
        return Envelope(SCHEMA_VERSION, self.exchange, self.product, "market", STREAM, EPOCH, first, frames)

    def normalize(self, envelope: Envelope) -> list[tuple[str, bytes]]:
        """Routing keys and bodies."""
        return encoded(self._advance(envelope).output.drain())

    def messages(self, envelope: Envelope) -> list[Message]:
        """The same, before they are encoded."""
        return self._advance(envelope).output.messages

    def _advance(self, envelope: Envelope) -> Progress:
        progress = Progress()
        index, count = 0, len(envelope.frames)
        while index < count:
            self._limit = perf_counter_ns() + SLICE_NS
            index = self._normalizer.advance(envelope, index, NORMALIZED, progress, self._due)
        self.rejected += len(progress.failures)
        return progress

    def _due(self) -> bool:
        return perf_counter_ns() >= self._limit


class Contest:
    """One line of the table: frames that were made before the clock starts, and the two that read them."""

    def __init__(self, case: Case, markets: Sequence[Asset]) -> None:
        self.case = case
        self.markets = markets
        self.runner = Runner(case.exchange, case.product, [one.instrument for one in markets])
        self.texts = 0
        self.written = 0
        self._begin()

    def frames(self, count: int) -> list[Frame]:
        """More frames of the stream, its instruments in no order."""
        random, made = self.markets[0].random, self.case.frame
        return [self._frame(made(random.choice(self.markets))) for _ in range(count)]

    def round(self, frames: Sequence[Frame]) -> tuple[int, int]:
        """CPU time (ns) of the product and of the floor."""
        ours = floors = 0
        for at in range(0, len(frames), FRAMES):
            batch = frames[at : at + FRAMES]
            product = partial(self.runner.normalize, self.runner.envelope(batch))
            floor = partial(self.case.floor, batch, at)
            if at // FRAMES % 2:
                floors += timed(floor)
                ours += timed(product)
            else:
                ours += timed(product)
                floors += timed(floor)
        return ours, floors

    def share_of_new(self) -> float:
        """How many of the numbers written since the last look were never written before."""
        texts, written = sum(len(one.texts) for one in self.markets), sum(one.written for one in self.markets)
        share = (texts - self.texts) / max(1, written - self.written)
        self.texts, self.written = texts, written
        return share

    def _begin(self) -> None:
        """Whole tickers and books, which the frames to come will change."""
        case = self.case
        opening = [case.opening(one) for one in self.markets] if case.opening is not None else []
        if case.seed is None:
            frames = [self._frame(data) for data in opening]
        else:
            deltas = [case.frame(one) for one in self.markets]
            replies = [Frame(FrameKind.REST, NORMALIZED, encode_reply(case.seed(data))) for data in deltas]
            frames = [frame for pair in zip(map(self._frame, deltas), replies, strict=True) for frame in pair]
        self.runner.normalize(self.runner.envelope(frames))

    def _frame(self, data: bytes) -> Frame:
        kind = FrameKind.BINARY if (self.case.exchange, self.case.product) == ("mexc", "spot") else FrameKind.TEXT
        return Frame(kind, self.markets[0].ms * 1_000_000, data)


def race(cases: Sequence[Case], rounds: int, frames: int) -> Iterator[Result]:
    """Results in the order of the cases. A round goes through all cases; the first one only warms up."""
    contests = [Contest(case, assets(case.exchange, case.product, seed=1)) for case in cases]
    times: list[list[tuple[int, int]]] = [[] for _ in contests]
    shares: list[float] = [0.0 for _ in contests]
    for number in range(rounds + 1):
        for index, contest in enumerate(contests):
            made = contest.frames(frames)
            shares[index] = contest.share_of_new()
            measured = contest.round(made)
            if number:
                times[index].append(measured)
    for contest, taken, share in zip(contests, times, shares, strict=True):
        yield result(contest.case, taken, frames, share)


def result(case: Case, taken: Sequence[tuple[int, int]], frames: int, share: float | None) -> Result:
    """The line of the table for rounds that took so many ns each."""
    return Result(
        case.exchange,
        case.product,
        case.feed,
        frames * 1e9 / median(ours for ours, _ in taken),
        frames * 1e9 / median(floor for _, floor in taken),
        median(floor / ours for ours, floor in taken),
        share,
    )


def timed(work: Callable[[], object]) -> int:
    """CPU time (ns) of the work."""
    began = thread_time_ns()
    work()
    return thread_time_ns() - began
