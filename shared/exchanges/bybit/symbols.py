"""Instrument lists and names. Sources: docs/v5/market/instrument.mdx and docs/v5/enum.mdx of the venue's documents.

Linear sizes are in the base coin; an inverse contract is one unit of the quote coin (USD).
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from msgspec import Raw, Struct, json, structs

from shared.errors import ParseError
from shared.exchanges.base import Request
from shared.exchanges.bybit.endpoints import NAME
from shared.exchanges.bybit.wire import decode
from shared.instruments import Instrument, InstrumentKind, unified_symbol
from shared.numbers import NumberError, unsigned

__all__ = ["instruments", "is_option", "listed", "named", "next_page"]

_KINDS: Final = {
    "LinearPerpetual": InstrumentKind.PERPETUAL,
    "InversePerpetual": InstrumentKind.PERPETUAL,
    "LinearFutures": InstrumentKind.FUTURE,
    "InverseFutures": InstrumentKind.FUTURE,
}

_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")

_DATED: Final = re.compile(rf"(\w+?)(USDT)?-([0-9]{{1,2}})({'|'.join(_MONTHS)})([0-9]{{2}})").fullmatch
_OPTION: Final = re.compile(r"\w+-[0-9]{1,2}[A-Z]{3}[0-9]{2}-[0-9.]+-[CP](?:-\w+)?").fullmatch


class _PriceFilter(Struct, gc=False, frozen=True, rename="camel"):
    tick_size: str = ""


class _LotSizeFilter(Struct, gc=False, frozen=True, rename="camel"):
    qty_step: str = ""
    base_precision: str = ""


class _Listed(Struct, gc=False, frozen=True, rename="camel"):
    symbol: str
    base_coin: str
    quote_coin: str
    status: str = ""
    settle_coin: str = ""
    contract_type: str = ""
    delivery_time: str = ""
    price_filter: _PriceFilter = _PriceFilter()
    lot_size_filter: _LotSizeFilter = _LotSizeFilter()


class _Page(Struct, gc=False, frozen=True, rename="camel"):
    list: list[Raw]
    category: str | None = None
    next_page_cursor: str | None = None


class _Reply(Struct, gc=False, frozen=True, rename="camel"):
    ret_code: int
    ret_msg: str = ""
    result: Raw = Raw(b"null")


_REPLY: Final = json.Decoder(_Reply)
_PAGE: Final = json.Decoder(_Page)
_LISTED: Final = json.Decoder(_Listed)


def _page(product: str, body: bytes) -> _Page:
    reply = decode(_REPLY, body)
    if reply.ret_code != 0:
        raise ParseError(
            "unknown_event", f"the instrument list was refused with {reply.ret_code} {reply.ret_msg}"[:200]
        )
    page = decode(_PAGE, reply.result)
    if page.category not in {None, product}:
        raise ParseError("wrong_type", f"the instrument list was one of {page.category}, not {product}"[:200])
    return page


def instruments(product: str, body: bytes) -> list[Instrument]:
    """All of :func:`listed`."""
    return [*listed(product, body)]


def listed(product: str, body: bytes) -> Iterator[Instrument]:
    """The instruments of one page, read one by one; entries that can't be read are left out.

    Raises ParseError, at once, for a body that is no list of this product.
    """
    return _readable(product, _page(product, body).list)


def _readable(product: str, entries: Iterable[Raw]) -> Iterator[Instrument]:
    for raw in entries:
        try:
            yield _instrument(product, decode(_LISTED, raw))
        except ParseError:
            continue


def next_page(product: str, request: Request, body: bytes) -> Request | None:
    """The request for the page after this one; None after the last. Raises ParseError."""
    cursor = _page(product, body).next_page_cursor
    if not cursor:
        return None
    first, _, current = request.url.partition("&cursor=")
    # The venue's cursors come percent-encoded already.
    encoded = quote(cursor, safe="%")
    return None if encoded == current else Request(f"{first}&cursor={encoded}", request.weight)


def _instrument(product: str, listed: _Listed) -> Instrument:
    symbol, base, quote_coin = listed.symbol, listed.base_coin, listed.quote_coin
    if not (symbol and base and quote_coin):
        raise ParseError("missing_field", f"the listing of {symbol!r} had no coins"[:200])
    if product == "spot":
        instrument = _spot(symbol, base, quote_coin)
    else:
        kind = _KINDS.get(listed.contract_type)
        if kind is None or not listed.settle_coin:
            raise ParseError("wrong_type", f"{symbol} was a {listed.contract_type!r}"[:200])
        expiry = _expiry(listed.delivery_time) if kind is InstrumentKind.FUTURE else None
        instrument = _contract(product, symbol, (base, quote_coin, listed.settle_coin), expiry)
    return structs.replace(
        instrument,
        tick_size=_step(listed.price_filter.tick_size),
        size_step=_step(listed.lot_size_filter.qty_step or listed.lot_size_filter.base_precision),
        active=listed.status in {"", "Trading"},
    )


def _step(text: str) -> str | None:
    try:
        return unsigned(text) if text else None
    except NumberError as error:
        raise ParseError("bad_number", str(error)) from error


def _expiry(milliseconds: str) -> str:
    try:
        return datetime.fromtimestamp(int(milliseconds) // 1000, UTC).strftime("%y%m%d")
    except (ValueError, OverflowError, OSError) as error:
        raise ParseError("bad_time", f"deliveryTime was {milliseconds!r}"[:200]) from error


def _spot(symbol: str, base: str, quote_coin: str) -> Instrument:
    unified = unified_symbol(base, quote_coin)
    return Instrument(NAME, "spot", unified, symbol, base, quote_coin, None, InstrumentKind.SPOT)


def _contract(product: str, symbol: str, coins: tuple[str, str, str], expiry: str | None) -> Instrument:
    return Instrument(
        NAME,
        product,
        unified_symbol(*coins, expiry),
        symbol,
        *coins,
        InstrumentKind.PERPETUAL if expiry is None else InstrumentKind.FUTURE,
        inverse=product == "inverse",
        expiry=expiry,
    )


def is_option(native_symbol: str) -> bool:
    """Whether a symbol is an option's (``BTC-26DEC25-100000-C``): a product that has no adapter."""
    return _OPTION(native_symbol) is not None


@lru_cache(maxsize=4_096)
def named(product: str, native_symbol: str) -> Instrument | None:
    """An unlisted instrument by the documented forms of a name, None where it is none of them.

    Spot ``BASEUSDT`` and ``BASEUSDC``; linear ``BASEUSDT``, ``BASEPERP`` (USDC), ``BASEUSDT-DDMMMYY`` and
    ``BASE-DDMMMYY`` (USDC); inverse ``BASEUSD``. Inverse futures name a quarter and not their day: no rule.
    """
    if product == "spot":
        pair = _split(native_symbol, ("USDT", "USDC"))
        return None if pair is None else _spot(native_symbol, *pair)
    if product == "inverse":
        pair = _split(native_symbol, ("USD",))
        return None if pair is None else _contract(product, native_symbol, (*pair, pair[0]), None)
    pair = _split(native_symbol, ("USDT", "PERP"))
    if pair is not None:
        quote_coin = "USDC" if pair[1] == "PERP" else pair[1]
        return _contract(product, native_symbol, (pair[0], quote_coin, quote_coin), None)
    return _dated(product, native_symbol)


def _split(native_symbol: str, suffixes: tuple[str, ...]) -> tuple[str, str] | None:
    for suffix in suffixes:
        base = native_symbol.removesuffix(suffix)
        if base and base != native_symbol and base.isalnum() and base.upper() == base:
            return base, suffix
    return None


def _dated(product: str, native_symbol: str) -> Instrument | None:
    match = _DATED(native_symbol)
    if match is None:
        return None
    base, suffix, day, month, year = match.groups()
    try:
        expiry = date(2000 + int(year), _MONTHS.index(month) + 1, int(day)).strftime("%y%m%d")
    except ValueError:
        return None
    quote_coin = suffix or "USDC"
    return _contract(product, native_symbol, (base, quote_coin, quote_coin), expiry)
