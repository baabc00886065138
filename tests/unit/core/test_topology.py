"""AMQP names and arguments."""

import pytest

from shared.control import StreamInfo
from shared.envelope import Plane
from shared.topology import (
    AMQP_EXCHANGES,
    UNLIMITED_DELIVERIES,
    QueueLimits,
    announcement_key,
    quarantine_queue,
    raw_key,
    raw_queue,
    resync_key,
)

LIMITS = QueueLimits(raw_messages=10, raw_bytes=20, raw_ttl_ms=30, quarantine_messages=40, quarantine_bytes=50)
MARKET = StreamInfo("bybit", "linear", "market", "bybit.linear.0")
ACCOUNT = StreamInfo("bybit", "linear", "account", "bybit.main")


def test_market_frames_are_bounded_in_every_way() -> None:
    """A raw market queue drops its oldest by number, bytes and age."""
    queue = raw_queue(MARKET, LIMITS)
    assert (queue.name, queue.exchange, queue.key) == ("raw.market.bybit.linear.0", "raw", "market.bybit.linear.0")
    assert queue.arguments == {
        "x-queue-type": "classic",
        "x-max-length": 10,
        "x-max-length-bytes": 20,
        "x-overflow": "drop-head",
        "x-message-ttl": 30,
    }


def test_account_frames_are_never_dropped() -> None:
    """A raw account queue is replicated and has neither bound nor age nor a last delivery."""
    queue = raw_queue(ACCOUNT, LIMITS)
    assert (queue.name, queue.key) == ("raw.account.bybit.main", raw_key(ACCOUNT))
    assert queue.arguments == {"x-queue-type": "quorum", "x-delivery-limit": UNLIMITED_DELIVERIES}


@pytest.mark.parametrize("plane", ["market", "account"])
def test_quarantine_is_bounded(plane: Plane) -> None:
    """Each plane has its quarantine, which keeps the newest."""
    queue = quarantine_queue(plane, LIMITS)
    assert (queue.name, queue.exchange, queue.key) == (f"quarantine.{plane}", "quarantine", plane)
    assert queue.arguments == {
        "x-queue-type": "classic",
        "x-max-length": 40,
        "x-max-length-bytes": 50,
        "x-overflow": "drop-head",
    }


def test_queues_are_bound_to_what_is_declared() -> None:
    """No queue names an AMQP exchange that is not in the list."""
    names = {exchange.name for exchange in AMQP_EXCHANGES}
    queues = [raw_queue(MARKET, LIMITS), raw_queue(ACCOUNT, LIMITS), quarantine_queue("market", LIMITS)]
    assert {queue.exchange for queue in queues} <= names
    assert len(names) == len(AMQP_EXCHANGES)


def test_control_keys() -> None:
    """Requests go to one exchange's ingest, announcements to everybody."""
    assert (resync_key("bybit"), announcement_key()) == ("resync.bybit", "streams")
