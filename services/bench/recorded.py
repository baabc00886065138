"""The race over recorded frames: each round reads the file anew, as a stream of its own."""

import base64
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from services.bench.case import Case
from services.bench.market import START_MS
from services.bench.race import FRAMES, Result, Runner, result, timed
from shared.envelope import Frame, FrameKind, encode_reply
from shared.exchanges import adapter
from shared.exchanges.base import Feed, FrameClass
from shared.instruments import Instrument
from shared.numbers import PROVED

__all__ = ["race_recorded"]

_FEEDS: Final = {Feed.BOOK: "book_delta"}
"""What the table calls a feed, where that is not its own name."""


def race_recorded(cases: Sequence[Case], file: Path, rounds: int, *, encoded: bool) -> Iterator[Result]:
    """A result for each case of which the file has frames that its floor can read."""
    lines = [line for line in file.read_bytes().splitlines() if line.strip()]
    kind = FrameKind.BINARY if encoded else FrameKind.TEXT
    frames = [base64.b64decode(line) if encoded else line for line in lines]
    for case in cases:
        taken = [
            Frame(kind, (START_MS + number) * 1_000_000, data)
            for number, data in enumerate(frames)
            if _is_of(case, data, binary=encoded) and _is_readable(case, Frame(kind, 0, data))
        ]
        if taken:
            times = [_round(case, taken) for _ in range(rounds + 1)][1:]
            yield result(case, times, len(taken), None)


def _is_of(case: Case, data: bytes, *, binary: bool) -> bool:
    route = adapter(case.exchange).classify(case.product, data, binary)
    return route.frame_class is FrameClass.DATA and route.feed is not None and _name(route.feed) == case.feed


def _name(feed: Feed) -> str:
    return _FEEDS.get(feed, feed.value)


def _is_readable(case: Case, frame: Frame) -> bool:
    """Whether the floor can read it: it knows no other shape than the usual one."""
    try:
        case.floor([frame], 0)
    except Exception:  # noqa: BLE001 - whatever it stumbles over, it is no frame to compare
        return False
    return True


def _round(case: Case, frames: Sequence[Frame]) -> tuple[int, int]:
    """CPU time (ns) of the product, which sees every number for the first time, and of the floor."""
    PROVED.clear()
    runner = Runner(case.exchange, case.product, _instruments(case, frames))
    if case.seed is not None:
        _seed(case, runner, frames)
    ours = floors = 0
    for at in range(0, len(frames), FRAMES):
        batch = frames[at : at + FRAMES]
        envelope = runner.envelope(batch)
        ours += timed(partial(runner.normalize, envelope))
        floors += timed(partial(case.floor, batch, at))
    return ours, floors


def _symbol(case: Case, frame: Frame) -> str | None:
    route = adapter(case.exchange).classify(case.product, frame.data, frame.kind == FrameKind.BINARY)
    return route.native_symbol


def _instruments(case: Case, frames: Sequence[Frame]) -> list[Instrument]:
    """The instruments of the frames as far as the venue's naming rule tells."""
    symbols = dict.fromkeys(symbol for symbol in (_symbol(case, frame) for frame in frames) if symbol is not None)
    found = (adapter(case.exchange).named(case.product, symbol) for symbol in symbols)
    return [instrument for instrument in found if instrument is not None]


def _seed(case: Case, runner: Runner, frames: Sequence[Frame]) -> None:
    """A book for the first update of each instrument to continue."""
    seeded: set[str | None] = set()
    for frame in frames:
        symbol = _symbol(case, frame)
        if symbol not in seeded and case.seed is not None:
            seeded.add(symbol)
            reply = Frame(FrameKind.REST, frame.ts_received, encode_reply(case.seed(frame.data)))
            runner.normalize(runner.envelope([reply]))
