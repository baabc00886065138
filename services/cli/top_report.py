"""What ``tidegate top`` shows, worked out from scrapes. Pure: the scrapes and their times come in.

Rates and quantiles are of what happened between the last two scrapes of a process; everything else is since it started.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from shared.telemetry.scrape import Scrape

__all__ = ["Balance", "ExchangeRow", "Look", "ProcessRow", "Report", "StreamRow", "report"]

SHARE: Final = 0.99
INGEST: Final = "ingest"
NORMALIZER: Final = "normalizer"
ACCOUNT_FRAMES: Final = "account_frames_received_total"
CIRCUIT_STATES: Final = ("open", "half_open", "closed")
"""The worst first."""


class Look(Struct, frozen=True):
    """What was seen of one process: the newest scrape and the one before it, or why there is none."""

    target: str
    """``host:port``."""
    now: Scrape | None = None
    before: Scrape | None = None
    """Of the same process; None when it started since."""
    elapsed_s: float = 0.0
    """Between the two."""
    problem: str | None = None

    def rate(self, name: str, **labels: str) -> float | None:
        """How fast a counter grew, per second."""
        if self.now is None or self.before is None or self.elapsed_s <= 0:
            return None
        return max(0.0, self.now.since(self.before, name, **labels)) / self.elapsed_s

    def total(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples."""
        return 0.0 if self.now is None else self.now.total(name, **labels)

    def quantile(self, name: str, **labels: str) -> float | None:
        """The 99th percentile of a histogram's new observations."""
        if self.now is None or self.before is None:
            return None
        return self.now.quantile(self.before, name, SHARE, **labels)

    def values_of(self, name: str, label: str, **labels: str) -> list[str]:
        """The values that a label has."""
        return [] if self.now is None else self.now.values_of(name, label, **labels)


class StreamRow(Struct, frozen=True):
    """One stream."""

    exchange: str
    stream: str
    up: bool | None
    """None where no ingest was asked that holds it."""
    age_s: float | None
    """Since the last data frame."""
    frames_per_s: float | None
    messages_per_s: float | None
    qsize: int
    qsize_limit: int
    lost: int
    owners: Sequence[str]
    """Targets of the normalizers that consume it: one, if all is well."""


class ExchangeRow(Struct, frozen=True):
    """All streams of an exchange. Durations are 99th percentiles in seconds."""

    exchange: str
    frames_per_s: float | None
    messages_per_s: float | None
    q_wait_s: Mapping[str, float | None]
    """By stage."""
    norm_time_s: float | None
    net_write_s: float | None
    """Of the processes that hold its sockets, as loop_lag_s."""
    loop_lag_s: float | None
    qsize: int
    shed: int
    shed_per_s: float | None
    conflated: int
    rejected: int
    lost: int
    gaps: int
    breaker: str | None


class ProcessRow(Struct, frozen=True):
    """One process, or the address where none answered."""

    target: str
    up: bool
    problem: str | None
    role: str
    cpu: float | None
    """Cores."""
    memory_bytes: int
    loop_lag_s: float | None
    net_write_s: float | None
    active_tasks: int
    streams_owned: int


class Balance(Struct, frozen=True):
    """Frames of the market plane since the processes started.

    ``received = published + conflated + shed + rejected + lost + in_flight + between + balance``. ``between`` is what
    the broker holds, or what a process counted that is gone by now; None unless both stages were seen. ``balance`` is
    what the stages themselves cannot account for: 0, but for a batch that was counted while they were asked.
    """

    received: int
    published: int
    conflated: int
    shed: int
    rejected: int
    lost: int
    in_flight: int
    between: int | None
    balance: int
    messages: int


class Report(Struct, frozen=True):
    """Everything at one moment."""

    time_ns: int
    """Wall clock, UTC."""
    exchanges: Sequence[ExchangeRow]
    streams: Sequence[StreamRow]
    processes: Sequence[ProcessRow]
    frames: Balance


def report(looks: Sequence[Look], time_ns: int) -> Report:
    """Everything that the looks tell."""
    exchanges = _values(looks, "frames_received_total", "exchange") | _values(looks, "stream_up", "exchange")
    streams = {
        (labels["exchange"], labels["stream"])
        for look in looks
        if look.now is not None
        for name in ("stream_up", "stream_owned")
        for labels, _ in look.now.series(name)
    }
    return Report(
        time_ns,
        [_exchange(looks, name) for name in sorted(exchanges | {name for name, _ in streams})],
        [_stream(looks, *key, time_ns) for key in sorted(streams)],
        [_process(look) for look in looks],
        _balance(looks),
    )


def _exchange(looks: Sequence[Look], exchange: str) -> ExchangeRow:
    holding = [
        look for look in looks if look.values_of("frames_received_total", "stage", stage=INGEST, exchange=exchange)
    ]
    every = {"exchange": exchange}
    return ExchangeRow(
        exchange,
        _rate(looks, "frames_received_total", stage=INGEST, **every),
        _rate(looks, "messages_published_total", **every),
        {
            stage: _worst(look.quantile("queue_wait_seconds", stage=stage, **every) for look in looks)
            for stage in (INGEST, NORMALIZER)
        },
        _worst(look.quantile("normalize_seconds", **every) for look in looks),
        _worst(look.quantile("publish_seconds", stage=INGEST) for look in holding),
        _worst(look.quantile("event_loop_lag_seconds") for look in holding),
        _total(looks, "buffer_frames", **every),
        _total(looks, "frames_shed_total", **every),
        _rate(looks, "frames_shed_total", **every),
        _total(looks, "frames_conflated_total", **every),
        _total(looks, "frames_rejected_total", **every),
        _total(looks, "frames_lost_total", **every),
        _total(looks, "gaps_total", **every),
        next(
            (state for state in CIRCUIT_STATES if _total(looks, "circuit_state", circuit=exchange, state=state)), None
        ),
    )


def _stream(looks: Sequence[Look], exchange: str, stream: str, time_ns: int) -> StreamRow:
    key = {"exchange": exchange, "stream": stream}
    up = [look.total("stream_up", **key) for look in looks if look.values_of("stream_up", "stream", **key)]
    last = max((look.total("stream_last_frame_timestamp_seconds", **key) for look in looks), default=0.0)
    return StreamRow(
        exchange,
        stream,
        any(up) if up else None,
        max(0.0, time_ns / 1e9 - last) if last else None,
        _rate(looks, "stream_frames_total", **key) if up else None,
        _rate(looks, "stream_messages_total", **key) if NORMALIZER in _stages(looks) else None,
        _total(looks, "buffer_frames", **key),
        _total(looks, "buffer_frames_limit", **key),
        _total(looks, "frames_lost_total", **key),
        [look.target for look in looks if look.total("stream_owned", **key)],
    )


def _process(look: Look) -> ProcessRow:
    stages = look.values_of("batch_frames_count", "stage")
    exchanges = look.values_of("frames_received_total", "exchange", stage=INGEST)
    roles = [f"{stage} {' '.join(exchanges)}" if stage == INGEST else stage for stage in stages]
    if _of_accounts(look):
        held = [] if look.now is None else look.now.series(ACCOUNT_FRAMES)
        roles = [f"account {of['exchange']} {of['account']}" for of, _ in held] or ["normalizer of accounts"]
    return ProcessRow(
        look.target,
        look.now is not None,
        look.problem,
        ", ".join(roles),
        look.rate("process_cpu_seconds_total"),
        int(look.total("process_resident_memory_bytes")),
        look.quantile("event_loop_lag_seconds"),
        look.quantile("publish_seconds"),
        int(look.total("active_tasks")),
        int(look.total("streams_owned")),
    )


def _of_accounts(look: Look) -> bool:
    """Whether it is a process of the account plane, which sheds nothing and counts what it receives by account."""
    return bool(look.values_of(ACCOUNT_FRAMES, "account") or look.values_of("account_state_usable", "account"))


def _balance(every: Sequence[Look]) -> Balance:
    looks = [look for look in every if not _of_accounts(look)]

    def of(name: str, **labels: str) -> int:
        return _total(looks, name, **labels)

    received = of("frames_received_total", stage=INGEST)
    published = of("frames_published_total", stage=NORMALIZER)
    shed, conflated = of("frames_shed_total"), of("frames_conflated_total")
    rejected, lost = of("frames_rejected_total"), of("frames_lost_total")
    sent, waiting = of("frames_published_total", stage=INGEST), of("frames_in_flight", stage=INGEST)
    taken, working = of("frames_received_total", stage=NORMALIZER), of("frames_in_flight", stage=NORMALIZER)
    again = of("frames_repeated_total") + of("frames_returned_total")
    balance = (received - sent - conflated - shed - waiting) + (taken - published - rejected - again - working)
    between = sent - (taken - again) - lost if _stages(looks) >= {INGEST, NORMALIZER} else None
    messages = of("messages_published_total")
    return Balance(received, published, conflated, shed, rejected, lost, waiting + working, between, balance, messages)


def _stages(looks: Sequence[Look]) -> set[str]:
    return _values(looks, "batch_frames_count", "stage")


def _values(looks: Sequence[Look], name: str, label: str) -> set[str]:
    return {value for look in looks for value in look.values_of(name, label)}


def _total(looks: Sequence[Look], name: str, **labels: str) -> int:
    return int(sum(look.total(name, **labels) for look in looks))


def _rate(looks: Sequence[Look], name: str, **labels: str) -> float | None:
    rates = [look.rate(name, **labels) for look in looks]
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known else None


def _worst(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
