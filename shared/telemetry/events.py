"""What happens inside: one method per event, which writes its metric and its log line.

A line of one event and one subject comes at most every 10 s and tells how many were held back (``suppressed=41``);
the metric counts every one. Lines look like ``frames_shed | exchange=bybit | stream=bybit.linear.0 | …``.
Texts of others (a venue's reason, an exception) appear in lines, shortened, never in labels.
"""

import logging
from collections.abc import Hashable, Sequence
from typing import Final

from shared.clock import Clock, SystemClock
from shared.errors import PARSE_CODES
from shared.telemetry.labels import NONE, OTHER, Children
from shared.telemetry.metrics import Metrics
from shared.telemetry.ratelimit import RateLimiter

__all__ = ["Events"]

DETAIL_LIMIT: Final = 300
CIRCUIT_STATES: Final = ("closed", "open", "half_open")


class Reporter:
    """Writes the rate-limited lines."""

    def __init__(
        self,
        metrics: Metrics,
        *,
        logger: logging.Logger | None = None,
        clock: Clock | None = None,
        interval: int = 10_000_000_000,
    ) -> None:
        self._metrics: Final = metrics
        self._logger: Final = logger or logging.getLogger("tidegate.events")
        self._clock: Clock = clock or SystemClock()
        self._limiter = RateLimiter(interval)
        self._reasons = metrics.words("reason")
        self._streams = metrics.streams
        self._suppressed = Children(metrics.log_lines_suppressed)
        self._shed = Children(metrics.frames_shed)
        self._gaps = Children(metrics.gaps)
        self._elements_rejected = Children(metrics.elements_rejected)
        self._frames_rejected = Children(metrics.frames_rejected)
        self._quarantined = Children(metrics.quarantined)
        self._circuits: dict[str, str] = {}

    def _report(self, level: int, event: str, subject: Hashable, **fields: object) -> None:
        """One line, unless there was one of this event and subject a moment ago. Fields that are None are left out."""
        suppressed = self._limiter.allow((event, subject), self._clock.monotonic())
        if suppressed is None:
            self._suppressed[(event,)].inc()
            return
        if not self._logger.isEnabledFor(level):
            return
        shown = {name: _short(value) for name, value in fields.items() if value is not None}
        if suppressed:
            shown["suppressed"] = suppressed
        text = " | ".join((event, *(f"{name}={value}" for name, value in shown.items())))
        self._logger.log(level, "%s", text, extra={"event": event, "fields": shown})


class StreamEvents(Reporter):
    """What ingest tells of its streams."""

    def stream_connected(self, exchange: str, stream: str, epoch: int, url: str) -> None:
        """A WebSocket is open: an epoch begins."""
        metrics, labels = self._metrics, (exchange, self._streams(stream))
        metrics.stream_up.labels(*labels).set(1)
        metrics.stream_epoch.labels(*labels).set(epoch)
        metrics.stream_connected.labels(*labels).set(self._clock.wall() * 1e-9)
        self._report(logging.INFO, "stream_connected", stream, exchange=exchange, stream=stream, epoch=epoch, url=url)

    def stream_disconnected(
        self, exchange: str, stream: str, reason: str, *, code: int | None = None, detail: str | None = None
    ) -> None:
        """It ended. ``reason`` as in the Disconnected mark, ``code`` the close code of RFC 6455 section 7.4."""
        labels = (exchange, self._streams(stream))
        self._metrics.stream_up.labels(*labels).set(0)
        self._metrics.reconnects.labels(*labels, self._reasons(reason)).inc()
        fields = {"exchange": exchange, "stream": stream, "reason": reason, "code": code, "detail": detail}
        level = logging.INFO if reason in {"stopped", "planned"} else logging.WARNING
        self._report(level, "stream_disconnected", (stream, reason), **fields)

    def connect_failed(self, exchange: str, stream: str, reason: str, detail: str) -> None:
        """A WebSocket could not be opened; counted with the ends of connections."""
        self._metrics.reconnects.labels(exchange, self._streams(stream), self._reasons(reason)).inc()
        fields = {"exchange": exchange, "stream": stream, "reason": reason, "detail": detail}
        self._report(logging.WARNING, "connect_failed", (stream, reason), **fields)

    def subscription_rejected(self, exchange: str, stream: str, feed: str, native_symbol: str, reason: str) -> None:
        """The venue refused a topic; ``reason`` in its words."""
        self._metrics.subscription_rejections.labels(exchange, self._streams(stream), feed).inc()
        fields = {"exchange": exchange, "stream": stream, "feed": feed, "symbol": native_symbol, "reason": reason}
        self._report(logging.WARNING, "subscription_rejected", (stream, feed), **fields)

    def subscription_silent(self, exchange: str, stream: str, feed: str, native_symbol: str, seconds: float) -> None:
        """A topic had no first frame within the deadline."""
        self._metrics.subscriptions_silent.labels(exchange, self._streams(stream), feed).inc()
        fields = {"exchange": exchange, "stream": stream, "feed": feed, "symbol": native_symbol, "seconds": seconds}
        self._report(logging.WARNING, "subscription_silent", (stream, feed), **fields)

    def venue_error(self, exchange: str, stream: str, detail: str) -> None:
        """The venue complained about nothing that can be told; counted with the control frames."""
        self._report(logging.WARNING, "venue_error", stream, exchange=exchange, stream=stream, detail=detail)

    def resync_started(self, exchange: str, stream: str, feed: str, native_symbol: str | None, reason: str) -> None:
        """Ingest asks the venue for a fresh snapshot."""
        self._metrics.resyncs.labels(exchange, feed, self._reasons(reason)).inc()
        fields = {"exchange": exchange, "stream": stream, "feed": feed, "symbol": native_symbol, "reason": reason}
        self._report(logging.INFO, "resync_started", (stream, feed, reason), **fields)

    def instruments_loaded(self, exchange: str, product: str, count: int) -> None:
        """An instrument list was read."""
        self._metrics.instruments.labels(exchange, product).set(count)
        fields = {"exchange": exchange, "product": product, "count": count}
        self._report(logging.INFO, "instruments_loaded", (exchange, product), **fields)

    def rest_failed(self, exchange: str, outcome: str, url: str, detail: str) -> None:
        """A REST request got no usable reply; ``outcome`` is a bounded word (``timeout``, ``status_429``, …)."""
        self._metrics.rest_requests.labels(exchange, self._metrics.words("outcome")(outcome)).inc()
        fields = {"exchange": exchange, "outcome": outcome, "url": url, "detail": detail}
        self._report(logging.WARNING, "rest_failed", (exchange, outcome), **fields)


class LossEvents(Reporter):
    """What did not get through, and what is done about it."""

    def frames_shed(
        self, exchange: str, stream: str, feed: str | None, symbol: str | None, reason: str, count: int
    ) -> None:
        """Ingest dropped frames on purpose."""
        labels = ("ingest", exchange, feed or NONE, self._metrics.symbols(symbol), self._reasons(reason))
        self._shed[labels].inc(count)
        fields = {
            "exchange": exchange,
            "stream": stream,
            "feed": feed,
            "symbol": symbol,
            "reason": reason,
            "count": count,
        }
        self._report(logging.WARNING, "frames_shed", (stream, feed, reason), **fields)

    def frames_lost(self, exchange: str, stream: str, count: int) -> None:
        """A hole in the frame numbers."""
        self._metrics.frames_lost.labels(exchange, self._streams(stream)).inc(count)
        self._report(logging.WARNING, "frames_lost", stream, exchange=exchange, stream=stream, count=count)

    def gap(self, exchange: str, stream: str, symbol: str | None) -> None:
        """A venue's own sequence broke."""
        self._gaps[exchange, self._metrics.symbols(symbol)].inc()
        self._report(logging.WARNING, "gap", stream, exchange=exchange, stream=stream, symbol=symbol)

    def resync_requested(self, exchange: str, stream: str, feed: str, symbol: str | None, reason: str) -> None:
        """A normalizer asks ingest for what restores a feed."""
        self._metrics.resync_requests.labels(exchange, feed, self._reasons(reason)).inc()
        fields = {"exchange": exchange, "stream": stream, "feed": feed, "symbol": symbol, "reason": reason}
        self._report(logging.INFO, "resync_requested", (stream, feed, reason), **fields)

    def frame_rejected(
        self, exchange: str, stream: str, epoch: int, frame: int, rejections: Sequence[tuple[str, str]]
    ) -> None:
        """A frame could not be normalized, wholly or in part: ``(code, detail)`` of every error (at least one)."""
        for code, _ in rejections:
            self._elements_rejected[exchange, _code(code)].inc()
        code, detail = rejections[0]
        self._frames_rejected[exchange, _code(code)].inc()
        fields = {
            "exchange": exchange,
            "stream": stream,
            "epoch": epoch,
            "frame": frame,
            "code": code,
            "detail": detail,
        }
        self._report(logging.WARNING, "frame_rejected", (stream, code), **fields)

    def quarantined(self, plane: str, stream: str, code: str, count: int = 1) -> None:
        """Frames went into quarantine."""
        self._quarantined[plane, _code(code)].inc(count)
        fields = {"plane": plane, "stream": stream, "code": code, "count": count}
        self._report(logging.WARNING, "quarantined", (plane, stream, code), **fields)


class BusEvents(Reporter):
    """Publishing, the broker, who consumes what."""

    def publish_failed(self, stage: str, plane: str, reason: str, detail: str) -> None:
        """A batch was not confirmed; ``reason``: ``unavailable``, ``nacked``, ``returned``, ``timeout``."""
        self._metrics.publish_failures.labels(stage, plane, self._reasons(reason)).inc()
        fields = {"stage": stage, "plane": plane, "reason": reason, "detail": detail}
        self._report(logging.WARNING, "publish_failed", (stage, plane, reason), **fields)

    def circuit_changed(self, circuit: str, state: str, failures: int) -> None:
        """State (of :class:`shared.circuit.CircuitState`) and failures in a row of a breaker; once at start, too.

        A transition is counted and told when the state differs from the last one; a breaker starts closed.
        """
        word = str(state).lower()
        self._metrics.circuit_failures.labels(circuit).set(failures)
        known, self._circuits[circuit] = self._circuits.get(circuit), word
        if word == known:
            return
        for each in CIRCUIT_STATES:
            self._metrics.circuit_state.labels(circuit, each).set(each == word)
        if word == (known or "closed"):
            return
        self._metrics.circuit_transitions.labels(circuit, word).inc()
        level = logging.INFO if word == "closed" else logging.WARNING
        self._report(level, "circuit_changed", (circuit, word), circuit=circuit, state=str(state), failures=failures)

    def broker_connected(self, connection: str) -> None:
        """A connection to the broker stands; ``connection`` is its purpose (``publish``, ``consume``)."""
        self._metrics.broker_connected.labels(connection).set(1)
        self._metrics.broker_blocked.labels(connection).set(0)
        self._report(logging.INFO, "broker_connected", connection, connection=connection)

    def broker_lost(self, connection: str, detail: str) -> None:
        """It is gone."""
        self._metrics.broker_connected.labels(connection).set(0)
        self._metrics.broker_blocked.labels(connection).set(0)
        self._metrics.broker_losses.labels(connection).inc()
        self._report(logging.WARNING, "broker_lost", connection, connection=connection, detail=detail)

    def broker_unready(self, detail: str, again_s: float) -> None:
        """It can't be used yet: it is away, or has other queues. It is tried again after a while."""
        self._metrics.broker_refusals.inc()
        self._report(logging.WARNING, "broker_unready", None, detail=detail, again=f"{again_s:.1f} s")

    def broker_blocked(self, connection: str, reason: str) -> None:
        """The broker accepts nothing (``connection.blocked``: memory or disk alarm)."""
        self._metrics.broker_blocked.labels(connection).set(1)
        self._report(logging.WARNING, "broker_blocked", connection, connection=connection, reason=reason)

    def broker_unblocked(self, connection: str) -> None:
        """It accepts again."""
        self._metrics.broker_blocked.labels(connection).set(0)
        self._report(logging.INFO, "broker_unblocked", connection, connection=connection)

    def stream_taken(self, exchange: str, stream: str, reason: str) -> None:
        """This normalizer now owns a stream; ``reason``: ``started``, ``orphaned``, ``rebalanced``."""
        self._metrics.streams_owned.labels(exchange).inc()
        self._metrics.stream_owned.labels(exchange, self._streams(stream)).set(1)
        self._metrics.handovers.labels(exchange, reason).inc()
        self._report(logging.INFO, "stream_taken", stream, exchange=exchange, stream=stream, reason=reason)

    def stream_released(self, exchange: str, stream: str, reason: str) -> None:
        """It does no longer; ``reason``: ``yielded``, ``stopping``, ``unannounced``, ``lost``."""
        self._metrics.streams_owned.labels(exchange).dec()
        self._metrics.stream_owned.labels(exchange, self._streams(stream)).set(0)
        self._metrics.handovers.labels(exchange, reason).inc()
        level = logging.WARNING if reason == "lost" else logging.INFO
        self._report(level, "stream_released", stream, exchange=exchange, stream=stream, reason=reason)

    def members_changed(self, members: int) -> None:
        """The number of normalizers that share the streams."""
        self._metrics.members.set(members)
        self._report(logging.INFO, "members_changed", members, members=members)

    def recording_failed(self, file: str, problem: str) -> None:
        """A capture file could not be written: the recording is over, nothing else is."""
        self._metrics.recording_failures.inc()
        self._report(logging.ERROR, "recording_failed", file, file=file, problem=problem)

    def task_crashed(self, task: str, error: BaseException) -> None:
        """A background task ended with an exception."""
        self._metrics.task_crashes.labels(self._metrics.words("task")(task)).inc()
        detail = f"{type(error).__name__}: {error}"
        self._report(logging.ERROR, "task_crashed", (task, type(error)), task=task, detail=detail)


class Events(StreamEvents, LossEvents, BusEvents):
    """All events. One per process, passed around with the metrics."""


def _code(code: str) -> str:
    return code if code in PARSE_CODES else OTHER


def _short(value: object) -> object:
    if isinstance(value, str) and len(value) > DETAIL_LIMIT:
        return value[:DETAIL_LIMIT] + "…"
    return value
