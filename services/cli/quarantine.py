"""``tidegate quarantine``: the frames that could not be normalized, to look at, to try again, and to take out."""

import argparse
import asyncio
import base64
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import json, structs

from services.cli.bundled import bundled
from services.cli.connecting import rabbit
from services.cli.errors import UsageError
from shared.envelope import Frame, FrameKind
from shared.errors import ParseError, TidegateError
from shared.exchanges import adapter
from shared.instruments import InstrumentTable
from shared.messages import encode_messages
from shared.normalizing import StreamNormalizer
from shared.quarantine import QuarantineRecord, decode_record
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry

__all__ = ["Again", "add_arguments", "chosen", "fields", "run"]

REJECTED: Final = 3
MOST: Final = 10_000
SHOWN: Final = 60
"""Bytes of a frame that are shown to people."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("--plane", default="market", choices=["market", "account"], help="whose frames (default: %(default)s)")
    add("--limit", type=int, default=100, metavar="N", help="look at the oldest N frames (default: %(default)s)")
    add("--code", help="only those that were rejected for this, as bad_number (default: all)")
    add("--stream", help="only those of this stream, as bybit.linear.0 (default: all)")
    add("--json", action="store_true", help="a JSON object for each frame, one a line (default: for people)")
    add(
        "--replay",
        action="store_true",
        help="normalize them again, offline, and print the messages that they give now, one a line; what is still "
        "rejected goes to standard error (default: show them)",
    )
    add("--take", action="store_true", help="remove what was looked at from the queue (default: leave it there)")


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """0; with ``--replay`` 3 when a frame is rejected again. Raises UsageError, BrokerError."""
    del telemetry
    if not 1 <= arguments.limit <= MOST:
        raise UsageError("--limit", f"must be 1 to {MOST}, {arguments.limit} was given")
    if arguments.take and (arguments.code or arguments.stream):
        raise UsageError("--take", "removes all that was looked at: it does not go with --code or --stream")
    return asyncio.run(_run(arguments, settings))


async def _run(arguments: argparse.Namespace, settings: Settings) -> int:
    async with rabbit(settings, "quarantine") as bus:
        held = await bus.quarantined(arguments.plane, arguments.limit)
        try:
            records = list(chosen(held.bodies, arguments.code, arguments.stream))
            status = _replay(records) if arguments.replay else _show(records, as_json=arguments.json)
            sys.stdout.flush()
            if arguments.take:
                await held.discard()
        finally:
            await held.close()
    what = "removed from" if arguments.take else "in"
    sys.stderr.write(f"tidegate: {len(records)} of {len(held.bodies)} frames {what} quarantine.{arguments.plane}\n")
    return status


def chosen(bodies: Iterable[bytes], code: str | None, stream: str | None) -> Iterator[QuarantineRecord]:
    """The records that are asked for. A body that is no record is told on standard error."""
    for body in bodies:
        try:
            record = decode_record(body)
        except ParseError as error:
            sys.stderr.write(f"tidegate: {error}\n")
            continue
        if code in {None, record.code} and stream in {None, record.stream}:
            yield record


def fields(record: QuarantineRecord) -> dict[str, Any]:
    """A record as JSON: the frame as text, or where it is none as base64 in ``data_base64``."""
    found = structs.asdict(record)
    try:
        found["data"] = record.data.decode()
    except UnicodeDecodeError:
        del found["data"]
        found["data_base64"] = base64.b64encode(record.data).decode()
    return found


class Again:
    """Frames through normalizers of their own streams, which know the bundled instruments and no frame before."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str, str], StreamNormalizer] = {}
        self._numbers: dict[tuple[str, str, str], int] = {}

    def normalize(self, record: QuarantineRecord) -> tuple[list[bytes], list[tuple[str, str]]]:
        """The messages that a frame gives now (JSON), and why it is rejected."""
        if record.kind not in {int(kind) for kind in FrameKind}:
            return [], [(record.code, f"is no frame: {record.detail}")]
        key = (record.exchange, record.product, record.stream)
        try:
            normalizer = self._streams.get(key) or self._new(key)
        except TidegateError as error:
            return [], [("unknown_event", str(error))]
        number = self._numbers.get(key, 0)
        self._numbers[key] = number + 1
        frame = Frame(FrameKind(record.kind), record.ts_received, record.data)
        output = normalizer.frame(0, number, frame, record.ts_rejected).output
        messages = [encode_messages([message])[1:-1] for message in output.messages]
        return messages, [(rejection.code, rejection.detail) for rejection in output.rejections]

    def _new(self, key: tuple[str, str, str]) -> StreamNormalizer:
        exchange, product, stream = key
        venue = adapter(exchange)
        if product not in venue.products:
            raise TidegateError(f"{exchange} has no product {product!r}")
        found = StreamNormalizer(venue, product, stream, InstrumentTable(bundled(exchange, product)))
        self._streams[key] = found
        return found


def _replay(records: Sequence[QuarantineRecord]) -> int:
    again, status = Again(), 0
    for record in records:
        messages, rejections = again.normalize(record)
        sys.stdout.buffer.writelines(message + b"\n" for message in messages)
        for code, detail in rejections:
            status = REJECTED
            place = {"stream": record.stream, "epoch": record.epoch, "frame": record.frame}
            sys.stderr.write(json.encode({**place, "code": code, "detail": detail}).decode() + "\n")
    sys.stdout.buffer.flush()
    return status


def _show(records: Sequence[QuarantineRecord], *, as_json: bool) -> int:
    for record in records:
        sys.stdout.write((json.encode(fields(record)).decode() if as_json else _line(record)) + "\n")
    return 0


def _line(record: QuarantineRecord) -> str:
    when = datetime.fromtimestamp(record.ts_rejected / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")
    data = record.data[:SHOWN].decode(errors="replace") + ("…" if len(record.data) > SHOWN else "")
    place = f"{record.stream} epoch={record.epoch} frame={record.frame}"
    return f"{when} {place} {record.code}: {record.detail} | {len(record.data)} bytes: {data!r}"
