"""The account checker finds what is planted, each kind as what it is, and nothing where all is right."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from shared.accounts.messages import AccountStatus, AnyAccountMessage, Balance, Fill, Order, Position
from tests.soak.account.judge import judge, streams_of
from tests.soak.account.plan import ACCOUNTS, LONG, MANDATORY, SHORT, plan
from tests.soak.account.view import View

MS = 1_000_000
T0 = 1_790_000_000_000 * MS
SYMBOL = "ADA/USDT:USDT"
STREAM = "bybit.savings"

Messages = list[AnyAccountMessage]
Common = tuple[str, str | None, str | None, int, int, int, str, int, int, int, str]


def common(number: int, symbol: str | None = SYMBOL) -> Common:
    """Fields of every message; ``number`` is its frame, which is ``number`` ms after the beginning."""
    at = T0 + number * MS
    return "bybit", symbol, None if symbol is None else "ADAUSDT", at, at, at, STREAM, 7, number, 0, "savings"


def status(number: int, word: Any) -> AccountStatus:
    return AccountStatus(*common(number, None), word, ts_reconciled=T0 + number * MS if word == "reconciled" else None)


def order(number: int, word: Any, filled: str) -> Order:
    changed = T0 + number * MS
    return Order(*common(number), "o-1", None, "buy", "limit", word, "0.5", "30", filled, "stream", ts_updated=changed)


def fill(number: int, size: str = "10") -> Fill:
    return Fill(
        *common(number), f"e-{number}", "o-1", None, "buy", "0.5", size, "maker", "trade", "stream", "0.001", "USDT"
    )


def told() -> Messages:
    """An order that is filled in three parts, and what the account holds then."""
    return [
        status(1, "reconciled"),
        order(2, "new", "0"),
        fill(3),
        order(4, "partially_filled", "10"),
        fill(5),
        order(6, "partially_filled", "20"),
        fill(7),
        order(8, "filled", "30"),
        Position(*common(9), "net", "long", "30", "stream"),
        Balance(*common(10, None), "USDT", "84.997", None, None, "stream"),
        status(11, "reconciled"),
    ]


def ledger() -> dict[str, Any]:
    """The same as the venue knows it."""
    about = {"product": "linear", "symbol": SYMBOL, "side": "buy", "order_id": "o-1"}
    executions = [
        {
            **about,
            "execution_id": f"e-{number}",
            "price": "0.50",
            "size": "10",
            "fee": "0.0010",
            "fee_asset": "USDT",
            "liquidity": "maker",
            "kind": "trade",
            "ts": T0 + number * MS,
        }
        for number in (3, 5, 7)
    ]
    ended = {**about, "status": "filled", "filled_size": "30", "size": "30", "price": "0.50", "ts_updated": T0 + 8 * MS}
    return {
        "exchange": "bybit",
        "account": "savings",
        "orders": {"o-1": ended},
        "executions": executions,
        "balances": {"unified": {"USDT": {"total": "84.9970"}, "ADA": {"total": "0"}}},
        "positions": [{"product": "linear", "symbol": SYMBOL, "leg": "net", "side": "long", "size": "30"}],
    }


def counts(messages: Messages) -> dict[str, int]:
    view = View()
    view.take(messages)
    return {name: count for name, count in judge(view, [ledger()]).counts().items() if count}


def place(messages: Messages, number: int) -> int:
    return next(at for at, message in enumerate(messages) if message.frame == number)


def change(messages: Messages, number: int, **fields: Any) -> None:
    at = place(messages, number)
    messages[at] = replace(messages[at], **fields)


def lose(messages: Messages, number: int) -> None:
    del messages[place(messages, number)]


def swap(messages: Messages, one: int, other: int) -> None:
    """They come the other way round under numbers that are in order: a consumer can't tell by those."""
    first, second = place(messages, one), place(messages, other)
    messages[first], messages[second] = (
        replace(messages[second], frame=one),
        replace(messages[first], frame=other),
    )


def late(messages: Messages, number: int) -> None:
    """It comes last, under the number that it had."""
    messages.append(messages.pop(place(messages, number)))


def again(messages: Messages, number: int, frame: int) -> None:
    """What was told is told once more as something new."""
    messages.append(replace(messages[place(messages, number)], frame=frame))


def found_late(messages: Messages) -> None:
    """A reconciliation finds a fill that is older than what was told of a time that was said to be known."""
    swap(messages, 5, 7)
    change(messages, 7, source="rest")


PLANTED: dict[str, tuple[Callable[[Messages], None], dict[str, int]]] = {
    "a lost fill": (lambda m: lose(m, 5), {"missing": 1}),
    "a lost end of an order": (lambda m: lose(m, 8), {"missing": 1}),
    "a fill with another size": (lambda m: change(m, 5, size="11"), {"missing": 1, "extra": 1}),
    "a fill with another fee": (lambda m: change(m, 5, fee=None), {"missing": 1, "extra": 1}),
    "a fill on the other side": (lambda m: change(m, 5, side="sell"), {"missing": 1, "extra": 1}),
    "a fill twice": (lambda m: again(m, 5, 12), {"extra": 1}),
    "a fill of nobody": (lambda m: m.append(fill(12)), {"extra": 1}),
    "an order of nobody": (lambda m: m.append(replace(order(12, "new", "0"), order_id="o-2")), {"extra": 1}),
    "fills turned around": (lambda m: swap(m, 3, 5), {"inversions": 2}),
    "a fill that is found too late": (found_late, {"inversions": 1}),
    "a frame out of order": (lambda m: late(m, 2), {"inversions": 2, "missing": 1}),
    "an end of an order twice": (lambda m: again(m, 8, 12), {"extra": 1}),
    "an order that is open again": (lambda m: again(m, 6, 12), {"inversions": 1, "missing": 1}),
    "an order that is filled by less": (lambda m: change(m, 6, filled_size="5"), {"inversions": 1}),
    "a wrong balance": (lambda m: change(m, 10, total="85"), {"balances_wrong": 1}),
    "no balance": (lambda m: lose(m, 10), {"balances_wrong": 1}),
    "a wrong position": (lambda m: change(m, 9, size="20"), {"positions_wrong": 1}),
    "a position on the other side": (lambda m: change(m, 9, side="short"), {"positions_wrong": 1}),
    "a stream of nobody": (lambda m: m.append(replace(status(12, "stale"), stream="bybit.other")), {"extra": 1}),
}


def test_what_is_right_gives_zeros() -> None:
    assert counts(told()) == {}


def test_repetitions_under_the_same_identity_are_no_finding() -> None:
    messages = told()
    assert counts([*messages[:5], *messages[2:], *messages]) == {}


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_found_as_what_it_is(name: str) -> None:
    plant, expected = PLANTED[name]
    messages = told()
    plant(messages)
    assert counts(messages) == expected


def test_an_older_fill_is_no_inversion_while_nothing_was_said_to_be_known() -> None:
    messages = told()
    found_late(messages)
    change(messages, 1, status="stale")
    assert counts(messages) == {}


@pytest.mark.parametrize(("account", "found"), [("savings", 0), ("saving", 1), ("other", 1)])
def test_an_older_fill_is_no_inversion_while_the_lists_of_its_account_lag(account: str, found: int) -> None:
    messages = told()
    found_late(messages)
    view = View()
    view.take(messages[:1])
    view.lags("bybit", account, T0, T0 + 10 * MS)
    view.take(messages[1:])
    assert len(judge(view, [ledger()]).inversions) == found


def test_fills_turned_around_are_an_inversion_whatever_lags() -> None:
    messages = told()
    swap(messages, 3, 5)
    view = View()
    view.take(messages[:1])
    view.lags("bybit", "savings", T0, T0 + 10 * MS)
    view.take(messages[1:])
    assert len(judge(view, [ledger()]).inversions) == 1


def test_reconciled_is_what_the_last_status_says() -> None:
    view = View()
    view.take(told())
    assert view.reconciled([STREAM], T0 + 11 * MS)
    assert not view.reconciled([STREAM], T0 + 12 * MS)
    assert not view.reconciled([STREAM, "bybit.other"], T0)
    view.take([status(12, "stale")])
    assert not view.reconciled([STREAM], T0)


@pytest.mark.parametrize("locked", ["1", "2"])
def test_of_a_spot_wallet_is_compared_what_is_available_and_locked_too(locked: str) -> None:
    balance = Balance(*common(1, None), "USDT", "10", "9", locked, "stream")
    view = View()
    view.take([replace(balance, exchange="venue", account="a", stream="venue.a.spot")])
    held = {"spot": {"USDT": {"total": "10", "available": "9.0", "locked": "1.0"}}}
    nothing: dict[str, Any] = {"orders": {}, "executions": [], "positions": []}
    findings = judge(view, [{"exchange": "venue", "account": "a", "balances": held, **nothing}])
    assert len(findings.balances_wrong) == (0 if locked == "1" else 1)
    assert findings.clean == (locked == "1")


def test_wallets_have_the_streams_that_their_venue_has() -> None:
    assert streams_of(ledger()) == {"unified": STREAM}
    two = {"exchange": "binance", "account": "main", "balances": {"spot": {}, "usdm": {}}}
    assert streams_of(two) == {"spot": "binance.main.spot", "usdm": "binance.main.usdm"}


@pytest.mark.parametrize("form", [SHORT, LONG])
def test_a_seed_is_a_plan_and_everything_is_in_it(form: Any) -> None:
    steps = plan(3, form)
    assert steps == plan(3, form) != plan(4, form)
    assert {step.action for step in steps} == set(MANDATORY)
    assert len(steps) == len(MANDATORY) + form.more
    assert all(0 <= step.target < len(ACCOUNTS) for step in steps)
    assert form.away in {step.seconds for step in steps if step.action == "broker away"}
