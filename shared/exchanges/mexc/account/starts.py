"""The first fields of messages, and which instrument a native symbol is."""

from shared.errors import ParseError
from shared.exchanges.base import Origin
from shared.exchanges.records import Start, of_account, of_instrument
from shared.instruments import Instrument, InstrumentTable

__all__ = ["Starts"]


class Starts:
    """Of one account and product. There is no rule that names an unlisted instrument (see ``symbols``)."""

    def __init__(self, account: str, product: str, table: InstrumentTable | None) -> None:
        self._account = account
        self._product = product
        self._table = table

    def find(self, native_symbol: str) -> Instrument:
        """The instrument; raises ParseError(``missing_field``, ``unknown_instrument``)."""
        if not native_symbol:
            raise ParseError("missing_field", "symbol was empty")
        found = None if self._table is None else self._table.get(native_symbol)
        if found is None:
            raise ParseError("unknown_instrument", f"{native_symbol[:40]!r} is not listed in mexc {self._product}")
        return found

    def instrument(self, origin: Origin, instrument: Instrument, ts: int | None) -> Start:
        """Of a message about an instrument."""
        return of_instrument(origin, self._account, instrument, ts)

    def account(self, origin: Origin, ts: int | None) -> Start:
        """Of a message about an asset."""
        return of_account(origin, self._account, ts)
