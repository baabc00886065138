from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.simulator import Refused
from services.simulator.accounts.report import KEPT_EVENTS
from services.simulator.accounts.rules import RULES
from services.simulator.accounts.script import ACTIONS, MOST_OPEN, ScriptRequest
from tests.unit.simulator.accounts.offices import Office, audited

SYMBOLS = {
    "bybit": ("BTCUSDT", "ETHUSDT", "BTCUSD"),
    "mexc": ("BTCUSDT", "BTC_USDT", "ETH_USDT"),
    "binance": ("BTCUSDT", "ETHUSDT"),
}
WALLETS = {
    exchange: {product: rules.name for rules in wallets for product in rules.products}
    for exchange, wallets in RULES.items()
}
TIMES_AND_IDS = frozenset(
    {"ts", "ts_created", "ts_updated", "execution_id", "order_id", "client_order_id", "happenings", "n"}
)


def timeless(value: Any) -> Any:
    """A ledger's rows without what a start at another time changes; orders by their number."""
    if isinstance(value, dict):
        return {name: timeless(inner) for name, inner in value.items() if name not in TIMES_AND_IDS}
    return [timeless(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("exchange", [*SYMBOLS])
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_whatever_a_script_does_the_books_balance(exchange: str, seed: int) -> None:
    office = Office(exchange, *SYMBOLS[exchange], names=("main", "second"))
    for name in ("main", "second"):
        office.busy(name, events=150, rate=200.0, seed=seed)
    for name in ("main", "second"):
        audited(office.ledger(name), WALLETS[exchange])


@pytest.mark.parametrize("exchange", [*SYMBOLS])
def test_a_script_does_a_bit_of_everything(exchange: str) -> None:
    office = Office(exchange, *SYMBOLS[exchange])
    script = office.busy(events=1500, rate=500.0, seed=2)
    assert script.happened >= 1500
    assert script.refused < script.decisions // 4
    told = office.ledger()
    statuses = Counter(one["status"] for one in told["orders"].values())
    kinds = Counter(one["kind"] for one in told["executions"])
    assert min(statuses[one] for one in ("filled", "canceled")) > 50
    assert min(kinds[one] for one in ("trade", "liquidation", "adl")) > 0
    assert any(one["status"] == "canceled" and one["filled_size_native"] != "0" for one in told["orders"].values())
    assert {one["liquidity"] for one in told["executions"]} == {"maker", "taker"}
    assert told["fundings"]
    assert len(told["transfers"]) > 12
    assert sum(one["status"] in ("new", "partially_filled") for one in told["orders"].values()) <= MOST_OPEN
    audited(told, WALLETS[exchange])


def test_one_seed_gives_one_ledger_but_for_times_and_ids() -> None:
    ledgers = []
    for seed, delay in ((7, 0.0), (7, 3.33), (8, 0.0)):
        office = Office("bybit", *SYMBOLS["bybit"])
        office.pass_time(delay, still=True)
        office.busy(events=300, seed=seed, still=True)
        told = office.ledger()
        told["orders"] = [*told["orders"].values()]
        ledgers.append(timeless(told))
    assert ledgers[0] == ledgers[1]
    assert ledgers[0] != ledgers[2]


def test_a_script_keeps_to_its_symbols_and_settles_at_the_end() -> None:
    office = Office("binance", "BTCUSDT", "ETHUSDT")
    office.busy(events=200, products=("usdm",), symbols=("ETHUSDT",), settle=True)
    told = office.ledger()
    assert {(one["product"], one["native_symbol"]) for one in told["orders"].values()} == {("usdm", "ETHUSDT")}
    assert not {one["status"] for one in told["orders"].values()} & {"new", "partially_filled"}


def test_a_script_can_be_stopped_and_runs_alone() -> None:
    office = Office("mexc", "BTCUSDT")
    script = office.desk.script(office.account(), ScriptRequest(events=100_000))
    office.pass_time(1)
    with pytest.raises(Refused, match="running already"):
        office.desk.script(office.account(), ScriptRequest(events=1))
    script.stop()
    happened = script.happened
    office.pass_time(1, still=True)
    assert script.happened == happened > 0
    with pytest.raises(Refused, match="no such market"):
        office.desk.script(office.account(), ScriptRequest(events=1, symbols=("NOPE",)))


@pytest.mark.parametrize(
    "wrong", [{"events": 0}, {"events": 10**6}, {"events": 1, "rate": 0}, {"events": 1, "what": 2}]
)
def test_requests_for_scripts_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, ScriptRequest)


def test_every_action_has_its_weight() -> None:
    assert sum(weight for _, weight in ACTIONS) == 100


def test_the_venues_messages_are_kept_by_happening_and_bounded() -> None:
    office = Office("bybit", *SYMBOLS["bybit"])
    office.busy(events=300, rate=1000.0)
    report = office.desk.reports[office.account()]
    first = msgspec.json.decode(msgspec.json.encode(report.events(0, 1000)))
    assert [one["n"] for one in first] == [*range(report.happenings)]
    fill = next(one for one in first if one["kind"] == "fill")
    assert {"order", "execution"} <= {one["name"] for one in fill["messages"]}
    assert msgspec.json.decode(msgspec.json.encode(report.events(290, 2)))[0]["n"] == 290
    assert report._events.maxlen == KEPT_EVENTS
