"""The pictures of the dashboards: numbers as a reader would write them, and series with the names of the panel."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from tools.pictures.data import Span, answers, unit_text
from tools.pictures.drawing import draw

pytestmark = pytest.mark.ops


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, "s", "0 s"),
        (0.000_25, "s", "250 µs"),
        (0.012, "s", "12 ms"),
        (90.0, "s", "90 s"),
        (150.0, "s", "2.5 min"),
        (0.5, "percentunit", "50%"),
        (1_250.0, "cps", "1.25 k/s"),
        (64 * 1024.0, "bytes", "65.5 kB"),
        (3.0, "short", "3"),
    ],
)
def test_numbers_are_written_as_a_reader_would(value: float, unit: str, text: str) -> None:
    assert unit_text(value, unit) == text


class Recorded:
    """Answers to every question with the same two series, one of them with a hole."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def query_range(self, expression: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
        self.asked.append(expression)
        times = [start + step * number for number in range(int((end - start) / step))]
        labels = [{"stream": "mexc.spot.0", "le": "0.5"}, {"stream": "bybit.spot.0", "le": "+Inf"}]
        return [
            {"metric": one, "values": [[at, "NaN" if number == 2 else str(number)] for number, at in enumerate(times)]}
            for one in labels
        ]


def test_series_are_named_as_the_panel_names_them_and_have_no_points_without_a_number() -> None:
    target = {"expr": 'rate(x[$__rate_interval]) / y{s=~"$symbol"}', "refId": "A", "legendFormat": "of {{stream}}"}
    recorded = Recorded()
    one, other = answers({"targets": [target]}, recorded, Span(100.0, 120.0))

    assert (one.name, other.name) == ("of bybit.spot.0", "of mexc.spot.0")
    assert (list(one.times), list(one.values)) == ([0.0, 5.0, 15.0], [0.0, 1.0, 3.0])
    assert recorded.asked == ['rate(x[20s]) / y{s=~".*"}']


@pytest.mark.parametrize("name", ["overview", "ingest"])
def test_every_kind_of_panel_can_be_drawn(name: str, tmp_path: Path) -> None:
    """Between them these two have all."""
    dashboard = json.loads((ROOT / f"grafana/dashboards/Tidegate/{name}.json").read_text())
    drawn = draw(dashboard, Recorded(), (100.0, 130.0), [], tmp_path / "picture.png")

    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert drawn.panels == len([one for one in dashboard["panels"] if one["type"] not in {"row", "text"}])
    assert drawn.curves == 2 * sum(len(one.get("targets", [])) for one in dashboard["panels"])
