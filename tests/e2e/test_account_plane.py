"""The soak of the account plane in its shortest form: everything breaks once, briefly, and nothing is lost."""

import sys

import pytest

from tests.soak.account.plan import MANDATORY, SHORT
from tests.soak.account.soak import soak
from tests.support.rabbit import ensure_server

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


async def test_a_consumer_knows_what_the_ledgers_say_whatever_breaks_in_between() -> None:
    ensure_server()
    outcome = await soak(1, SHORT, lambda text: print(text, file=sys.stderr))  # noqa: T201 - for who reads why it failed
    assert outcome.clean, "\n".join(outcome.lines())
    assert outcome.events >= SHORT.events
    assert outcome.messages > outcome.events
    assert outcome.faults == len(MANDATORY)
