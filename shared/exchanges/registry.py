"""Adapters by name, each imported when it is first looked up."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar, cast

from shared.errors import TidegateError

__all__ = ["Registry", "UnknownExchange"]

AdapterT = TypeVar("AdapterT")


class UnknownExchange(TidegateError, KeyError):
    """There is no adapter of this name; the text lists those that there are."""

    def __init__(self, name: str, known: Iterator[str]) -> None:
        self.name = name
        super().__init__(f"{name!r} is no exchange; {', '.join(known)} are")

    def __str__(self) -> str:
        # KeyError would show the repr of the text.
        return str(self.args[0])


class Registry(Mapping[str, AdapterT], Generic[AdapterT]):
    """A mapping from names to what their modules export under ``attribute``; listing the names imports none."""

    def __init__(self, modules: Mapping[str, str], attribute: str) -> None:
        self._modules = modules
        self._attribute = attribute

    def __getitem__(self, name: str) -> AdapterT:
        """Raises UnknownExchange."""
        if name not in self._modules:
            raise UnknownExchange(name, iter(self))
        return cast("AdapterT", getattr(import_module(self._modules[name]), self._attribute))

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)
