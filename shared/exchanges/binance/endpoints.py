"""Where Binance is: base URLs of the products, paths of streams and REST requests.

Sources: ``web-socket-streams.md`` and ``rest-api.md`` of binance-spot-api-docs (2026-07-21); the USD-M notice on the
split of the stream hosts into ``/public``, ``/market`` and ``/private`` (2026-03-06, in force since 2026-04-23).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from shared.exchanges.base import Endpoints

__all__ = [
    "PRODUCTS",
    "SPOT",
    "USDM",
    "Asked",
    "asked",
    "depth_url",
    "instruments_url",
    "open_interest_url",
]

SPOT: Final = "spot"
USDM: Final = "usdm"

PRODUCTS: Final[Mapping[str, Endpoints]] = MappingProxyType(
    {
        SPOT: Endpoints("wss://stream.binance.com:9443", "https://api.binance.com"),
        USDM: Endpoints("wss://fstream.binance.com", "https://fapi.binance.com"),
    }
)

DEPTH_LEVELS: Final = 1_000

_API: Final = MappingProxyType({SPOT: "/api/v3", USDM: "/fapi/v1"})


class Asked(NamedTuple):
    """What a REST URL asked for: ``exchangeInfo``, ``depth`` or ``openInterest``, and the symbol it named."""

    what: str
    native_symbol: str | None


def instruments_url(product: str, rest: str) -> str:
    """The whole instrument list; the symbols are not known before it, so it cannot be asked for by symbol.

    Spot's without permissions, which nobody reads and which are most of its 15 MB (the venue's change log, 2024-10-17).
    """
    return f"{rest}{_API[product]}/exchangeInfo{'?showPermissionSets=false' if product == SPOT else ''}"


def depth_url(product: str, rest: str, native_symbol: str) -> str:
    """An order-book snapshot of 1000 levels a side. Symbols may be CJK: percent-encoded UTF-8 in URLs."""
    return f"{rest}{_API[product]}/depth?symbol={quote(native_symbol, safe='')}&limit={DEPTH_LEVELS}"


def open_interest_url(rest: str, native_symbol: str) -> str:
    """Open interest of one USD-M instrument; no stream brings it."""
    return f"{rest}{_API[USDM]}/openInterest?symbol={quote(native_symbol, safe='')}"


def asked(product: str, url: str) -> Asked | None:
    """What ``url`` asked for, below whatever base; None for a URL that this adapter never makes."""
    try:
        parts = urlsplit(url)
        symbols = parse_qs(parts.query, errors="strict").get("symbol")
    except ValueError:  # a malformed URL, or a symbol that is no UTF-8
        return None
    head, _, what = parts.path.rpartition("/")
    if not head.endswith(_API[product]) or what not in {"exchangeInfo", "depth", "openInterest"}:
        return None
    return Asked(what, symbols[0] if symbols else None)
