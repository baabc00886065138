"""Where the private side of Bybit v5 is, and what it allows.

Sources: docs/v5/websocket/wss-authentication.mdx, docs/v5/rate-limit/rate-limit.mdx, docs/v5/{order,position,account}/
of the venue's documents.
"""

from collections.abc import Mapping
from typing import Final

from shared.accounts.base import AccountEndpoints
from shared.exchanges.base import Limits
from shared.exchanges.bybit.endpoints import ENDPOINTS

__all__ = [
    "CLOCK",
    "EXECUTIONS",
    "LIMITS",
    "OPEN_ORDERS",
    "ORDER_HISTORY",
    "POSITIONS",
    "PRIVATE_PATH",
    "PRODUCTS",
    "SETTLE_COINS",
    "UNIFIED",
    "WALLET",
]

PRODUCTS: Final[Mapping[str, AccountEndpoints]] = {
    product: AccountEndpoints(endpoints.websocket, endpoints.rest) for product, endpoints in ENDPOINTS.items()
}
"""By product; one private connection carries them all."""

PRIVATE_PATH: Final = "/v5/private"

CLOCK: Final = "/v5/market/time"
OPEN_ORDERS: Final = "/v5/order/realtime"
ORDER_HISTORY: Final = "/v5/order/history"
EXECUTIONS: Final = "/v5/execution/list"
POSITIONS: Final = "/v5/position/list"
WALLET: Final = "/v5/account/wallet-balance"

SETTLE_COINS: Final[Mapping[str, tuple[str | None, ...]]] = {
    "spot": (None,),
    "linear": ("USDT", "USDC"),
    "inverse": (None,),
}
"""Lists of linear orders and positions have to be asked for by settle coin, those of the others need not."""

UNIFIED: Final = "UNIFIED"
"""The type of account that is read; classic accounts are gone."""

LIMITS: Final = Limits(
    topics_per_connection=20,  # ours: an account needs nine
    topics_per_request=20,
    requests_per_second=10.0,  # ours: the venue documents none
    rest_weight=30,  # of 50 a second, per account and endpoint; of 120 a second per address, which others share
    rest_interval_s=1.0,
    connections_per_interval=500,  # in 5 minutes per address and WebSocket domain
    connection_interval_s=300.0,
)
