"""A process that journals until it is killed: ``python -m tests.support.journal_child PATH``.

Prints ``written N`` when the N-th frame since the file was made is on disk, and ``confirmed P`` before it lets the
frame at position P go.
"""

import asyncio
import sys
from pathlib import Path

from services.ingest.account.numbering import Begin, Push, Release
from services.ingest.account.telemetry import AccountTelemetry
from services.ingest.account.writer import JournalWriter
from shared.clock import SystemClock
from shared.envelope import Frame, FrameKind
from shared.telemetry.bundle import Telemetry

__all__ = ["STREAM"]

STREAM = "bybit.main"


async def main(path: Path, first: int) -> None:
    telemetry = AccountTelemetry(Telemetry(), "bybit", "main").stream(STREAM)
    writer = JournalWriter(path, STREAM, 1 << 30, SystemClock(), telemetry)
    tasks = [asyncio.create_task(writer.run()), asyncio.create_task(confirm(writer))]
    await writer.usable.wait()
    writer.put(Begin(1, "wss://venue.test", 1), Release())
    number = first
    while not tasks[0].done():
        for _ in range(number % 7 + 1):
            writer.put(Push(Frame(FrameKind.TEXT, number, str(number).encode() * 50)))
            number += 1
        await writer.written()
        say(f"written {number - 1}")


async def confirm(writer: JournalWriter) -> None:
    """A broker that is not always there."""
    while True:
        row = await writer.next()
        if row.position % 40 > 30:
            await asyncio.sleep(0.002)
        say(f"confirmed {row.position}")
        writer.confirmed(row)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
