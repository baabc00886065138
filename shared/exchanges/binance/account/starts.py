"""The first fields of messages, and which instrument a native symbol is."""

from typing import Final

from shared.errors import ParseError
from shared.exchanges.base import Origin
from shared.exchanges.binance.symbols import named
from shared.exchanges.records import Start, of_account, of_instrument
from shared.instruments import InstrumentTable

__all__ = ["Starts"]

LONGEST: Final = 64
"""Characters of a symbol that the naming rule is tried on: its answers are remembered, garbage is not to be."""


class Starts:
    """Of one account and product; instruments that are not listed are named by the rule of the market adapter."""

    def __init__(self, account: str, product: str, table: InstrumentTable | None) -> None:
        self._account = account
        self._product = product
        self._table = table

    def instrument(self, origin: Origin, native_symbol: str, ts: int | None) -> Start:
        """Of a message about an instrument; raises ParseError(``unknown_instrument``)."""
        found = None if self._table is None else self._table.get(native_symbol)
        if found is None and len(native_symbol) <= LONGEST:
            found = named(self._product, native_symbol)
        if found is None:
            raise ParseError("unknown_instrument", f"{native_symbol[:40]!r} is not listed in binance {self._product}")
        return of_instrument(origin, self._account, found, ts)

    def account(self, origin: Origin, ts: int | None) -> Start:
        """Of a message about an asset."""
        return of_account(origin, self._account, ts)
