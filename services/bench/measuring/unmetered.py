"""The command ``tidegate`` with metrics that count nothing: what it costs to count is the difference."""

import sys
from typing import Final, Self

from services.cli.main import main
from shared.telemetry.declare import DeclaredCounter, DeclaredGauge, DeclaredHistogram

__all__ = ["NOTHING", "silence"]


class _Nothing:
    """In place of every counter, gauge and histogram, and of their children."""

    def labels(self, *values: str) -> Self:
        """Itself."""
        del values
        return self

    def inc(self, amount: float = 1) -> None:
        """Nothing."""

    def dec(self, amount: float = 1) -> None:
        """Nothing."""

    def set(self, value: float) -> None:
        """Nothing."""

    def observe(self, amount: float) -> None:
        """Nothing."""


NOTHING: Final = _Nothing()


def silence() -> None:
    """Metrics made from now on in this process count nothing."""
    for kind in (DeclaredCounter, DeclaredGauge, DeclaredHistogram):
        kind.build = lambda _declared, _registry: NOTHING  # type: ignore[assignment, method-assign] # a null object


if __name__ == "__main__":
    silence()
    sys.exit(main())
