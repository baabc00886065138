"""Where MEXC is: one WebSocket and one REST base per product, and the paths below them.

Futures REST moved from ``contract.mexc.com`` to ``api.mexc.com`` on 2026-01-19; its WebSocket did not.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs, quote, unquote, urlsplit

from shared.exchanges.base import Endpoints, Request

__all__ = [
    "DEPTH_LEVELS",
    "FUTURES",
    "FUTURES_INSTRUMENTS",
    "PRODUCTS",
    "SPOT",
    "SPOT_DEPTH",
    "SPOT_INSTRUMENTS",
    "depth_request",
    "depth_symbol",
    "instrument_request",
    "path_of",
    "socket_url",
]

SPOT: Final = "spot"
FUTURES: Final = "futures"

PRODUCTS: Final[Mapping[str, Endpoints]] = {
    SPOT: Endpoints("wss://wbs-api.mexc.com", "https://api.mexc.com"),
    FUTURES: Endpoints("wss://contract.mexc.com", "https://api.mexc.com"),
}

SPOT_DEPTH: Final = "/api/v3/depth"
SPOT_INSTRUMENTS: Final = "/api/v3/exchangeInfo"
FUTURES_DEPTH: Final = "/api/v1/contract/depth/"
FUTURES_INSTRUMENTS: Final = "/api/v1/contract/detail"

DEPTH_LEVELS: Final = 1_000
"""Levels per side of a seed. Spot would give 5,000: five times the parsing for levels hardly anybody reads."""

_SOCKETS: Final = {SPOT: "/ws", FUTURES: "/edge"}
_INSTRUMENTS: Final = {SPOT: (SPOT_INSTRUMENTS, 10), FUTURES: (FUTURES_INSTRUMENTS, 10)}


def socket_url(product: str, endpoints: Endpoints) -> str:
    """The URL of a product's public WebSocket."""
    return endpoints.websocket + _SOCKETS[product]


def instrument_request(product: str, rest: str) -> Request:
    """The instrument list (one page)."""
    path, weight = _INSTRUMENTS[product]
    return Request(rest + path, weight)


def depth_request(product: str, rest: str, native_symbol: str) -> Request:
    """The order book that seeds the deltas of an instrument."""
    symbol = quote(native_symbol, safe="")
    if product == SPOT:
        return Request(f"{rest}{SPOT_DEPTH}?symbol={symbol}&limit={DEPTH_LEVELS}")
    return Request(f"{rest}{FUTURES_DEPTH}{symbol}?limit={DEPTH_LEVELS}")


def path_of(url: str) -> str:
    """The path of a URL; a base may have a path of its own in front of the venue's. Empty where it is no URL."""
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def depth_symbol(url: str) -> str | None:
    """The instrument whose order book a URL asks for; None where it asks for something else."""
    path = path_of(url)
    if path.endswith(SPOT_DEPTH):
        symbols = parse_qs(urlsplit(url).query).get("symbol")
        return symbols[0] if symbols else None
    before, found, symbol = path.rpartition(FUTURES_DEPTH)
    del before
    return unquote(symbol) if found and symbol else None
