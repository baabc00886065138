"""``tidegate normalize``: raw frames on a file or standard input to canonical messages on standard output, offline."""

import argparse
import base64
import binascii
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import parse_qs, urlsplit

from msgspec import DecodeError, Raw, Struct, json

from services.cli.bundled import bundled
from services.cli.errors import ReaderGone, UsageError
from services.cli.lists import load_instruments, read
from shared.envelope import Frame, FrameKind, RestReply, encode_reply
from shared.errors import TidegateError
from shared.exchanges import EXCHANGES, adapter
from shared.exchanges.base import Adapter, Feed, Fetch, FrameClass, Resync
from shared.instruments import InstrumentTable
from shared.messages import encode_messages
from shared.normalizing import Outcome, StreamNormalizer

__all__ = ["add_arguments", "run"]

REJECTED: Final = 3
MAX_LINE: Final = 64 * 1024 * 1024
"""Bytes; a longer line is rejected and left out up to its end, so that one that never ends can't fill the memory."""

PRODUCTS: Final = "spot, linear, inverse (bybit); spot, futures (mexc); spot, usdm (binance)"
"""Not asked of the adapters: that would import them all."""


class _ReplyLine(Struct):
    """One line of a ``--rest`` file: the body as JSON or, in a string, as text; further fields are ignored."""

    url: str
    body: Raw
    status: int = 200

    def reply(self) -> RestReply:
        body = bytes(self.body)
        return RestReply(self.url, self.status, json.decode(body, type=str).encode() if body[:1] == b'"' else body)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--exchange", required=True, help=f"one of {', '.join(sorted(EXCHANGES))}")
    parser.add_argument("--product", required=True, help=PRODUCTS)
    parser.add_argument(
        "--instruments",
        type=Path,
        metavar="FILE",
        help="the venue's instrument list: its REST reply, one page a line (default: a bundled list of the majors)",
    )
    parser.add_argument(
        "--rest",
        type=Path,
        metavar="FILE",
        help='REST replies, {"url", "body"} a line, each taken once, when the stream asks (default: none)',
    )
    parser.add_argument("--base64", action="store_true", help="lines are base64 of binary frames (default: text)")
    parser.add_argument("file", nargs="?", default="-", help="one raw frame a line; - is standard input (default)")


def run(arguments: argparse.Namespace) -> int:
    """0 when no line was rejected, 3 otherwise; raises UsageError for unusable arguments."""
    try:
        venue = adapter(arguments.exchange)
    except TidegateError as error:
        raise UsageError("--exchange", str(error)) from error
    if arguments.product not in venue.products:
        known = ", ".join(sorted(venue.products))
        raise UsageError("--product", f"{arguments.product!r} is no product of {venue.name}; there are {known}")
    instruments = InstrumentTable(bundled(venue.name, arguments.product))
    if arguments.instruments is not None:
        instruments = load_instruments(venue, arguments.product, arguments.instruments)
    replies = [] if arguments.rest is None else _load_replies(arguments.rest)
    offline = Offline(venue, arguments.product, instruments, replies)
    with _opened(arguments.file) as lines:
        live = not lines.seekable()
        return offline.run(lines, sys.stdout.buffer, sys.stderr.buffer, encoded=arguments.base64, live=live)


class Offline:
    """One stream from its first line to its last, its state kept from line to line."""

    def __init__(
        self, venue: Adapter, product: str, instruments: InstrumentTable, replies: Sequence[RestReply]
    ) -> None:
        self._venue = venue
        self._product = product
        self._normalizer = StreamNormalizer(venue, product, f"{venue.name}.{product}.0", instruments)
        self._instruments = instruments
        self._replies = list(replies)
        self._frame = 0
        self._seen: set[tuple[str, str]] = set()

    def run(self, lines: BinaryIO, out: BinaryIO, errors: BinaryIO, *, encoded: bool, live: bool) -> int:
        """Normalize every line; blank ones are skipped. ``live``: what came of a line is written before the next."""
        rejected = False
        for number, line in enumerate(_lines(lines), start=1):
            outcomes, problems = self._line(line, encoded=encoded)
            problems += [(item.code, item.detail) for outcome in outcomes for item in outcome.output.rejections]
            if problems:
                rejected = True
                _tell(errors, number, problems)
            try:
                self._print(outcomes, out)
                if live:
                    out.flush()
            except BrokenPipeError as error:
                raise ReaderGone(REJECTED if rejected else 0) from error
        out.flush()
        return REJECTED if rejected else 0

    @staticmethod
    def _print(outcomes: Sequence[Outcome], out: BinaryIO) -> None:
        for outcome in outcomes:
            out.writelines(encode_messages([message])[1:-1] + b"\n" for message in outcome.output.messages)

    def _line(self, line: bytes, *, encoded: bool) -> tuple[list[Outcome], list[tuple[str, str]]]:
        if not line.strip():
            return [], []
        if len(line) > MAX_LINE:
            return [], [("too_large", f"the line was longer than {MAX_LINE} bytes")]
        kind = FrameKind.TEXT
        if encoded:
            try:
                line, kind = base64.b64decode(line, validate=True), FrameKind.BINARY
            except binascii.Error as error:
                return [], [("invalid_base64", str(error))]
        outcomes = [self._feed(kind, line)]
        outcomes += self._answers(outcomes[0].output.resyncs)
        outcomes += self._seeds(line, binary=encoded)
        return outcomes, []

    def _feed(self, kind: FrameKind, data: bytes) -> Outcome:
        now = time.time_ns()
        outcome = self._normalizer.frame(0, self._frame, Frame(kind, now, data), now)
        self._frame += 1
        return outcome

    def _seeds(self, line: bytes, *, binary: bool) -> list[Outcome]:
        """What ingest would fetch after the first frame of a topic."""
        route = self._venue.classify(self._product, line, binary)
        if route.frame_class is not FrameClass.DATA or route.feed is None or route.native_symbol is None:
            return []
        key = (route.feed, route.native_symbol)
        if key in self._seen:
            return []
        self._seen.add(key)
        return self._answers([Resync(route.feed, route.native_symbol, "first_frame")])

    def _answers(self, wishes: Sequence[Resync]) -> list[Outcome]:
        """The recorded replies to what the stream asks for, each used once, in the file's order."""
        outcomes: list[Outcome] = []
        pending = list(wishes)
        while pending and self._replies:
            reply = self._reply_to(pending.pop(0))
            if reply is None:
                continue
            outcome = self._feed(FrameKind.REST, encode_reply(reply))
            outcomes.append(outcome)
            pending += outcome.output.resyncs
        return outcomes

    def _reply_to(self, wish: Resync) -> RestReply | None:
        wanted = list(self._requests(wish))
        for index, reply in enumerate(self._replies):
            if any(_same_request(reply.url, url) for url in wanted):
                return self._replies.pop(index)
        return None

    def _requests(self, wish: Resync) -> Iterator[str]:
        """The URLs that ingest would fetch for a wish."""
        venue, product = self._venue, self._product
        endpoints = venue.products[product]
        if wish.feed == "instruments":
            yield from (request.url for request in venue.instrument_requests(product, endpoints))
            return
        known = [item for item in self._instruments if wish.native_symbol in {None, item.native_symbol}]
        if not known and wish.native_symbol is not None and (named := venue.named(product, wish.native_symbol)):
            known = [named]
        for plan in venue.plan(product, known, frozenset({Feed(wish.feed)}), endpoints, 1):
            for subscription in plan.subscriptions:
                actions = [*venue.seed(plan, subscription), *venue.resync(plan, subscription)]
                yield from (action.request.url for action in actions if isinstance(action, Fetch))


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines without their ends; of one that is too long just enough to tell."""
    while line := file.readline(MAX_LINE + 2):
        rest = line
        while len(rest) == MAX_LINE + 2 and not rest.endswith(b"\n"):
            rest = file.readline(MAX_LINE + 2)
        yield line.rstrip(b"\r\n")


def _tell(errors: BinaryIO, number: int, problems: Sequence[tuple[str, str]]) -> None:
    """Why a line was rejected, as JSON; who no longer reads that still has the exit status."""
    told = [{"line": number, "code": code, "detail": detail} for code, detail in problems]
    try:
        errors.writelines(json.encode(one) + b"\n" for one in told)
        errors.flush()
    except BrokenPipeError:
        pass


def _same_request(recorded: str, wanted: str) -> bool:
    """Whether two URLs ask for the same thing: path and symbol agree, whatever host and limit."""
    one, other = urlsplit(recorded), urlsplit(wanted)
    return one.path == other.path and parse_qs(one.query).get("symbol") == parse_qs(other.query).get("symbol")


def _load_replies(path: Path) -> list[RestReply]:
    replies = []
    for number, line in enumerate(read("--rest", path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            reply = json.decode(line, type=_ReplyLine).reply()
            urlsplit(reply.url)
            replies.append(reply)
        except (DecodeError, RecursionError, ValueError) as error:
            raise UsageError("--rest", f'{path} line {number} is no {{"url", "body"}}: {error}') from error
    return replies


def _opened(file: str) -> BinaryIO:
    if file == "-":
        return sys.stdin.buffer
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise UsageError("FILE", f"{file} cannot be read: {error.strerror}") from error
