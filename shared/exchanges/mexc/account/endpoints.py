"""Where the private side of MEXC is, what it allows and what it costs.

Sources: "Spot Account/Trade" and "Websocket User Data Streams" of the spot v3 documentation, "Account and trading" and
"Private channels" of the contract v1 documentation. Both products' private sockets are the public ones.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from msgspec.structs import replace

from shared.accounts.base import AccountEndpoints, Call
from shared.exchanges.base import Limits
from shared.exchanges.mexc import limits as market
from shared.exchanges.mexc.endpoints import FUTURES, SPOT
from shared.exchanges.mexc.endpoints import PRODUCTS as MARKET_PRODUCTS

__all__ = [
    "FUTURES_API",
    "FUTURES_SOCKET",
    "LIMITS",
    "LISTEN_KEY",
    "PRODUCTS",
    "SPOT_API",
    "SPOT_SOCKET",
    "asking_futures",
    "asking_spot",
    "clock",
    "named",
]

PRODUCTS: Final[Mapping[str, AccountEndpoints]] = MappingProxyType(
    {product: AccountEndpoints(one.websocket, one.rest) for product, one in MARKET_PRODUCTS.items()}
)

SPOT_SOCKET: Final = "/ws?listenKey="
"""A listen key follows, which is a secret."""

FUTURES_SOCKET: Final = "/edge"

SPOT_API: Final = "/api/v3/"
FUTURES_API: Final = "/api/v1/private/"

LISTEN_KEY: Final = "/api/v3/userDataStream"

LIMITS: Final[Mapping[str, Limits]] = MappingProxyType(
    {
        # 500 in 10 s for each endpoint: half of it for all of these.
        SPOT: replace(market.LIMITS[SPOT], topics_per_connection=3, topics_per_request=3, rest_weight=250),
        FUTURES: replace(market.LIMITS[FUTURES], topics_per_connection=4, rest_weight=16),
    }
)

_SPOT_WEIGHTS: Final[Mapping[str, int]] = MappingProxyType(
    {"openOrders": 3, "allOrders": 10, "order": 2, "myTrades": 10, "account": 10}
)

_ORDER: Final = "order/get/"


def asking_spot(what: str, *parameters: tuple[str, str]) -> Call:
    """A signed request of spot (``openOrders``, ``myTrades``, …)."""
    return Call("GET", SPOT_API + what, parameters, _SPOT_WEIGHTS[what])


def asking_futures(what: str, *parameters: tuple[str, str]) -> Call:
    """A signed request of futures (``order/list/open_orders``, …)."""
    return Call("GET", FUTURES_API + what, parameters)


def named(order_id: str) -> Call:
    """Asks for one order of futures."""
    return Call("GET", FUTURES_API + _ORDER + quote(order_id, safe=""))


def clock(product: str) -> Call:
    """Asks the venue's time."""
    return Call("GET", "/api/v3/time" if product == SPOT else "/api/v1/contract/ping", signed=False)
