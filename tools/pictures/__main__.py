"""``python -m tools.pictures``: let things happen to the market plane under a Prometheus, then draw the dashboards."""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Final

from services.cli.local_rabbit import RabbitNode
from tests.support.eventually import eventually_sync
from tests.support.observed import ObservedPlane, play
from tools.dashboards.catalogue import documents
from tools.pictures.drawing import draw

ROOT: Final = Path(__file__).resolve().parents[2]
IMAGES: Final = ROOT / "docs/images"
SEEN: Final = 'min(count_over_time(up{job=~"ingest|normalizer"}[1m])) >= 6'
"""Enough for what is drawn to begin with a quiet market."""


def main() -> None:
    """Play and draw."""
    parser = argparse.ArgumentParser(prog="python -m tools.pictures", description=__doc__)
    parser.add_argument("--seconds", type=float, default=150.0, help="how long things happen (default: %(default)g)")
    parser.add_argument("--out", type=Path, default=IMAGES, help="where the pictures go (default: docs/images)")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="tidegate-pictures-") as directory,
        RabbitNode(prometheus=True) as node,
        ObservedPlane(node, Path(directory)) as plane,
    ):
        eventually_sync(lambda: plane.prometheus.query(SEEN), "some scrapes are there", within=120, interval=1.0)
        start = time.time()
        events = play(plane, arguments.seconds)
        span = (start, time.time())
        for document in documents():
            picture = arguments.out / f"{Path(document).stem}.png"
            drawn = draw(json.loads((ROOT / document).read_text("utf-8")), plane.prometheus, span, events, picture)
            print(f"{picture}: {drawn.panels} panels, {drawn.curves} series")


if __name__ == "__main__":
    main()
