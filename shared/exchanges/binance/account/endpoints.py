"""Where the private side of Binance is, what it allows and what it costs.

Sources: ``web-socket-api.md``, ``user-data-stream.md`` and ``rest-api.md`` of binance-spot-api-docs (2026-07-21); the
USD-M pages "User Data Streams", "Trade" and "Account" of developers.binance.com, and the notice on the split of the
stream hosts (in force since 2026-04-23).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from shared.accounts.base import AccountEndpoints, Call
from shared.exchanges.base import Limits
from shared.exchanges.binance import limits as market
from shared.exchanges.binance.endpoints import PRODUCTS as MARKET_PRODUCTS
from shared.exchanges.binance.endpoints import SPOT, USDM

__all__ = [
    "API",
    "LIMITS",
    "LISTEN_KEY",
    "PRODUCTS",
    "SPOT_SOCKET",
    "USDM_SOCKET",
    "asking",
    "clock",
]

PRODUCTS: Final[Mapping[str, AccountEndpoints]] = MappingProxyType(
    {
        SPOT: AccountEndpoints("wss://ws-api.binance.com:443", MARKET_PRODUCTS[SPOT].rest),
        USDM: AccountEndpoints(MARKET_PRODUCTS[USDM].websocket, MARKET_PRODUCTS[USDM].rest),
    }
)

SPOT_SOCKET: Final = "/ws-api/v3"
"""The WebSocket API: listen keys are gone on spot since 2026-02-20."""

USDM_SOCKET: Final = "/private/ws/"
"""A listen key follows, which is a secret."""

LISTEN_KEY: Final = "/fapi/v1/listenKey"

API: Final = MappingProxyType({SPOT: "/api/v3", USDM: "/fapi/v1"})

LIMITS: Final[Mapping[str, Limits]] = MappingProxyType(
    {
        # Half of what an address may spend: market data may come from the same one.
        product: replace(limits, topics_per_connection=1, rest_weight=limits.rest_weight // 2)
        for product, limits in market.LIMITS.items()
    }
)

_WEIGHTS: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType(
    {
        SPOT: {"openOrders": 80, "allOrders": 20, "order": 4, "myTrades": 20, "account": 20},
        USDM: {
            "openOrders": 40,
            "openAlgoOrders": 40,
            "allOrders": 5,
            "allAlgoOrders": 5,
            "order": 1,
            "userTrades": 5,
            "positionRisk": 5,
            "balance": 5,
        },
    }
)
"""Of open orders without a symbol."""

_NEWER: Final = MappingProxyType({"positionRisk": "/fapi/v3", "balance": "/fapi/v3"})


def asking(product: str, what: str, *parameters: tuple[str, str]) -> Call:
    """A signed request for a list (``openOrders``, ``myTrades``, …)."""
    path = f"{_NEWER.get(what, API[product])}/{what}"
    return Call("GET", path, parameters, _WEIGHTS[product][what])


def clock(product: str) -> Call:
    """Asks the venue's time."""
    return Call("GET", f"{API[product]}/time", signed=False)
