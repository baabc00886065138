"""The soak of the account plane as a test; ``make soak-account`` runs the same and ends with its numbers as JSON."""

import sys

import pytest

from tests.soak.account.plan import LONG
from tests.soak.account.soak import soak
from tests.support.rabbit import ensure_server

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1_800)]


@pytest.mark.parametrize("seed", [1, 2])
async def test_ten_thousand_private_events_while_everything_breaks(seed: int) -> None:
    ensure_server()
    outcome = await soak(seed, LONG, lambda text: print(text, file=sys.stderr))  # noqa: T201 - for who reads why it failed
    assert outcome.clean, "\n".join(outcome.lines())
    assert outcome.events >= LONG.events
