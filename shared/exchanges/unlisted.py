"""Instruments that no list names: by the venue's naming rule, a bounded number of them."""

from collections.abc import Callable
from typing import Final

from shared.instruments import Instrument

__all__ = ["MOST_UNLISTED", "Unlisted"]

MOST_UNLISTED: Final = 1_000
"""Of one stream. Each costs some 2 KB for as long as the stream is held, and a venue lists far fewer in an hour."""


class Unlisted:
    """The first so many symbols that the rule names. Later ones are named no more: they wait until a list has them.

    Whoever asks counts what that costs: a frame of an instrument that is not known is rejected.
    """

    __slots__ = ("_most", "_named", "_rule")

    def __init__(self, rule: Callable[[str], Instrument | None], most: int = MOST_UNLISTED) -> None:
        self._rule = rule
        self._most = most
        self._named: dict[str, Instrument] = {}

    def get(self, native_symbol: str) -> Instrument | None:
        """The instrument; None where the rule does not name it, or there are too many by now."""
        found = self._named.get(native_symbol)
        if found is None and not self.full and (found := self._rule(native_symbol)) is not None:
            self._named[native_symbol] = found
        return found

    @property
    def full(self) -> bool:
        """Whether no further symbol is named."""
        return len(self._named) >= self._most
