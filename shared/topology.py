"""Every AMQP name and argument, in one place. Plain values; ``shared.bus.rabbit`` declares them."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from shared.control import StreamInfo
from shared.envelope import Plane

__all__ = [
    "ACCOUNT",
    "AMQP_EXCHANGES",
    "CONTROL",
    "FIREHOSE",
    "MARKET",
    "QUARANTINE",
    "RAW",
    "UNLIMITED_DELIVERIES",
    "AmqpExchange",
    "Queue",
    "QueueLimits",
    "announcement_key",
    "holdings_key",
    "instruments_key",
    "lock_queue",
    "members_queue",
    "quarantine_queue",
    "raw_key",
    "raw_queue",
    "resync_key",
]

RAW: Final = "raw"
MARKET: Final = "market"
ACCOUNT: Final = "account"
CONTROL: Final = "control"
FIREHOSE: Final = "firehose"
QUARANTINE: Final = "quarantine"

UNLIMITED_DELIVERIES: Final = 1_000_000_000

Argument = str | int | bool


class AmqpExchange(NamedTuple):
    """A durable AMQP exchange: name and type."""

    name: str
    kind: str


class Queue(NamedTuple):
    """A durable queue: name, where it is bound (nowhere: empty), arguments."""

    name: str
    exchange: str
    key: str
    arguments: Mapping[str, Argument]


class QueueLimits(Struct, frozen=True):
    """Bounds of a raw market queue (one AMQP message is an envelope of up to 200 frames) and of quarantine."""

    raw_messages: int = 20_000
    raw_bytes: int = 64 * 1024 * 1024
    raw_ttl_ms: int = 30_000
    quarantine_messages: int = 10_000
    quarantine_bytes: int = 256 * 1024 * 1024


AMQP_EXCHANGES: Final = (
    AmqpExchange(RAW, "topic"),
    AmqpExchange(MARKET, "topic"),
    AmqpExchange(ACCOUNT, "topic"),
    AmqpExchange(FIREHOSE, "topic"),
    AmqpExchange(CONTROL, "direct"),
    AmqpExchange(QUARANTINE, "direct"),
)


def raw_key(stream: StreamInfo) -> str:
    """Routing key of a stream's envelopes on ``raw``: ``market.bybit.linear.0``."""
    return f"{stream.plane}.{stream.stream}"


def raw_queue(stream: StreamInfo, limits: QueueLimits) -> Queue:
    """The queue that holds a stream's envelopes until a normalizer has dealt with them.

    Market: classic, bounded in messages, bytes and age, oldest first out. Account: quorum, unbounded but by disk,
    redelivered as often as it takes: RabbitMQ 4 drops at the 21st delivery unless told otherwise. Its way to say "no
    limit" is -1, which RabbitMQ 3.10 accepts and takes for "drop at the first redelivery"; a billion means the same
    to both.
    """
    name = f"{RAW}.{raw_key(stream)}"
    if stream.plane == "account":
        return Queue(name, RAW, raw_key(stream), {"x-queue-type": "quorum", "x-delivery-limit": UNLIMITED_DELIVERIES})
    return Queue(
        name,
        RAW,
        raw_key(stream),
        {
            "x-queue-type": "classic",
            "x-max-length": limits.raw_messages,
            "x-max-length-bytes": limits.raw_bytes,
            "x-overflow": "drop-head",
            "x-message-ttl": limits.raw_ttl_ms,
        },
    )


def quarantine_queue(plane: Plane, limits: QueueLimits) -> Queue:
    """Frames that could not be normalized, newest kept."""
    return Queue(
        f"{QUARANTINE}.{plane}",
        QUARANTINE,
        plane,
        {
            "x-queue-type": "classic",
            "x-max-length": limits.quarantine_messages,
            "x-max-length-bytes": limits.quarantine_bytes,
            "x-overflow": "drop-head",
        },
    )


def members_queue(plane: str) -> Queue:
    """The member list of a plane's normalizers: each of them consumes it, and nothing is published to it.

    How many there are is its number of consumers.
    """
    return Queue(f"normalizers.{plane}", "", "", {"x-queue-type": "classic", "x-max-length": 1})


def lock_queue(stream: StreamInfo) -> str:
    """The name of a stream's lock: an exclusive queue of the connection that consumes the stream's raw queue."""
    return f"lock.{RAW}.{raw_key(stream)}"


def resync_key(exchange: str) -> str:
    """Routing key on ``control`` of requests to an exchange's ingest."""
    return f"resync.{exchange}"


def announcement_key() -> str:
    """Routing key on ``control`` of stream announcements."""
    return "streams"


def holdings_key() -> str:
    """Routing key on ``control`` of what normalizers own."""
    return "holdings"


def instruments_key() -> str:
    """Routing key on ``control`` of instrument lists."""
    return "instruments"
