"""The port between stages. Two buses stand behind it: ``memory`` (one process) and ``rabbit`` (RabbitMQ).

Everything that is published goes to a *named exchange with a routing key*; everything that is consumed comes from a
queue with a bound. The semantics that stage code relies on, and that one conformance suite checks against both:

- ``publish`` returns when the bus has taken responsibility (a broker confirm) and raises BrokerError otherwise;
  publishes that are started in order on one publisher are delivered in order.
- A raw queue hands deliveries out in order, to one consumer; what is not acknowledged when the consumer ends comes
  again, in order, before anything newer.
- A full raw market queue drops its oldest; a full raw account queue refuses; a full subscription drops its oldest and
  counts.
- What cannot be published at all is refused before it is sent (``PublishFailed``, reason ``refused``): an AMQP exchange
  that the topology does not know, a routing key over 255 bytes, a body over 16 MiB (RabbitMQ 4's default limit).
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self

from shared.control import StreamInfo
from shared.errors import BrokerError, PublishFailed
from shared.topology import AMQP_EXCHANGES, QUARANTINE, RAW

__all__ = [
    "MANDATORY",
    "MAX_BODY_BYTES",
    "MAX_KEY_BYTES",
    "Bus",
    "Delivery",
    "Publisher",
    "RawConsumer",
    "StreamBusy",
    "Subscriber",
    "checked_key",
]

MAX_KEY_BYTES: Final = 255
MAX_BODY_BYTES: Final = 16 * 1024 * 1024
MANDATORY: Final = frozenset({RAW, QUARANTINE})
"""AMQP exchanges where a message that nobody is bound for is a loss."""

_EXCHANGES: Final = frozenset(exchange.name for exchange in AMQP_EXCHANGES)


class StreamBusy(BrokerError):
    """The raw queue of a stream is consumed by someone else; after a crash that may last for two heartbeats."""


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
    """The raw queues of some streams, consumed by one process."""

    async def add(self, stream: StreamInfo) -> None:
        """Begin to consume a stream's queue (declared if need be); nothing happens if it is consumed already.

        Raises StreamBusy when another consumer has it, BrokerUnavailable, or TopologyMismatch.
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

    async def publisher(self) -> Publisher:
        """A new publisher."""
        ...

    async def consume_raw(self) -> RawConsumer:
        """A new consumer of raw queues; add streams to it."""
        ...

    async def subscribe(self, exchange: str, patterns: Sequence[str], *, limit: int = 10_000) -> Subscriber:
        """A subscription to ``market``, ``account``, ``control``, ``raw`` or ``firehose``, in force when this returns.

        It outlives a lost connection (what is published meanwhile is missed) and holds at most ``limit`` messages.
        """
        ...
