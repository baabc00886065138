"""Faults on request: what there is, and which are waiting to happen."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

__all__ = ["FAULTS", "Fault", "FaultBoard", "FaultError", "FaultKind", "Subject"]

MOST_ACTIVE = 1000
MOST_COUNT = 100_000
MOST_SECONDS = 86_400.0
MOST_MEBIBYTES = 64
MOST_OFFSET_MS = 86_400_000


class Subject(Protocol):
    """What a fault on frames is about: a topic of a market, or a message of an account."""

    @property
    def name(self) -> str:
        """What is subscribed to."""
        ...

    @property
    def symbol(self) -> str:
        """The venue's id of the instrument; empty where there is none."""
        ...

    @property
    def feed(self) -> str:
        """The kind of data."""
        ...

    @property
    def account(self) -> str:
        """Whose it is; empty for what everybody may see."""
        ...


class FaultError(ValueError):
    """A fault that cannot be asked for like this."""


@dataclass(frozen=True, slots=True)
class FaultKind:
    """``scope`` is where it strikes (frame, topic, connection, connect, request, rest, …); ``seconds`` its default.

    ``private`` kinds are about accounts alone: about all of them where none is named.
    """

    scope: str
    text: str
    seconds: float = 0.0
    private: bool = False


FAULTS: Mapping[str, FaultKind] = {
    "gap": FaultKind("frame", "the next `count` frames of book feeds (or of `feed`) are not sent"),
    "duplicate": FaultKind("frame", "the next `count` frames are sent twice"),
    "out_of_order": FaultKind("frame", "a frame is held back and sent after the one that follows it"),
    "malformed": FaultKind("frame", "frames are cut in half (`mode` truncated), or are html (`mode` garbage)"),
    "wrong_type": FaultKind("frame", "the first number of a frame becomes an object"),
    "nan": FaultKind("frame", "the first number of a frame becomes `value` (NaN, Infinity, or empty)"),
    "huge": FaultKind("frame", "a frame is padded to `size_mib` MiB"),
    "unknown_event": FaultKind("frame", "a frame says that it is of a kind nobody knows"),
    "extra_fields": FaultKind("frame", "frames carry fields that nobody knows"),
    "unknown_symbol": FaultKind("frame", "frames name an instrument that is not listed"),
    "snapshot_midstream": FaultKind("topic", "bybit: every matching book starts over with a snapshot of u=1"),
    "delta_before_snapshot": FaultKind("request", "bybit: a new book subscriber gets a delta before its snapshot"),
    "disconnect": FaultKind("connection", "matching connections are closed with `code`, or reset for code 1006"),
    "half_close": FaultKind("connection", "matching connections go dead: nothing sent, nothing read, no FIN"),
    "silence": FaultKind("connection", "no data for `seconds`; heartbeats and requests are answered", 10.0),
    "unfinished_frame": FaultKind("connection", "a frame that never ends, then nothing"),
    "server_shutdown": FaultKind("connection", "the venue's shutdown notice, and 1001 after `seconds`", 1.0),
    "accept_then_close": FaultKind("connect", "the next `count` connections are accepted and closed with `code`"),
    "refuse": FaultKind("connect", "the next `count` handshakes are answered with HTTP `status`"),
    "no_first_frame": FaultKind("request", "the next `count` topics subscribed are acknowledged and stay silent"),
    "data_before_ack": FaultKind("request", "the next `count` requests get their data before the acknowledgement"),
    "slow_ack": FaultKind("request", "the next `count` requests are answered after `seconds`", 3.0),
    "reject_topic": FaultKind("request", "the next `count` topics asked for are refused the venue's way"),
    "late_snapshot": FaultKind("rest", "book snapshots are taken at once and delivered after `seconds`", 3.0),
    "stale_snapshot": FaultKind("rest", "book snapshots are those of the moment the fault was asked for"),
    "rest_error": FaultKind("rest", "requests are answered with HTTP `status`"),
    "drop_socket": FaultKind("message", "the socket is reset just before the message of a fill", private=True),
    "reorder": FaultKind(
        "message", "messages of orders leave after the fill that follows them, or after `seconds`", 1.0, private=True
    ),
    "refuse_auth": FaultKind("login", "the next `count` logins and signed requests are refused", private=True),
    "expire_key": FaultKind("stream", "listen keys expire, and the streams that live by them", private=True),
    "rest_slow": FaultKind("rest", "private answers are made at once and delivered after `seconds`", 3.0, private=True),
    "rest_lag": FaultKind("rest", "private answers tell what was so `seconds` ago", 1.0, private=True),
    "clock_offset": FaultKind("clock", "the venue's clock is `offset_ms` ahead of everybody's", private=True),
}
"""Every kind, in the order of the table in the README."""


@dataclass(slots=True)
class Fault:
    """One request. Empty ``exchange``, ``product``, ``symbol``, ``feed`` and ``topic`` match everything.

    ``count`` is how often it happens (frames, connections or requests, whatever comes first). Without ``account`` it
    is about what everybody may see; with one (``*``: any) about that account's streams and requests alone, whose
    ``topic`` over REST is the path.
    """

    kind: str
    exchange: str = ""
    product: str = ""
    symbol: str = ""
    feed: str = ""
    topic: str = ""
    account: str = ""
    count: int = 1
    seconds: float = -1.0
    code: int = 1001
    status: int = 429
    size_mib: int = 4
    mode: str = "truncated"
    value: str = "NaN"
    offset_ms: int = 0

    def __post_init__(self) -> None:
        if self.kind not in FAULTS:
            raise FaultError(f"kind must be one of {', '.join(FAULTS)}; received {self.kind!r}")
        if self.seconds < 0:
            self.seconds = FAULTS[self.kind].seconds
        if self.kind == "gap" and not self.feed and not self.topic:
            self.feed = "book"
        if abs(self.offset_ms) > MOST_OFFSET_MS:
            raise FaultError(f"offset_ms must be from -{MOST_OFFSET_MS} to {MOST_OFFSET_MS}; received {self.offset_ms}")
        for name, most in (("count", MOST_COUNT), ("seconds", MOST_SECONDS), ("size_mib", MOST_MEBIBYTES)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
                raise FaultError(f"{name} must be a number from 0 to {most}; received {value!r}")

    @classmethod
    def from_json(cls, request: object) -> "Fault":
        """A fault out of a decoded JSON object; :class:`FaultError` says what is wrong with it."""
        if not isinstance(request, dict) or "kind" not in request:
            raise FaultError("a fault must be an object with a kind")
        known = {one.name: one.type for one in fields(cls)}
        for name, value in request.items():
            if name not in known:
                raise FaultError(f"{name!r} was not expected; a fault has {', '.join(known)}")
            if known[name] is str and not isinstance(value, str):
                raise FaultError(f"{name} must be text; received {value!r}")
            if known[name] is int and (isinstance(value, bool) or not isinstance(value, int)):
                raise FaultError(f"{name} must be an integer; received {value!r}")
        return cls(**request)

    @property
    def scope(self) -> str:
        """Where it strikes."""
        return FAULTS[self.kind].scope

    def at(self, exchange: str, product: str) -> bool:
        """Whether it is meant for this product."""
        return self.exchange in ("", exchange) and self.product in ("", product)

    def concerns(self, account: str) -> bool:
        """Whether it is meant for this account; an empty name stands for what is nobody's."""
        if not account:
            return not self.account and not FAULTS[self.kind].private
        return self.account in ("*", account) or (not self.account and FAULTS[self.kind].private)

    def on(self, topic: Subject) -> bool:
        """Whether it is meant for this topic (its product matched already)."""
        return (
            self.symbol in ("", topic.symbol)
            and self.feed in ("", topic.feed)
            and self.topic in ("", topic.name)
            and self.concerns(topic.account)
        )


class FaultBoard:
    """Faults that wait for their moment; each is taken ``count`` times and gone."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []
        self.done: dict[str, int] = {}
        self.frames = False
        self._held: dict[tuple[str, str, str], list[Any]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, fault: Fault) -> None:
        """Let it wait."""
        if len(self._waiting) >= MOST_ACTIVE:
            raise FaultError(f"{MOST_ACTIVE} faults are waiting already")
        if fault.count:
            self._waiting.append(fault)
            self._refresh()

    def clear(self) -> None:
        """Forget every fault that waits."""
        self._waiting.clear()
        self._held.clear()
        self._refresh()

    def counted(self, kind: str) -> None:
        """One happened."""
        self.done[kind] = self.done.get(kind, 0) + 1

    def take(
        self,
        kind: str,
        exchange: str,
        product: str,
        topic: Subject | None = None,
        symbol: str = "",
        *,
        account: str = "",
        path: str = "",
    ) -> Fault | None:
        """The first waiting fault of this kind that fits, used once.

        Where there is no ``topic``, the ``account`` is whose request or connection it is, and ``path`` stands for a
        topic's name.
        """
        for fault in self._waiting:
            if fault.kind != kind or not fault.at(exchange, product):
                continue
            if topic is not None:
                fits = fault.on(topic)
            else:
                fits = fault.symbol in ("", symbol) and fault.concerns(account)
                fits = fits and (not path or fault.topic in ("", path))
            if fits:
                self._use(fault)
                return fault
        return None

    def strike(self, exchange: str, product: str, topic: Subject) -> Iterator[Fault]:
        """Every frame fault that fits a frame of this topic, each used once."""
        for fault in tuple(self._waiting):
            if fault.scope == "frame" and fault.at(exchange, product) and fault.on(topic):
                self._use(fault)
                yield fault

    def hold(self, key: tuple[str, str, str], outgoing: list[Any]) -> None:
        """Keep frames of a topic back until one passes."""
        self._held.setdefault(key, []).extend(outgoing)
        self._refresh()

    def release(self, key: tuple[str, str, str]) -> list[Any]:
        """What was kept back of a topic."""
        if key not in self._held:
            return []
        outgoing = self._held.pop(key)
        self._refresh()
        return outgoing

    def _use(self, fault: Fault) -> None:
        self.counted(fault.kind)
        fault.count -= 1
        if fault.count <= 0:
            self._waiting = [one for one in self._waiting if one is not fault]
            self._refresh()

    def _refresh(self) -> None:
        self.frames = bool(self._held) or any(fault.scope == "frame" for fault in self._waiting)
