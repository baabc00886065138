"""The live table of ``tidegate run``, and its plain-line form where there is no terminal."""

import asyncio
import sys
from dataclasses import dataclass

from rich.live import Live
from rich.table import Table

from services.cli.watch import MarketWatch, Row

__all__ = ["Rates", "Screen", "counts", "lines", "table"]

REFRESH_S = 1.0


@dataclass(slots=True)
class Rates:
    """Per-second rates from two looks at growing counts."""

    before: dict[tuple[str, str], tuple[int, int]]
    elapsed_s: float

    def of(self, row: Row) -> tuple[float, float]:
        """Frames and messages per second of an instrument."""
        frames, messages = self.before.get((row.exchange, row.symbol), (0, 0))
        seconds = max(self.elapsed_s, 1e-3)
        return (row.frames - frames) / seconds, (row.messages - messages) / seconds


class Screen:
    """Shows every second what was seen: a table on a terminal, else lines, nothing at all when ``quiet``."""

    def __init__(self, watch: MarketWatch, source: str, seconds: float | None, *, quiet: bool) -> None:
        self._watch = watch
        self._source = source
        self._seconds = seconds
        self._quiet = quiet

    async def show(self, stop: asyncio.Event) -> None:
        """Until ``stop`` or the end of the time; raises BrokenPipeError when nobody reads any more."""
        if self._quiet:
            await _wait(stop, self._seconds)
        elif not sys.stdout.isatty():
            await self._rounds(stop, None)
        else:
            # What is logged meanwhile is printed above the table: Live stands in for sys.stderr.
            with Live(auto_refresh=False) as live:
                await self._rounds(stop, live)

    async def _rounds(self, stop: asyncio.Event, live: Live | None) -> None:
        now = asyncio.get_running_loop().time
        end = None if self._seconds is None else now() + self._seconds
        before, looked = counts(self._watch), now()
        while not stop.is_set() and (end is None or now() < end):
            await _wait(stop, REFRESH_S if end is None else min(REFRESH_S, end - now()))
            rates = Rates(before, now() - looked)
            before, looked = counts(self._watch), now()
            if live is not None:
                title = f"Tidegate, {self._source}: {self._watch.messages:,} messages"
                live.update(table(self._watch, rates, title), refresh=True)
            elif self._watch.rows:
                sys.stdout.write("\n".join(lines(self._watch, rates)) + "\n")
                sys.stdout.flush()


async def _wait(stop: asyncio.Event, seconds: float | None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        pass


def table(watch: MarketWatch, rates: Rates, title: str) -> Table:
    """The table, one instrument a row."""
    view = Table(title=title, expand=False, pad_edge=False)
    view.add_column("instrument", no_wrap=True)
    for name in ("bid", "ask", "last", "frames/s", "messages/s", "latency", "gaps", "shed"):
        view.add_column(name, justify="right", no_wrap=True)
    for row in _ordered(watch):
        frames, messages = rates.of(row)
        view.add_row(
            f"{row.exchange} {row.symbol}",
            row.bid or "",
            row.ask or "",
            row.last or "",
            f"{frames:,.0f}",
            f"{messages:,.0f}",
            _latency(row),
            str(row.gaps),
            str(row.shed),
            style="red" if row.gaps or row.shed else "",
        )
    return view


def lines(watch: MarketWatch, rates: Rates) -> list[str]:
    """The same, one line an instrument."""
    found = []
    for row in _ordered(watch):
        frames, messages = rates.of(row)
        found.append(
            f"{row.exchange} {row.symbol} bid={row.bid or '-'} ask={row.ask or '-'} last={row.last or '-'} "
            f"frames/s={frames:.0f} messages/s={messages:.0f} latency={_latency(row)} gaps={row.gaps} shed={row.shed}"
        )
    return found


def counts(watch: MarketWatch) -> dict[tuple[str, str], tuple[int, int]]:
    """What :class:`Rates` compares with."""
    return {key: (row.frames, row.messages) for key, row in watch.rows.items()}


def _ordered(watch: MarketWatch) -> list[Row]:
    return [watch.rows[key] for key in sorted(watch.rows)]


def _latency(row: Row) -> str:
    return "-" if row.latency_us is None else f"{row.latency_us / 1000:.2f} ms"
