"""The scale-out soak in its shortest form: everything that it does happens once."""

import sys

import pytest

from tests.soak.outcome import Options
from tests.soak.plan import SHORTEST
from tests.soak.soak import soak
from tests.support.rabbit import ensure_server

pytestmark = pytest.mark.e2e

OPTIONS = Options(seconds=0.0, seed=1, rate=8.0, heartbeat_s=2, first=SHORTEST)


async def test_normalizers_and_the_broker_come_and_go_and_no_promise_is_broken() -> None:
    ensure_server()
    outcome = await soak(OPTIONS, lambda text: print(text, file=sys.stderr))  # noqa: T201 - for who reads why it failed
    assert outcome.clean, "\n".join(outcome.lines())
    summary = outcome.summary()
    assert summary["max_owners"] == 1
    assert summary["restarts"] == 3
    assert summary["messages_received"] > 5_000
    assert summary["handover_ms"]["median"] is not None
    for kind in ("killed", "stopped", "paused", "rebalanced"):
        assert outcome.verdict.handover_ms.get(kind), f"nothing was handed over because an owner was {kind}"
