"""The line that ``tidegate up`` prints now and then: how much goes through, and what does not."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final

from services.cli.top_report import Report, report
from services.cli.top_targets import Targets
from shared.transport.http import PageReader

__all__ = ["line", "tell"]

EVERY_S: Final = 10.0
STARTING_S: Final = 1.0
DEADLINE_S: Final = 2.0


def tell(names: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Say it every 10 s once every process answers, for ever; ``names`` are the processes by ``host:port``."""
    asyncio.run(_tell(names, say))


async def _tell(names: Mapping[str, str], say: Callable[[str], None]) -> None:
    targets = Targets(list(names))
    async with PageReader(DEADLINE_S) as reader:
        started = False
        while True:
            await asyncio.sleep(EVERY_S if started else STARTING_S)
            looks = await targets.look(reader)
            if started:
                say(line(report(looks, time.time_ns()), names))
            started = started or not any(look.problem for look in looks)


def line(found: Report, names: Mapping[str, str]) -> str:
    """``binance 412/430, bybit 310/325 frames/messages a second; 6 streams up; nothing shed or lost``."""
    rates = [f"{one.exchange} {_rate(one.frames_per_s)}/{_rate(one.messages_per_s)}" for one in found.exchanges]
    up, streams = sum(1 for one in found.streams if one.up), len(found.streams)
    counts = {
        "shed": found.frames.shed,
        "lost": found.frames.lost,
        "rejected": found.frames.rejected,
        "gaps": sum(one.gaps for one in found.exchanges),
    }
    parts = [
        f"{', '.join(rates) or 'nobody:'} frames/messages a second",
        f"{streams if up == streams else f'{up} of {streams}'} streams up",
        ", ".join(f"{name} {count:,}" for name, count in counts.items() if count) or "nothing shed or lost",
        *(f"{names.get(one.target, one.target)} does not answer" for one in found.processes if not one.up),
    ]
    return "; ".join(parts)


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
