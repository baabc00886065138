from pathlib import Path
from typing import NamedTuple

from tests.support.paths import ROOT
from tests.support.spreading import spread


class Place(NamedTuple):
    path: Path
    name: str


def places(*names: str) -> list[Place]:
    """``kind/file`` or ``kind/folder/file``, each with two tests."""
    return [Place(ROOT / "tests" / name, test) for name in names for test in "xy"]


def test_every_kind_begins_at_once_and_goes_on_for_as_long_as_the_others() -> None:
    given = places("e2e/a", "e2e/b", "unit/a", "unit/b/c", "unit/b/d", "unit/e")

    assert spread(given) == places("e2e/a", "unit/a", "unit/b/c", "e2e/b", "unit/b/d", "unit/e")


def test_nothing_is_spread_where_nothing_is() -> None:
    assert spread(list[Place]()) == []
