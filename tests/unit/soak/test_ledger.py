"""Every trade that was sent, put together from looks at the newest ones."""

from typing import Any

import pytest

from tests.soak.plane import Ledger


class Sender:
    """What a simulator would say: ``sent`` trades so far, of which it tells the newest few."""

    def __init__(self, kept: int) -> None:
        self.sent = 0
        self._kept = kept

    def state(self) -> Any:
        return {"exchanges": {"venue": {"spot": {"sent": {"trade": self.sent, "book": 5}}}}}

    def product(self, exchange: str, product: str) -> Any:
        assert (exchange, product) == ("venue", "spot")
        ids = [f"t{number}" for number in range(self.sent)][-self._kept :]
        return {"trades": {"deals@AAA": {"symbol": "AAA", "sent": self.sent}}, "trade_ids": {"deals@AAA": ids}}


def look(sender: Sender, ledger: Ledger, sent: int) -> None:
    sender.sent = sent
    ledger.look()


def test_looks_that_overlap_give_every_trade_once() -> None:
    sender = Sender(kept=10)
    ledger = Ledger(sender.state, sender.product)
    for sent in (0, 4, 4, 10, 20):
        look(sender, ledger, sent)
    assert ledger.trades == {("venue.spot", "AAA"): [f"t{number}" for number in range(20)]}
    assert ledger.instruments == [("venue.spot", "AAA")]
    assert ledger.frames == 25


def test_a_look_that_comes_too_late_is_told() -> None:
    sender = Sender(kept=10)
    ledger = Ledger(sender.state, sender.product)
    look(sender, ledger, 4)
    with pytest.raises(ValueError, match="11 trades were sent, only the newest 10 are known"):
        look(sender, ledger, 15)
