"""The order of tests that run side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from tests.support.paths import ROOT

__all__ = ["spread"]


class Placed(Protocol):
    """What stands in a file, as tests do."""

    @property
    def path(self) -> Path: ...


PlacedT = TypeVar("PlacedT", bound=Placed)


def spread(tests: Sequence[PlacedT]) -> list[PlacedT]:
    """The files of each kind of test evenly over the whole run, the tests of a file as they are.

    What needs the processor and what waits are together then, instead of many tests of many processes at once.
    """
    files: dict[Path, list[PlacedT]] = {}
    for test in tests:
        files.setdefault(test.path, []).append(test)
    kinds: dict[str, list[Path]] = {}
    for file in files:
        kinds.setdefault(_kind(file), []).append(file)
    places = {file: at / len(kind) for kind in kinds.values() for at, file in enumerate(kind)}
    return [test for file in sorted(files, key=places.__getitem__) for test in files[file]]


def _kind(file: Path) -> str:
    """Of ``tests/<kind>/…``."""
    return file.relative_to(ROOT / "tests").parts[0]
