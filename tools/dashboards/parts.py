"""What panels are made of: expressions, scales, colors, and the panel itself as a plain JSON object."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

__all__ = ["CALM", "DATASOURCE", "ZERO", "Column", "Json", "Panel", "Query", "Scale", "Words", "steps"]

Json = dict[str, Any]

Words = dict[int, tuple[str, str]]
"""Text and color of values that stand for something."""

DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
KEPT: Final = "${__url_time_range}&${__all_variables}"
"""What a link takes along: the time shown and every variable."""
CHOSEN: Final = (
    "${__url_time_range}&var-exchange=${__field.labels.exchange}"
    "&${datasource:queryparam}&${product:queryparam}&${symbol:queryparam}"
)
"""The same, but only one exchange."""


class Query(NamedTuple):
    """An expression and what its series are called."""

    expression: str
    legend: str = "__auto"
    right: str | None = None
    """The unit of its own axis on the right."""


class Column(NamedTuple):
    """One column of a table; ``scale`` colors its cells."""

    name: str
    expression: str
    scale: "Scale"


class Scale(NamedTuple):
    """Unit, thresholds and bounds of what a panel shows."""

    unit: str
    steps: Sequence[Json] = ()
    low: float | None = None
    high: float | None = None
    decimals: int | None = None

    def defaults(self) -> Json:
        """The part of ``fieldConfig.defaults`` that this is."""
        found: Json = {"unit": self.unit}
        if self.steps:
            found["thresholds"] = {"mode": "absolute", "steps": list(self.steps)}
        bounds = {"min": self.low, "max": self.high, "decimals": self.decimals}
        return found | {name: value for name, value in bounds.items() if value is not None}


def steps(base: str, *above: tuple[float, str]) -> list[Json]:
    """Colors by threshold: ``base`` below the first one."""
    return [{"color": base, "value": None}, *({"color": color, "value": value} for value, color in above)]


ZERO: Final = Scale("short", steps("transparent", (1, "red")), decimals=0)
"""What should be 0: unseen until it is not."""

CALM: Final = Scale("short", steps("transparent", (1, "orange")), decimals=0)
"""What happens now and then."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel without a place; ``width`` in the page's 24 columns; without a ``height`` it has its row's."""

    body: Json
    width: int = 8
    height: int | None = None

    def wide(self, width: int) -> "Panel":
        """The same, so wide."""
        return replace(self, width=width)

    def high(self, height: int) -> "Panel":
        """The same, higher or lower than its row."""
        return replace(self, height=height)

    def to(self, name: str) -> "Panel":
        """The same with a way down to another dashboard, time and variables kept."""
        link = {"title": name.capitalize(), "url": f"/d/tidegate-{name}?{KEPT}", "targetBlank": False}
        return replace(self, body=self.body | {"links": [link]})

    def pick(self, name: str) -> "Panel":
        """The same with a way from each value to another dashboard, where only that value's exchange is chosen."""
        defaults = self.body["fieldConfig"]["defaults"]
        link = {"title": "${__field.labels.exchange}", "url": f"/d/tidegate-{name}?{CHOSEN}", "targetBlank": False}
        field = self.body["fieldConfig"] | {"defaults": defaults | {"links": [link]}}
        return replace(self, body=self.body | {"fieldConfig": field})

    def each(self, variable: str) -> "Panel":
        """The same, once for each value that is chosen of a variable."""
        return replace(self, body=self.body | {"repeat": variable, "repeatDirection": "h", "maxPerRow": 3})
