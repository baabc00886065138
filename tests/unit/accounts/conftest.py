"""A stream that is connected, and one that is reconciled."""

import pytest

from shared.envelope import Authenticated
from tests.support.accounts import PERPETUAL, SPOT, T0_MS, Hand, found


@pytest.fixture
def hand() -> Hand:
    """Connected, both instruments listed."""
    hand = Hand()
    hand.connect()
    hand.lists(SPOT, PERPETUAL)
    hand.mark(Authenticated())
    return hand


@pytest.fixture
def reconciled(hand: Hand) -> Hand:
    """Reconciled at ``T0``, with nothing open; nothing has been told yet."""
    hand.catches_up(T0_MS - 60_000, T0_MS, found(open_orders_of=("spot", "linear"), positions_of=("linear",)))
    hand.told.clear()
    return hand
