"""``tidegate normalize``: raw frames on a file or standard input to canonical messages on standard output, offline."""

import argparse
import base64
import binascii
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO
from urllib.parse import parse_qs, urlsplit

from msgspec import DecodeError, Raw, Struct, json

from services.cli.bundled import bundled
from services.cli.errors import UsageError
from shared.envelope import Frame, FrameKind, RestReply, encode_reply
from shared.errors import ParseError, TidegateError
from shared.exchanges import adapter
from shared.exchanges.base import Adapter, Feed, Fetch, FrameClass, Resync
from shared.instruments import InstrumentTable
from shared.messages import encode_messages
from shared.normalizing import Outcome, StreamNormalizer

__all__ = ["add_arguments", "run"]

REJECTED = 3


class RecordedReply(Struct):
    """One line of a ``--rest`` file; further fields are ignored."""

    url: str
    body: Raw
    status: int = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--exchange", required=True, help="bybit, mexc or binance")
    parser.add_argument("--product", required=True, help="spot, linear, inverse, futures, usdm")
    parser.add_argument("--instruments", type=Path, help="the venue's instrument list (a REST reply body, or several)")
    parser.add_argument("--rest", type=Path, help='REST replies, {"url", "body"} a line, taken when the stream asks')
    parser.add_argument("--base64", action="store_true", help="lines are base64 of binary frames")
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
        instruments = _load_instruments(venue, arguments.product, arguments.instruments)
    replies = [] if arguments.rest is None else _load_replies(arguments.rest)
    offline = Offline(venue, arguments.product, instruments, replies)
    with _opened(arguments.file) as lines:
        return offline.run(lines, sys.stdout.buffer, sys.stderr.buffer, encoded=arguments.base64)


class Offline:
    """One stream from its first line to its last, its state kept from line to line."""

    def __init__(
        self, venue: Adapter, product: str, instruments: InstrumentTable, replies: Sequence[RecordedReply]
    ) -> None:
        self._venue = venue
        self._product = product
        self._normalizer = StreamNormalizer(venue, product, f"{venue.name}.{product}.0", instruments)
        self._instruments = instruments
        self._replies = list(replies)
        self._frame = 0
        self._seen: set[tuple[str, str]] = set()

    def run(self, lines: Iterator[bytes] | BinaryIO, out: BinaryIO, errors: BinaryIO, *, encoded: bool) -> int:
        """Normalize every line; blank ones are skipped."""
        rejected = False
        for number, raw in enumerate(lines, start=1):
            line = raw.rstrip(b"\r\n")
            if not line.strip():
                continue
            outcomes, problems = self._line(line, encoded=encoded)
            for outcome in outcomes:
                out.writelines(encode_messages([message])[1:-1] + b"\n" for message in outcome.output.messages)
                problems += [(item.code, item.detail) for item in outcome.output.rejections]
            for code, detail in problems:
                rejected = True
                errors.write(json.encode({"line": number, "code": code, "detail": detail}) + b"\n")
        out.flush()
        errors.flush()
        return REJECTED if rejected else 0

    def _line(self, line: bytes, *, encoded: bool) -> tuple[list[Outcome], list[tuple[str, str]]]:
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
            body = bytes(reply.body)
            outcome = self._feed(FrameKind.REST, encode_reply(RestReply(reply.url, reply.status, body)))
            outcomes.append(outcome)
            pending += outcome.output.resyncs
        return outcomes

    def _reply_to(self, wish: Resync) -> RecordedReply | None:
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


def _same_request(recorded: str, wanted: str) -> bool:
    """Whether two URLs ask for the same thing: path and symbol agree, whatever host and limit."""
    one, other = urlsplit(recorded), urlsplit(wanted)
    return one.path == other.path and parse_qs(one.query).get("symbol") == parse_qs(other.query).get("symbol")


def _load_instruments(venue: Adapter, product: str, path: Path) -> InstrumentTable:
    body = _read("--instruments", path)
    try:
        table = InstrumentTable(venue.instruments(product, body))
    except ParseError as error:
        raise UsageError("--instruments", f"{path} is no instrument list of {venue.name}: {error}") from error
    if not len(table):
        raise UsageError("--instruments", f"{path} lists no instrument of {venue.name} {product}")
    return table


def _load_replies(path: Path) -> list[RecordedReply]:
    replies = []
    for number, line in enumerate(_read("--rest", path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            replies.append(json.decode(line, type=RecordedReply))
        except DecodeError as error:
            raise UsageError("--rest", f'{path} line {number} is no {{"url", "body"}}: {error}') from error
    return replies


def _read(argument: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(argument, f"{path} cannot be read: {error.strerror}") from error


def _opened(file: str) -> BinaryIO:
    if file == "-":
        return sys.stdin.buffer
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise UsageError("FILE", f"{file} cannot be read: {error.strerror}") from error
