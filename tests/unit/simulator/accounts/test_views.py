import json

import pytest

from services.cli.errors import UsageError
from services.cli.stages import simulated_accounts
from services.simulator import DEFAULT_BALANCES, AccountSpec, Refused
from services.simulator.accounts.account import Account
from services.simulator.accounts.keyring import MOST_ACCOUNTS, Keyring, signature
from services.simulator.accounts.limits import Budget
from services.simulator.accounts.view import View
from shared.settings import SimulatorSection
from tests.support.paths import SHARED, needs_shared
from tests.unit.simulator.accounts.offices import Office
from tests.unit.simulator.client import SECOND_NS, START_NS

KEY_LIFE_NS = 3600 * SECOND_NS


def state(view: View) -> object:
    return (view.orders, view.open, view.executions, view.assets, view.positions, view.happenings)


def test_a_view_of_the_past_is_what_was_so_then_in_whatever_order_it_is_asked_for() -> None:
    office = Office("bybit", "BTCUSDT")
    (wallet,) = office.account().wallets.values()
    seen = {}
    for _ in range(8):
        office.busy(events=10, rate=100.0)
        office.pass_time(0.05)
        seen[office.now_ns] = repr(state(wallet.view))
    times = [*seen]
    for ts_ns in (times[5], times[2], times[7], times[0]):
        assert repr(state(wallet.as_of(ts_ns))) == seen[ts_ns]
    assert wallet.as_of(None) is wallet.view
    assert not wallet.as_of(START_NS - 1).assets


def test_a_budget_is_for_each_key_and_each_window() -> None:
    budget = Budget(10, SECOND_NS)
    assert [budget.take("a", 4, START_NS + n) for n in range(3)] == [6, 2, -2]
    assert budget.take("b", 10, START_NS) == 0
    assert (budget.used("a"), budget.used("c")) == (12, 0)
    assert budget.ends_ns("a") == START_NS + SECOND_NS
    assert budget.take("a", 1, START_NS + SECOND_NS) == 9


def keyring(**hooks: object) -> tuple[Keyring, Account]:
    ring = Keyring(1, **hooks)  # type: ignore[arg-type]
    return ring, ring.add(AccountSpec("bybit", "main", "its key", "its secret"), START_NS)


def test_signatures_are_told_from_others() -> None:
    ring, account = keyring()
    good = signature("its secret", "text")
    assert ring.check("bybit", "linear", "its key", "text", good) == (account, "")
    assert ring.check("bybit", "linear", "its key", "text", good.upper()).account is account
    assert ring.check("bybit", "linear", "its key", "other", good) == (None, "signature")
    assert ring.check("mexc", "spot", "its key", "text", good) == (None, "key")
    assert ring.check_key("bybit", "linear", "its key").account is account
    assert ring.check("bybit", "linear", "its key", "text", "ÄÖ") == (None, "signature")
    refusing, _ = keyring(refuses=lambda _account, product: product == "linear")
    assert refusing.check("bybit", "linear", "its key", "text", good) == (None, "key")
    assert refusing.check_key("bybit", "linear", "its key") == (None, "key")


def test_listen_keys_are_long_unlike_and_mortal() -> None:
    ring, account = keyring()
    one, other = (ring.grant(account, "unified", START_NS + KEY_LIFE_NS) for _ in range(2))
    assert one.text != other.text
    assert len(one.text) == 64
    assert ring.good(one.text, START_NS) is one
    ring.revoke(one.text)
    assert ring.good(one.text, START_NS) is None
    assert [*ring.granted(account, "unified", START_NS)] == [other]
    assert [*ring.granted(account, "unified", START_NS + KEY_LIFE_NS)] == []
    assert not ring.listen_keys


def test_accounts_are_bounded() -> None:
    ring = Keyring(1)
    for number in range(MOST_ACCOUNTS):
        ring.add(AccountSpec("mexc", f"n{number}", f"k{number}", "s"), START_NS)
    with pytest.raises(Refused, match="already"):
        ring.add(AccountSpec("mexc", "one more", "k", "s"), START_NS)


@needs_shared
def test_signatures_are_those_of_the_test_vectors() -> None:
    vectors = json.loads((SHARED / "frames/TEST_VECTORS.json").read_text(encoding="utf-8"))["vectors"]
    chosen = [
        one
        for one in vectors
        if one["algorithm"].startswith("HMAC-SHA256") and one["encoding"].startswith("hex") and "base64" not in str(one)
    ]
    for one in chosen:
        text = one["signed_string"].replace("\\n", "\n") if "deribit" in one["name"] else one["signed_string"]
        assert signature(one["secret"], text) == one["signature"], one["name"]
    assert len(chosen) > 8


def test_accounts_of_the_settings_are_there_from_the_start() -> None:
    section = SimulatorSection.model_validate(
        {"accounts": {"bybit": {"main": {"secret": "s"}}, "mexc": {"spare": {"key": "k", "secret": "t"}}}}
    )
    specs = simulated_accounts(section)
    assert [(one.exchange, one.name, one.key, one.secret) for one in specs] == [
        ("bybit", "main", "sim-main", "s"),
        ("mexc", "spare", "k", "t"),
    ]
    assert specs[0].balances == DEFAULT_BALANCES
    unknown = SimulatorSection.model_validate({"accounts": {"moon": {"main": {"secret": "s"}}}})
    with pytest.raises(UsageError, match="exchange must be one of"):
        simulated_accounts(unknown)
