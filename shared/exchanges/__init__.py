"""Exchange adapters: one folder each, pure, same file names. Nothing is imported before it is asked for."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final, cast

from shared.errors import TidegateError
from shared.exchanges.base import Adapter

__all__ = ["EXCHANGES", "UnknownExchange", "adapter"]

_MODULES: Final = {
    "binance": "shared.exchanges.binance",
    "bybit": "shared.exchanges.bybit",
    "mexc": "shared.exchanges.mexc",
}
"""Each of these exports ``ADAPTER``."""


class UnknownExchange(TidegateError, KeyError):
    """There is no adapter of this name; the text lists those that there are."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name!r} is no exchange; {', '.join(_MODULES)} are")

    def __str__(self) -> str:
        # KeyError would show the repr of the text.
        return str(self.args[0])


class _Registry(Mapping[str, Adapter]):
    """Adapters by name, each imported when it is first looked up."""

    def __getitem__(self, name: str) -> Adapter:
        if name not in _MODULES:
            raise UnknownExchange(name)
        return cast("Adapter", import_module(_MODULES[name]).ADAPTER)

    def __contains__(self, name: object) -> bool:
        return name in _MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


EXCHANGES: Final[Mapping[str, Adapter]] = _Registry()
"""The adapters by name. Names can be listed without importing one."""


def adapter(name: str) -> Adapter:
    """The adapter of an exchange; raises UnknownExchange."""
    return EXCHANGES[name]
