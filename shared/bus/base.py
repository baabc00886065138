"""The port between stages. Two buses stand behind it: ``memory`` (one process) and ``rabbit`` (RabbitMQ).

Everything that is published goes to a *named exchange with a routing key*; everything that is consumed comes from a
queue with a bound. The semantics that stage code relies on, and that one conformance suite checks against both:

- ``publish`` returns when the bus has taken responsibility (a broker confirm) and raises BrokerError otherwise;
  publishes that are started in order on one publisher are delivered in order.
- A raw queue hands deliveries out in order, to one consumer; what is not acknowledged when the consumer ends comes
  again, in order, before anything newer.
- A consumer of raw queues is one normalizer's session: a member of its plane's list, the holder of a lock for each
  stream that it consumes. It ends as a whole when a connection is lost, and with it all that it held. What its
  publisher wrote before stays; it writes nothing any more.
- A full raw market queue drops its oldest; a full raw account queue refuses; a full subscription drops its oldest and
  counts.
- What cannot be published at all is refused before it is sent (``PublishFailed``, reason ``refused``): an AMQP exchange
  that the topology does not know, a routing key over 255 bytes, a body over 16 MiB (RabbitMQ 4's default limit).
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self

from shared.control import StreamInfo
from shared.envelope import MAX_ENVELOPE_BYTES, Plane
from shared.errors import BrokerError, PublishFailed
from shared.topology import AMQP_EXCHANGES, QUARANTINE, RAW

__all__ = [
    "MANDATORY",
    "MAX_BODY_BYTES",
    "MAX_KEY_BYTES",
    "MOST_HELD",
    "Bus",
    "Delivery",
    "Held",
    "Publisher",
    "RawConsumer",
    "StreamBusy",
    "Subscriber",
    "checked_key",
]

MAX_KEY_BYTES: Final = 255
MAX_BODY_BYTES: Final = MAX_ENVELOPE_BYTES
MOST_HELD: Final = 64 * 1024 * 1024
"""Bytes after which no further message of a quarantine is fetched at once."""
MANDATORY: Final = frozenset({RAW, QUARANTINE})
"""AMQP exchanges where a message that nobody is bound for is a loss."""

_EXCHANGES: Final = frozenset(exchange.name for exchange in AMQP_EXCHANGES)


class StreamBusy(BrokerError):
    """Someone else owns the stream; after a crash that the broker does not see, for up to three heartbeats more."""


def checked_key(exchange: str, key: str, body: bytes) -> bytes:
    """The routing key in UTF-8; raises PublishFailed(``refused``) for what no bus takes."""
    if exchange not in _EXCHANGES:
        raise PublishFailed("refused", f"AMQP exchange {exchange!r} is not in the topology")
    encoded = key.encode()
    if len(encoded) > MAX_KEY_BYTES:
        raise PublishFailed(
            "refused", f"routing key on {exchange} was {len(encoded)} bytes, {MAX_KEY_BYTES} fit: {key}"
        )
    if len(body) > MAX_BODY_BYTES:
        raise PublishFailed("refused", f"body for {exchange} {key} was {len(body)} bytes, {MAX_BODY_BYTES} fit")
    return encoded


class Delivery(NamedTuple):
    """One AMQP message: routing key (or stream), body, and what the consumer acknowledges it by."""

    key: str
    body: bytes
    tag: int
    redelivered: bool
    ts_delivered: int
    """When this process got it (ns, monotonic clock)."""


class Publisher(Protocol):
    """Confirmed publishing on a channel of its own."""

    async def publish(self, exchange: str, key: str, body: bytes, *, deadline_s: float) -> None:
        """Publish and wait for the confirm.

        Raises BrokerUnavailable (no connection, or lost meanwhile) or PublishFailed (nacked, returned, timeout,
        refused). A message that nobody is bound for is a failure (returned) on ``raw`` and ``quarantine`` only.
        After a failure other than ``refused`` and ``returned`` it is in doubt whether the message is in the bus.
        """
        ...

    async def publish_batch(self, exchange: str, messages: Sequence[tuple[str, bytes]], *, deadline_s: float) -> None:
        """Publish ``(key, body)`` pairs in order with pipelined confirms; raises the first failure.

        Whatever the failure, the others of the batch may be in the bus.
        """
        ...

    @property
    def blocked(self) -> str | None:
        """Why the broker accepts nothing at the moment (``connection.blocked``), or None."""
        ...


class RawConsumer(Protocol):
    """The raw queues that one member owns: the session of a normalizer.

    It is a member of its plane's list from its first ``members`` or ``add`` until it leaves or ends.
    """

    @property
    def member(self) -> str:
        """The name that it goes by; empty where it was given none."""
        ...

    async def members(self) -> int:
        """How many members the list has at the moment, this one among them unless it left.

        The answer is also the proof that locks are held by; see ``check``. Raises BrokerUnavailable.
        """
        ...

    async def leave(self) -> None:
        """Off the list for good, so that others take a larger share; what it owns it keeps until it releases it.

        Raises BrokerUnavailable.
        """
        ...

    def check(self) -> None:
        """Raises BrokerUnavailable unless what it owns is surely its own at this moment.

        On a broker that is so for one heartbeat after the last answer to ``members``: less than the two that the
        broker itself waits before it gives locks away. A process that slept longer finds out before it publishes.
        """
        ...

    async def add(self, stream: StreamInfo) -> None:
        """Own a stream and begin to consume its queue (declared if need be); nothing happens if it is owned already.

        Raises StreamBusy when another consumer has it, BrokerUnavailable, or TopologyMismatch.
        """
        ...

    async def release(self, stream: StreamInfo) -> None:
        """Own a stream no longer; nothing happens if it is not owned. The next owner goes on where this one ends.

        From the call on ``receive`` hands out none of the stream's deliveries. What it has not handed out goes back;
        what it has is waited for until it is acknowledged; then the lock is free. Raises BrokerUnavailable, after a
        deadline too: then the consumer has ended.
        """
        ...

    async def receive(self, limit: int) -> list[Delivery]:
        """At least one delivery, at most ``limit``, what is there; in order per stream. ``key`` is the stream.

        Raises BrokerUnavailable when the connection is gone: the consumer is useless then, and so is every
        unacknowledged delivery.
        """
        ...

    async def ack(self, deliveries: Sequence[Delivery]) -> None:
        """Everything that came of these deliveries is confirmed: exactly these, none before or between them.

        Raises BrokerUnavailable: they come again then.
        """
        ...

    async def close(self) -> None:
        """Stop; what is not acknowledged goes back."""
        ...


class Subscriber(Protocol):
    """A queue of one's own, bound to an exchange by patterns (topic words, ``*``, ``#``); gone when closed."""

    async def receive(self) -> Delivery:
        """The next delivery. It is acknowledged by being received. Raises BrokerUnavailable once it is closed."""
        ...

    @property
    def dropped(self) -> int:
        """Deliveries dropped because this subscriber was too slow, as far as the bus can tell."""
        ...

    async def close(self) -> None:
        """Unbind and delete the queue."""
        ...


class Held(Protocol):
    """The oldest messages of a quarantine queue, which nobody else is handed until this is closed."""

    bodies: list[bytes]

    async def discard(self) -> None:
        """Remove them for good; raises BrokerUnavailable."""
        ...

    async def close(self) -> None:
        """Those that were not discarded go back to where they were."""
        ...


class Bus(Protocol):
    """A connection to the bus; entering it connects and declares the topology, leaving it closes."""

    async def __aenter__(self) -> Self:
        """Connect; raises BrokerUnavailable or TopologyMismatch."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close everything."""
        ...

    @property
    def connected(self) -> bool:
        """Whether publishes and consumers have a live connection right now."""
        ...

    async def declare(self, stream: StreamInfo) -> None:
        """Make sure that the raw queue of a stream exists and is bound; BrokerUnavailable or TopologyMismatch."""
        ...

    async def waiting(self, stream: StreamInfo) -> int:
        """How many messages of a stream's raw queue nobody was handed; 0 where there is no such queue.

        Raises BrokerUnavailable.
        """
        ...

    async def quarantined(self, plane: Plane, limit: int) -> Held:
        """The oldest messages in the quarantine of a plane: at most ``limit``, and no more after 64 MiB.

        Raises BrokerUnavailable. Close it.
        """
        ...

    async def publisher(self, session: RawConsumer | None = None) -> Publisher:
        """A new publisher.

        With ``session`` one for what comes of that consumer's deliveries. Its messages carry the member's name (AMQP
        ``app_id``). It has one life: it writes nothing (BrokerUnavailable) where ``session.check`` says no, and
        nothing any more once something was not written whole, so that nothing later overtakes it.
        """
        ...

    async def consume_raw(self, member: str = "", plane: Plane = "market") -> RawConsumer:
        """A new consumer of raw queues; add streams to it. ``member``: at most 255 bytes."""
        ...

    async def subscribe(self, exchange: str, patterns: Sequence[str], *, limit: int = 10_000) -> Subscriber:
        """A subscription to ``market``, ``account``, ``control``, ``raw`` or ``firehose``, in force when this returns.

        It outlives a lost connection (what is published meanwhile is missed) and holds at most ``limit`` messages.
        """
        ...
