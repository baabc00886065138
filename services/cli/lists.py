"""Instrument lists of venues out of files: what ``--instruments`` names."""

from collections.abc import Sequence
from pathlib import Path

from services.cli.errors import UsageError
from shared.errors import ParseError
from shared.exchanges import EXCHANGES, adapter
from shared.exchanges.base import Adapter
from shared.instruments import Instrument, InstrumentTable

__all__ = ["Lists", "load_instruments", "read"]

OPTION = "--instruments"


class Lists:
    """The lists of a replay: of the products that are named (``bybit.linear=FILE``), or one of the only product."""

    def __init__(self, given: Sequence[str]) -> None:
        """Raises UsageError for a product that there is none of."""
        self._named: dict[str, Path] = {}
        self._only: Path | None = None
        self._product: str | None = None
        for text in given:
            product, equals, file = text.partition("=")
            if equals and _is_product(product):
                self._named[product] = Path(file)
            elif self._only is None:
                self._only = Path(text)
            else:
                raise UsageError(OPTION, f"whose is {text!r}? Of several files each says it, as bybit.linear=FILE")

    def seed(self, exchange: str, product: str) -> InstrumentTable:
        """The table for a stream, empty where no file is for it; raises UsageError."""
        name = f"{exchange}.{product}"
        if name in self._named:
            return load_instruments(adapter(exchange), product, self._named[name])
        if self._only is None:
            return InstrumentTable()
        if self._product not in {None, name}:
            streams = f"there are streams of {self._product} and {name}"
            raise UsageError(OPTION, f"{streams}: say whose the file is, as {name}={self._only}")
        self._product = name
        return load_instruments(adapter(exchange), product, self._only)


def load_instruments(venue: Adapter, product: str, path: Path) -> InstrumentTable:
    """The file is one reply body, or one a line where the venue sends its list in pages. Raises UsageError."""
    data = read(OPTION, path)
    pages = [line for line in data.splitlines() if line.strip()]
    try:
        found = venue.instruments(product, data)
    except ParseError as error:
        if len(pages) < 2:
            raise UsageError(OPTION, f"{path} is no instrument list of {venue.name}: {error}") from error
        found = [instrument for page in pages for instrument in _page(venue, product, path, page)]
    if not found:
        raise UsageError(OPTION, f"{path} lists no instrument of {venue.name} {product}")
    return InstrumentTable(found)


def read(argument: str, path: Path) -> bytes:
    """What is in a file that an argument names; raises UsageError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(argument, f"{path} cannot be read: {error.strerror}") from error


def _page(venue: Adapter, product: str, path: Path, page: bytes) -> Sequence[Instrument]:
    try:
        return venue.instruments(product, page)
    except ParseError as error:
        raise UsageError(OPTION, f"{path} is no instrument list of {venue.name}: {error}") from error


def _is_product(text: str) -> bool:
    exchange, _, product = text.partition(".")
    return exchange in EXCHANGES and product in adapter(exchange).products
