"""The live table of ``tidegate run``, and its plain-line form where there is no terminal."""

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from services.cli import fitting
from services.cli.fitting import Column, duration, fitted, rate
from services.cli.watch import MarketWatch, Row

__all__ = ["Rates", "Screen", "counts", "lines", "view"]

REFRESH_S: Final = 1.0
OVERHEAD: Final = 4
"""Lines of a terminal that hold no row: the title, the head, a note, and the one below, where the cursor stands."""
COLUMNS: Final = (
    Column("instrument", 99, left=True), Column("bid", 95), Column("ask", 94), Column("last", 93),
    Column("frames/s", 80, short="frm/s"), Column("messages/s", 85, short="msg/s"), Column("latency", 90),
    Column("gaps", 92), Column("shed", 91),
)  # fmt: skip


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
                size = live.console.size
                live.update(view(self._watch, rates, title, size.width, size.height), refresh=True)
            elif self._watch.rows:
                sys.stdout.write("\n".join(lines(self._watch, rates)) + "\n")
                sys.stdout.flush()


async def _wait(stop: asyncio.Event, seconds: float | None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        pass


def view(watch: MarketWatch, rates: Rates, title: str, width: int, height: int) -> RenderableType:
    """The table: below each exchange its instruments. It fits a terminal of this size; what has no room is counted."""
    exchanges = {name: list(rows) for name, rows in groupby(_ordered(watch), lambda row: row.exchange)}
    kept = _kept(exchanges, max(1, height - OVERHEAD - len(exchanges)))
    shown: list[fitting.Row] = []
    for name, rows in exchanges.items():
        shown += [_total(name, rows, rates), *(_instrument(row, rates) for row in rows if row.symbol in kept[name])]
    parts: list[RenderableType] = [Text(title, style="bold"), fitted(COLUMNS, shown, width)]
    if left_out := len(watch.rows) + len(exchanges) - len(shown):
        parts.append(Text(f"{left_out} instruments are left out: the window is too low", style="yellow"))
    return Group(*parts)


def _kept(exchanges: Mapping[str, Sequence[Row]], room: int) -> dict[str, set[str]]:
    """The symbols of each exchange that so many lines have room for: what is wrong, then as many of each exchange."""
    places = [
        (not (row.gaps or row.shed), place, name, row.symbol)
        for name, rows in exchanges.items()
        for place, row in enumerate(rows)
    ]
    kept: dict[str, set[str]] = {name: set() for name in exchanges}
    for *_, name, symbol in sorted(places)[:room]:
        kept[name].add(symbol)
    return kept


def _total(exchange: str, rows: Sequence[Row], rates: Rates) -> fitting.Row:
    each = [rates.of(row) for row in rows]
    frames, messages = sum(one for one, _ in each), sum(one for _, one in each)
    worst = max((row.latency_us for row in rows if row.latency_us is not None), default=None)
    gaps, shed = sum(row.gaps for row in rows), sum(row.shed for row in rows)
    return fitting.Row(exchange, (exchange, "", "", "", *_counted(frames, messages, worst, gaps, shed)), "bold")


def _instrument(row: Row, rates: Rates) -> fitting.Row:
    cells = (f" {row.symbol}", *_prices(row), *_counted(*rates.of(row), row.latency_us, row.gaps, row.shed))
    return fitting.Row(row.symbol, cells, "red" if row.gaps or row.shed else "")


def _counted(frames: float, messages: float, latency_us: float | None, gaps: int, shed: int) -> Iterator[str]:
    yield from (rate(frames), rate(messages), duration(None if latency_us is None else latency_us / 1e6))
    yield from (str(gaps), str(shed))


def _prices(row: Row) -> Iterator[str]:
    """Bid, ask and last with as many decimals as the one that needs most: venues fill up with zeros."""
    parts = [(text or "").partition(".") for text in (row.bid, row.ask, row.last)]
    places = max(len(decimals.rstrip("0")) for _, _, decimals in parts)
    for whole, _, decimals in parts:
        yield f"{whole}.{decimals[:places].ljust(places, '0')}" if whole and places else whole


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
