"""Where Bybit v5 is. Source: docs/v5/websocket/wss-authentication.mdx and guide.mdx of the venue's documents."""

from collections.abc import Mapping
from typing import Final

from shared.exchanges.base import Endpoints

__all__ = ["ENDPOINTS", "INSTRUMENTS_PATH", "NAME", "instruments_url", "stream_url"]

NAME: Final = "bybit"

_GLOBAL: Final = Endpoints("wss://stream.bybit.com", "https://api.bybit.com")

ENDPOINTS: Final[Mapping[str, Endpoints]] = {"spot": _GLOBAL, "linear": _GLOBAL, "inverse": _GLOBAL}
"""By product. ``linear`` holds USDT and USDC contracts, ``inverse`` those that are settled in their base coin."""

INSTRUMENTS_PATH: Final = "/v5/market/instruments-info"


def stream_url(product: str, endpoints: Endpoints) -> str:
    """The public WebSocket of a product."""
    return f"{endpoints.websocket}/v5/public/{product}"


def instruments_url(product: str, endpoints: Endpoints) -> str:
    """The first page of the instrument list; spot comes in one page and takes no limit."""
    url = f"{endpoints.rest}{INSTRUMENTS_PATH}?category={product}"
    return url if product == "spot" else f"{url}&limit=1000"
