"""Futures: book levels as JSON to levels in base units, without an object for each number where they are plain."""

import re
from decimal import Decimal
from typing import Final

from msgspec import Raw

from shared.exchanges.books import BookLevels
from shared.exchanges.levels import base_size, book_levels, validated
from shared.exchanges.mexc import futures_wire
from shared.exchanges.mexc.wire import decoded
from shared.instruments import Instrument
from shared.messages import Level
from shared.numbers import PLAIN_UNSIGNED, scaled

__all__ = ["Sizes", "WholeSizes", "levels_of", "side_of"]

MOST: Final = 10_000


class Sizes(dict[str, str]):
    """Contracts to base units, for the sizes that come again and again; of one contract that is not inverse."""

    def __init__(self, instrument: Instrument) -> None:
        super().__init__()
        self._instrument = instrument

    def __missing__(self, contracts: str) -> str:
        """The base size of plain contracts; raises ParseError(``bad_number``)."""
        if len(self) >= MOST:
            self.clear()
        size = self[contracts] = base_size(self._instrument, contracts, "1")
        return size


class WholeSizes(dict[int, tuple[str, str | None]]):
    """Numbers of contracts to base units, and as text where that differs; as :class:`Sizes`."""

    def __init__(self, instrument: Instrument) -> None:
        super().__init__()
        size = Decimal(instrument.contract_size).as_tuple()
        self._counted = instrument.contract_size != "1"
        self._mantissa = int("".join(map(str, size.digits)))
        self._places = -int(size.exponent)

    def __missing__(self, contracts: int) -> tuple[str, str | None]:
        """Base units and contracts."""
        if len(self) >= MOST:
            self.clear()
        found = self[contracts] = self.of(contracts), str(contracts) if self._counted else None
        return found

    def of(self, contracts: int) -> str:
        """Base units, not remembered: for volumes, which are new each time."""
        return scaled(contracts, self._mantissa, self._places)


def levels_of(instrument: Instrument, sizes: Sizes, bids: Raw, asks: Raw) -> BookLevels:
    """Both sides in base units, in the order in which they came. Raises ParseError: ``bad_number``, ``wrong_type``."""
    if instrument.inverse or _PLAIN(bids) is None or _PLAIN(asks) is None:
        return book_levels(instrument, side_of(bids, "bids"), side_of(asks, "asks"))
    bid_prices, bid_contracts = _columns(bids)
    ask_prices, ask_contracts = _columns(asks)
    if instrument.contract_size == "1":
        return BookLevels(list(zip(bid_prices, bid_contracts)), list(zip(ask_prices, ask_contracts)))  # noqa: B905
    of = sizes.__getitem__
    return BookLevels(
        list(zip(bid_prices, map(of, bid_contracts))),  # noqa: B905 - as long by construction, and strict costs
        list(zip(ask_prices, map(of, ask_contracts))),  # noqa: B905
        bid_contracts,
        ask_contracts,
    )


def _columns(raw: Raw) -> tuple[list[str], list[str]]:
    """Prices and contracts of levels that were proved to be three plain numbers each."""
    numbers = str(bytes(raw).translate(None, b"[]"), "ascii").split(",")
    return (numbers[0::3], numbers[1::3]) if len(numbers) > 1 else ([], [])


def side_of(raw: Raw, side: str) -> list[Level]:
    """Levels number by number; raises ParseError: ``bad_number``, ``wrong_type``."""
    levels = decoded(futures_wire.levels, raw)
    return validated([(str(level.price, "latin-1"), str(level.contracts, "latin-1")) for level in levels], side)


_PLAIN: Final = re.compile(rf"\[(?:\[{PLAIN_UNSIGNED},{PLAIN_UNSIGNED},[0-9]++\],?+)*+\]".encode()).fullmatch
