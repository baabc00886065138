"""Instrument lists.

No name tells an unlisted instrument: a spot symbol has no separator between base and quote, and a contract's name
(``BTC_USDT``) leaves out the contract size, without which every size would be wrong by orders of magnitude.
"""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Final

from msgspec import Raw

from shared.errors import ParseError
from shared.exchanges.levels import number
from shared.exchanges.mexc.endpoints import FUTURES, SPOT
from shared.exchanges.mexc.futures_wire import Contract, contract, contract_list
from shared.exchanges.mexc.spot_wire import SymbolEntry, listing, symbol_entry
from shared.exchanges.mexc.wire import decoded, optional_number, text
from shared.instruments import Instrument, InstrumentKind, unified_symbol
from shared.numbers import is_zero, multiply

__all__ = [
    "EXCHANGE",
    "futures_instrument",
    "futures_instruments",
    "futures_listed",
    "spot_instruments",
    "spot_listed",
]

EXCHANGE: Final = "mexc"

_ONE: Final = Decimal(1)


def spot_instruments(body: bytes) -> list[Instrument]:
    """All of :func:`spot_listed`."""
    return [*spot_listed(body)]


def spot_listed(body: bytes) -> Iterator[Instrument]:
    """``GET /api/v3/exchangeInfo``; entries that can't be read are left out, ParseError at once for the whole."""
    return _readable(decoded(listing, body).symbols, _spot_instrument)


def futures_instruments(body: bytes) -> list[Instrument]:
    """All of :func:`futures_listed`."""
    return [*futures_listed(body)]


def futures_listed(body: bytes) -> Iterator[Instrument]:
    """``GET /api/v1/contract/detail``; entries that can't be read are left out, ParseError at once for the whole."""
    return _readable(decoded(contract_list, body).data, futures_instrument)


def futures_instrument(entry: Raw) -> Instrument:
    """One contract; raises ParseError.

    Inverse contracts settle in their base coin and have a size in the quote coin. A contract that settles in neither
    is refused: what its size counts is documented nowhere.
    """
    one = decoded(contract, entry)
    if one.settle_coin not in {one.base_coin, one.quote_coin}:
        raise ParseError("unknown_event", f"{one.symbol} settles in {one.settle_coin}")
    size = multiply(number(text(one.contract_size), f"contractSize of {one.symbol}"), _ONE)
    if is_zero(size):
        raise ParseError("bad_number", f"contractSize of {one.symbol} was 0")
    return Instrument(
        EXCHANGE,
        FUTURES,
        unified_symbol(one.base_coin, one.quote_coin, one.settle_coin),
        one.symbol,
        one.base_coin,
        one.quote_coin,
        one.settle_coin,
        InstrumentKind.PERPETUAL,
        contract_size=size,
        inverse=one.settle_coin != one.quote_coin,
        tick_size=_step(one, one.price_unit),
        size_step=_step(one, one.vol_unit),
        active=one.state == 0,
    )


def _spot_instrument(entry: Raw) -> Instrument:
    one = decoded(symbol_entry, entry)
    _named(one)
    return Instrument(
        EXCHANGE,
        SPOT,
        unified_symbol(one.base_asset, one.quote_asset),
        one.symbol,
        one.base_asset,
        one.quote_asset,
        None,
        InstrumentKind.SPOT,
        tick_size=_places(one.quote_asset_precision),
        size_step=_places(one.base_asset_precision),
        active=str(one.status) == "1",
    )


def _named(one: SymbolEntry) -> None:
    if not (one.symbol and one.base_asset and one.quote_asset):
        raise ParseError("missing_field", f"a listed symbol had an empty name: {one.symbol!r}")


def _readable(entries: Iterable[Raw], read: Callable[[Raw], Instrument]) -> Iterator[Instrument]:
    for entry in entries:
        try:
            yield read(entry)
        except ParseError:
            continue


def _step(one: Contract, value: Raw) -> str | None:
    step = optional_number(text(value), f"a step of {one.symbol}")
    return None if step is None else multiply(step, _ONE)


def _places(places: int | None) -> str | None:
    """``2`` → ``0.01``."""
    return None if places is None else format(_ONE.scaleb(-places), "f")
