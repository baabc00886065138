"""What Bybit allows.

Sources: docs/v5/websocket/wss-authentication.mdx ("IP Limits", "Args limits") and docs/v5/rate-limit/rate-limit.mdx of
the venue's documents.
"""

from collections.abc import Mapping
from typing import Final

from shared.exchanges.base import Heartbeat, Limits

__all__ = ["CONNECTION_CHARACTERS", "HEARTBEAT", "LIMITS", "SEPARATOR"]

CONNECTION_CHARACTERS: Final = 21_000
"""Documented bound on the ``args`` of one public connection, as text."""

SEPARATOR: Final = 3
"""What a topic costs in ``args`` beyond its own length: two quotes and a comma."""

HEARTBEAT: Final = Heartbeat(20.0, '{"req_id":"ping","op":"ping"}')
"""Recommended every 20 s; a public socket without subscription and ping was seen to close after about 60 s."""


def _limits(topics_per_request: int) -> Limits:
    return Limits(
        topics_per_connection=1_000,  # ours: the venue counts characters, not topics
        topics_per_request=topics_per_request,
        requests_per_second=10.0,  # ours: the venue documents none
        rest_weight=600,  # 600 requests in 5 s per address, then HTTP 403 for 10 minutes
        rest_interval_s=5.0,
        connections_per_interval=500,  # in 5 minutes per address and WebSocket domain
        connection_interval_s=300.0,
    )


_DERIVATIVES: Final = _limits(100)  # ours: futures have no bound, but one bad topic may refuse the whole request

LIMITS: Final[Mapping[str, Limits]] = {
    "spot": _limits(10),  # more is refused with "args size >10"
    "linear": _DERIVATIVES,
    "inverse": _DERIVATIVES,
}
