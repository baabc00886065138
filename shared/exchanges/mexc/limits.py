"""What MEXC allows.

Spot: "WebSocket market streams" of the spot v3 documentation (30 streams per connection, 100 control messages a second,
24 hours) and its "Limits" (500 weight in 10 s per address; the venue's support says 20 requests a second, the smaller
number counts here). Past 30 topics a subscription is acknowledged and then not served (observed 2026-09), so nothing
but our own count keeps a feed from missing silently.

Futures: no number is published. 30 topics is what clients in use keep to, 20 subscriptions a second were observed to
work (2026-09). REST: 20 calls in 2 s (depth), one call in 5 s (contract list, counted as ten here).

How many connections may be opened is documented for neither; five a second is our own moderation.
"""

from collections.abc import Mapping
from typing import Final

from shared.exchanges.base import Heartbeat, Limits
from shared.exchanges.mexc.endpoints import FUTURES, SPOT

__all__ = ["HEARTBEATS", "LIMITS", "REQUEST_BYTES"]

LIMITS: Final[Mapping[str, Limits]] = {
    SPOT: Limits(
        topics_per_connection=30,
        topics_per_request=30,
        requests_per_second=50.0,  # half of what is allowed: heartbeats and retries count too
        rest_weight=200,
        rest_interval_s=10.0,
        connections_per_interval=5,
        connection_interval_s=1.0,
        connection_age_s=86_400.0,
    ),
    FUTURES: Limits(
        topics_per_connection=30,
        topics_per_request=1,
        requests_per_second=20.0,
        rest_weight=20,
        rest_interval_s=2.0,
        connections_per_interval=5,
        connection_interval_s=1.0,
    ),
}

REQUEST_BYTES: Final = 1_024
"""Longest subscription request to spot. Unverified: JKorf/Mexc.Net splits there; a smaller request is always right."""

HEARTBEATS: Final[Mapping[str, Heartbeat]] = {
    # Spot closes after 60 s without data flow; 20 to 30 s is suggested.
    SPOT: Heartbeat(20.0, '{"method":"PING"}'),
    # Futures closes about 60 s after the last ping of the client even while data flows; 10 to 20 s is documented.
    FUTURES: Heartbeat(15.0, '{"method":"ping"}'),
}
