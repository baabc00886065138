"""What Binance allows, and what a request costs.

Sources: ``web-socket-streams.md`` of binance-spot-api-docs (2026-07-21): 5 client messages a second on a connection
(pings, pongs and JSON alike), 1024 streams, 300 connection attempts in 5 minutes and address, 24 hours of life.
USD-M: 10 messages a second, 1024 streams (older text: 200), 24 hours; 2400 REST weight a minute, shared with COIN-M.
Weights: the "Order Book", "Exchange Information" and "Open Interest" pages of the two REST references.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from shared.exchanges.base import Limits
from shared.exchanges.binance.endpoints import SPOT, USDM

__all__ = [
    "DEPTH_WEIGHT",
    "INSTRUMENTS_WEIGHT",
    "LIMITS",
    "OPEN_INTEREST_WEIGHT",
    "REQUEST_BYTES",
    "open_interest_interval",
]

TOPICS_PER_REQUEST: Final = 100
"""Our own choice. The venue documents no bound, but a request of somewhat over 8000 characters ends the connection
(reported of the ccxws library, 2020)."""

REQUEST_BYTES: Final = 4_096
"""Bound on the text of one subscription request; half of what is known to fail."""

LIMITS: Final[Mapping[str, Limits]] = MappingProxyType(
    {
        SPOT: Limits(
            topics_per_connection=1_024,
            topics_per_request=TOPICS_PER_REQUEST,
            requests_per_second=4.0,  # of 5: the fifth is for the pong
            rest_weight=6_000,
            rest_interval_s=60.0,
            connections_per_interval=300,
            connection_interval_s=300.0,
            connection_age_s=86_400.0,
        ),
        USDM: Limits(
            topics_per_connection=1_024,
            topics_per_request=TOPICS_PER_REQUEST,
            requests_per_second=9.0,  # of 10: the tenth is for the pong
            rest_weight=2_400,
            rest_interval_s=60.0,
            connections_per_interval=300,  # documented for spot only
            connection_interval_s=300.0,
            connection_age_s=86_400.0,
        ),
    }
)

DEPTH_WEIGHT: Final = MappingProxyType({SPOT: 50, USDM: 20})
"""Of 501 to 1000 levels."""

INSTRUMENTS_WEIGHT: Final = MappingProxyType({SPOT: 20, USDM: 1})

OPEN_INTEREST_WEIGHT: Final = 1

OPEN_INTEREST_SHARE: Final = 10
"""Polling open interest may spend one part in so many of the REST weight; the rest is for order-book snapshots."""

OPEN_INTEREST_MIN_INTERVAL_S: Final = 10.0


def open_interest_interval(instruments: int) -> float:
    """Seconds between two polls of one instrument when so many are polled: 10 s up to 40 of them, then N/4 s."""
    limits = LIMITS[USDM]
    per_second = limits.rest_weight / limits.rest_interval_s / OPEN_INTEREST_SHARE / OPEN_INTEREST_WEIGHT
    return max(OPEN_INTEREST_MIN_INTERVAL_S, instruments / per_second)
