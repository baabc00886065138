"""What is told of connections to the broker."""

from typing import NamedTuple

import pytest
from prometheus_client import CollectorRegistry

from services.cli.broker_watch import BrokerWatch
from shared.telemetry.events import Events
from shared.telemetry.metrics import Metrics


class Seen(NamedTuple):
    connected: bool
    blocked: str | None = None
    losses: int = 0


class Watched:
    """A watch and the metrics that it writes."""

    def __init__(self) -> None:
        self._metrics = Metrics(CollectorRegistry())
        self._watch = BrokerWatch(Events(self._metrics))

    def see(self, connected: bool, blocked: str | None = None, losses: int = 0) -> tuple[float | None, ...]:  # noqa: FBT001
        """Connected, blocked, losses as they are told then."""
        self._watch.see({"publish": Seen(connected, blocked, losses)})
        value = self._metrics.registry.get_sample_value
        names = ("broker_connected", "broker_blocked", "broker_losses_total")
        return tuple(value(f"tidegate_{name}", {"connection": "publish"}) for name in names)


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_nothing_is_told_of_a_connection_that_never_stood(watched: Watched) -> None:
    assert watched.see(False) == (None, None, None)


def test_a_loss_is_told_and_the_return(watched: Watched) -> None:
    assert watched.see(True) == (1, 0, None)
    assert watched.see(False, losses=1) == (0, 0, 1)
    assert watched.see(False, losses=1) == (0, 0, 1)
    assert watched.see(True, losses=1) == (1, 0, 1)
    assert watched.see(True, losses=1) == (1, 0, 1)


def test_losses_that_were_mended_before_anyone_looked_count_all(watched: Watched) -> None:
    watched.see(True)
    assert watched.see(True, losses=2) == (1, 0, 2)
    assert watched.see(False, losses=4) == (0, 0, 4)


def test_a_connection_that_came_back_blocked_is_blocked(watched: Watched) -> None:
    assert watched.see(True, "memory") == (1, 1, None)
    assert watched.see(True, "memory") == (1, 1, None)
    assert watched.see(True, "memory", losses=1) == (1, 1, 1)
    assert watched.see(True, None, losses=1) == (1, 0, 1)
