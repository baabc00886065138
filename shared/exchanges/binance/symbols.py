"""Instruments: the list over REST, and the rule that names one that is not listed yet.

Sources: ``GET /api/v3/exchangeInfo`` and ``GET /fapi/v1/exchangeInfo``; the symbol sections of both references.
Quantities are in base coin everywhere (contract size 1).
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final

from msgspec import DecodeError, Raw, Struct, json
from msgspec.structs import replace

from shared.exchanges.binance.endpoints import SPOT, USDM
from shared.exchanges.binance.wire import parse_error
from shared.instruments import Instrument, InstrumentKind, unified_symbol
from shared.numbers import NumberError, is_zero, optional

__all__ = ["EXCHANGE", "instruments_of", "listed_in", "named"]

EXCHANGE: Final = "binance"

# fmt: off
_SPOT_QUOTES: Final = (
    "USDT", "USDC", "FDUSD", "TUSD", "BUSD", "USD1", "PAX", "DAI", "BTC", "ETH", "BNB", "XRP", "TRX",
    "DOGE", "SOL", "EUR", "AEUR", "EURI", "GBP", "TRY", "BRL", "AUD", "RUB", "NGN", "UAH", "ZAR",
    "PLN", "RON", "ARS", "MXN", "COP", "CZK", "JPY", "IDR", "IDRT", "BIDR",
)
# fmt: on
_USDM_QUOTES: Final = ("USDT", "USDC", "BUSD")
"""Quote assets that the naming rule knows."""

_PERPETUALS: Final = frozenset({"PERPETUAL", "TRADIFI_PERPETUAL"})
_FUTURES: Final = frozenset({"CURRENT_QUARTER", "NEXT_QUARTER", "CURRENT_MONTH", "NEXT_MONTH"})
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Filter(Struct, rename="camel", gc=False):
    """One of a symbol's filters; each kind has some of these fields."""

    filter_type: str
    tick_size: str | None = None
    step_size: str | None = None


class Listed(Struct, rename="camel", gc=False):
    """One symbol of a list; the last three fields are USD-M's."""

    symbol: str
    status: str
    base_asset: str
    quote_asset: str
    filters: list[Filter] = []
    margin_asset: str | None = None
    contract_type: str | None = None
    delivery_date: int | None = None


class Listing(Struct, gc=False):
    """An ``exchangeInfo`` reply."""

    symbols: list[Raw]


_decode_listing: Final = json.Decoder(Listing).decode
_decode_listed: Final = json.Decoder(Listed).decode


def instruments_of(product: str, body: bytes) -> list[Instrument]:
    """All of :func:`listed_in`."""
    return [*listed_in(product, body)]


def listed_in(product: str, body: bytes) -> Iterator[Instrument]:
    """The instruments of an ``exchangeInfo`` reply, read one by one.

    Entries that can't be read, or are COIN-M's, are left out. Raises ParseError, at once, for a reply that is no list.
    """
    try:
        entries = _decode_listing(body).symbols
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise parse_error(error) from error
    return (one for one in (_instrument(product, bytes(entry)) for entry in entries) if one is not None)


@lru_cache(maxsize=8_192)
def named(product: str, native_symbol: str) -> Instrument | None:
    """``BTCUSDT`` is BTC/USDT, on USD-M BTC/USDT:USDT, ``BTCUSDT_260327`` the future that ends on 2026-03-27.

    Only where exactly one known quote asset ends the symbol: ``ADAEUR`` could be ADA/EUR or AD/AEUR.
    """
    if product == SPOT:
        pair = _pair(native_symbol, _SPOT_QUOTES)
        if pair is None:
            return None
        return Instrument(
            EXCHANGE, SPOT, unified_symbol(*pair), native_symbol, *pair, settle=None, kind=InstrumentKind.SPOT
        )
    name, dated, expiry = native_symbol.partition("_")
    pair = _pair(name, _USDM_QUOTES) if product == USDM else None
    if pair is None or (dated and not _is_date(expiry)):
        return None
    return _contract(native_symbol, *pair, pair[1], expiry or None)


def _pair(name: str, quotes: tuple[str, ...]) -> tuple[str, str] | None:
    """Base and quote of ``BASEQUOTE``."""
    found = [quote for quote in quotes if name.endswith(quote) and len(name) > len(quote)]
    if len(found) != 1:
        return None
    base = name.removesuffix(found[0])
    return (base, found[0]) if base.isalnum() and base == base.upper() else None


def _is_date(text: str) -> bool:
    """Whether the text is a date as ``YYMMDD``."""
    if len(text) != 6 or not (text.isascii() and text.isdigit()):
        return False
    try:
        date(2000 + int(text[:2]), int(text[2:4]), int(text[4:]))
    except ValueError:
        return False
    return True


def _contract(native_symbol: str, base: str, quote: str, settle: str, expiry: str | None) -> Instrument:
    kind = InstrumentKind.PERPETUAL if expiry is None else InstrumentKind.FUTURE
    symbol = unified_symbol(base, quote, settle, expiry)
    return Instrument(EXCHANGE, USDM, symbol, native_symbol, base, quote, settle, kind, expiry=expiry)


def _instrument(product: str, entry: bytes) -> Instrument | None:
    """One entry of a list; None where it can't be read or is none of the product's."""
    try:
        listed = _decode_listed(entry)
        listed_as = _spot(listed) if product == SPOT else _usdm(listed)
        return None if listed_as is None else _detailed(listed_as, listed)
    except (DecodeError, UnicodeDecodeError, RecursionError, NumberError, OverflowError):
        return None


def _spot(listed: Listed) -> Instrument | None:
    base, quote = listed.base_asset, listed.quote_asset
    if not (listed.symbol and base and quote):
        return None
    symbol = unified_symbol(base, quote)
    return Instrument(EXCHANGE, SPOT, symbol, listed.symbol, base, quote, None, InstrumentKind.SPOT)


def _usdm(listed: Listed) -> Instrument | None:
    base, quote, settle = listed.base_asset, listed.quote_asset, listed.margin_asset or listed.quote_asset
    contract = (listed.contract_type or "").split(" ")[0]  # "CURRENT_QUARTER DELIVERING" on its last day
    if not (listed.symbol and base and quote) or settle == base:  # margined in its base: COIN-M
        return None
    if contract in _PERPETUALS:
        return _contract(listed.symbol, base, quote, settle, None)
    if contract in _FUTURES and listed.delivery_date is not None:
        expiry = _EPOCH + timedelta(milliseconds=listed.delivery_date)
        return _contract(listed.symbol, base, quote, settle, f"{expiry:%y%m%d}")
    return None


def _detailed(instrument: Instrument, listed: Listed) -> Instrument:
    """With steps and state."""
    steps = {one.filter_type: one for one in listed.filters}
    price, lot = steps.get("PRICE_FILTER"), steps.get("LOT_SIZE")
    return replace(
        instrument,
        tick_size=_step(None if price is None else price.tick_size),
        size_step=_step(None if lot is None else lot.step_size),
        active=listed.status == "TRADING",
    )


def _step(text: str | None) -> str | None:
    """A step; zero means that the rule does not apply."""
    step = optional(text)
    return None if step is None or is_zero(step) else step
