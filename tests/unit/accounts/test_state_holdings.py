"""Balances and positions: absolute, changed, partial, late."""

from typing import Any

from shared.accounts.messages import Balance, Position
from tests.support.accounts import T0_MS, Hand, balance, fill, found, position

OPEN: dict[str, Any] = {"open_orders_of": ("spot", "linear"), "positions_of": ("linear",)}


def held(hand: Hand) -> dict[str, tuple[str | None, str | None]]:
    """What a consumer believes: total and available by asset."""
    return {each.asset: (each.total, each.available) for each in hand.of(Balance)}


def legs(hand: Hand) -> dict[str, tuple[str | None, str]]:
    return {each.leg: (each.side, each.size) for each in hand.of(Position)}


def test_a_balance_that_is_not_named_is_untouched(reconciled: Hand) -> None:
    reconciled.says(balance("ADA", "4", "4"), balance("USDT", "300", "250", locked="50"), balance("ETH", "0", "0"))
    outcome = reconciled.says(balance("ETH", "7000", "7000", at_ms=T0_MS + 1))
    assert [each.asset for each in outcome.messages if isinstance(each, Balance)] == ["ETH"]
    assert held(reconciled) == {"ADA": ("4", "4"), "USDT": ("300", "250"), "ETH": ("7000", "7000")}


def test_a_change_adds_to_what_is_known(reconciled: Hand) -> None:
    reconciled.says(balance("ADA", "4.5", "4", locked="0.5"))
    reconciled.says(changes=[balance("ADA", None, at_ms=T0_MS + 1, change="0.50", reason="transfer")])
    last = reconciled.of(Balance)[-1]
    assert (last.total, last.available, last.locked) == ("5.00", "4.50", "0.5")
    assert (last.change, last.reason) == ("0.50", "transfer")


def test_a_change_of_an_unknown_balance_is_told_alone(reconciled: Hand) -> None:
    reconciled.says(changes=[balance("XRP", None, change="-3", reason="withdrawal")])
    reconciled.says(changes=[balance("XRP", None, at_ms=T0_MS + 1, change="-4", reason="withdrawal")])
    assert [(each.total, each.change) for each in reconciled.of(Balance)] == [(None, "-3"), (None, "-4")]


def test_a_change_that_a_balance_includes_already_is_not_added_twice(reconciled: Hand) -> None:
    reconciled.says(balance("USDT", "101", at_ms=T0_MS + 5))
    reconciled.says(changes=[balance("USDT", None, at_ms=T0_MS + 5, change="1", reason="funding")])
    assert [(each.total, each.change) for each in reconciled.of(Balance)] == [("101", None), ("101", "1")]


def test_changes_add_up_in_whatever_order_they_come(reconciled: Hand) -> None:
    reconciled.says(balance("USDT", "100", at_ms=T0_MS + 1))
    for at, change in ((7, "5"), (3, "2"), (5, "-1")):
        reconciled.says(changes=[balance("USDT", None, at_ms=T0_MS + at, change=change, reason="transfer")])
    assert [each.total for each in reconciled.of(Balance)] == ["100", "105", "107", "106"]


def test_a_change_comes_once_by_whichever_way(reconciled: Hand) -> None:
    """A funding payment in the stream, in the stream again after a restart, and in a reconciliation."""
    paid = balance("USDT", None, at_ms=T0_MS + 5, change="-1.5", reason="funding")
    reconciled.says(balance("USDT", "100"))
    reconciled.says(changes=[paid])
    reconciled.says(changes=[paid])
    reconciled.restart()
    again = balance("USDT", None, at_ms=T0_MS + 5, change="-1.5", reason="funding", source="rest")
    outcome = reconciled.catches_up(
        T0_MS, T0_MS + 60_000, found(balance("USDT", "98.5", at_ms=None, source="rest"), changes=[again], **OPEN)
    )
    assert outcome.duplicates == 2
    assert [(each.total, each.change) for each in reconciled.of(Balance)] == [("100", None), ("98.5", "-1.5")]


def test_a_funding_row_is_no_fill(reconciled: Hand) -> None:
    paid = balance("USDT", None, change="-1.5", reason="funding")
    reconciled.says(fill("e2", "0.1"), fill("e3", "0.2", kind="adl"), changes=[paid])
    assert reconciled.fills == ["e2", "e3"]
    assert [each.change for each in reconciled.of(Balance)] == ["-1.5"]


def test_an_older_balance_is_stale(reconciled: Hand) -> None:
    reconciled.says(balance("ADA", "5", at_ms=T0_MS + 9))
    assert reconciled.says(balance("ADA", "4", at_ms=T0_MS + 3)).stale == 1
    assert held(reconciled)["ADA"][0] == "5"


def test_the_news_of_an_older_balance_is_told_with_the_newer_amounts(reconciled: Hand) -> None:
    reconciled.says(balance("ADA", "5", at_ms=T0_MS + 9))
    reconciled.says(balance("ADA", "4", at_ms=T0_MS + 3, change="4", reason="deposit"))
    last = reconciled.of(Balance)[-1]
    assert (last.total, last.change, last.reason) == ("5", "4", "deposit")


def test_a_balance_said_again_is_dropped_and_its_time_counts(reconciled: Hand) -> None:
    reconciled.says(balance("ADA", "5", at_ms=T0_MS + 1))
    assert reconciled.says(balance("ADA", "5.0", at_ms=T0_MS + 9)).duplicates == 1
    assert reconciled.says(balance("ADA", "4", at_ms=T0_MS + 5)).stale == 1


def test_what_is_not_told_is_not_zero(reconciled: Hand) -> None:
    reconciled.says(balance("USDT", "50.97", None, locked="0", equity="56.93", unrealized_pnl="5.96"))
    last = reconciled.of(Balance)[-1]
    assert (last.total, last.available, last.locked, last.equity) == ("50.97", None, "0", "56.93")


def test_a_push_of_this_connection_is_not_undone_by_rest(reconciled: Hand) -> None:
    """The reconciliation asked at T0 + 60 s, the push came a moment later and is numbered before it."""
    reconciled.says(balance("ADA", "8", at_ms=T0_MS + 60_001))
    rest = found(balance("ADA", "5", at_ms=None, source="rest"), **OPEN)
    assert reconciled.catches_up(T0_MS, T0_MS + 60_000, rest).stale == 1
    assert held(reconciled)["ADA"][0] == "8"


def test_what_an_earlier_connection_left_is_replaced_by_rest(reconciled: Hand) -> None:
    reconciled.says(balance("ADA", "8", at_ms=T0_MS + 59_000))
    reconciled.says(position("net", "2", at_ms=T0_MS + 59_000))
    reconciled.connect()
    rest = found(
        balance("ADA", "5", at_ms=None, source="rest"), position("net", "3", at_ms=None, source="rest"), **OPEN
    )
    reconciled.catches_up(T0_MS, T0_MS + 60_000, rest)
    assert held(reconciled)["ADA"][0] == "5"
    assert legs(reconciled)["net"] == ("long", "3")


def test_a_push_after_rest_counts_even_where_rest_was_asked_later(reconciled: Hand) -> None:
    """REST was behind: what was pushed while it was asked comes out behind it."""
    reconciled.connect()
    reconciled.catches_up(T0_MS, T0_MS + 60_000, found(balance("ADA", "5", at_ms=None, source="rest"), **OPEN))
    reconciled.says(balance("ADA", "8", at_ms=T0_MS + 58_000))
    assert held(reconciled)["ADA"][0] == "8"


def test_assets_that_are_zero_are_not_told_unless_they_were_something(reconciled: Hand) -> None:
    reconciled.says(balance("ADA", "5", "5", locked="0"))
    rest = found(balance("XRP", "0.000", "0", at_ms=None, source="rest"), all_balances=True, **OPEN)
    reconciled.catches_up(T0_MS, T0_MS + 60_000, rest)
    assert held(reconciled) == {"ADA": ("0", "0")}


def test_three_legs_are_three_positions(reconciled: Hand) -> None:
    reconciled.says(position("net", "0"), position("long", "0"), position("short", "0"))
    assert legs(reconciled) == {"net": (None, "0"), "long": (None, "0"), "short": (None, "0")}


def test_the_empty_leg_does_not_hide_the_other_whatever_comes_first(reconciled: Hand) -> None:
    reconciled.says(position("short", "3340"), position("long", "0"))
    reconciled.says(position("long", "0", at_ms=T0_MS + 1), position("short", "3340", at_ms=T0_MS + 1))
    assert legs(reconciled) == {"short": ("short", "3340"), "long": (None, "0")}
    assert len(reconciled.of(Position)) == 2


def test_a_position_that_the_venue_no_longer_lists_is_flat(reconciled: Hand) -> None:
    reconciled.says(position("long", "2", entry_price="5", size_native="20"), position("short", "1"))
    rest = found(position("short", "1", at_ms=T0_MS, source="rest"), **OPEN)
    reconciled.catches_up(T0_MS, T0_MS + 60_000, rest)
    last = reconciled.of(Position)[-1]
    assert (last.leg, last.side, last.size, last.size_native, last.source) == ("long", None, "0", "0", "rest")
    assert (last.symbol, last.native_symbol, last.entry_price) == ("ADA/USDT:USDT", "ADAUSDT", None)


def test_a_position_that_was_just_pushed_is_not_flat_for_rest_being_behind(reconciled: Hand) -> None:
    reconciled.says(position("long", "2", at_ms=T0_MS + 59_000))
    outcome = reconciled.catches_up(T0_MS, T0_MS + 60_000, found(**OPEN))
    assert (legs(reconciled), outcome.stale) == ({"long": ("long", "2")}, 1)


def test_flat_positions_that_were_never_told_are_not(reconciled: Hand) -> None:
    reconciled.catches_up(T0_MS, T0_MS + 60_000, found(position("net", "0.000", at_ms=None, source="rest"), **OPEN))
    assert reconciled.of(Position) == []


def test_an_older_position_is_stale_also_in_rest(reconciled: Hand) -> None:
    reconciled.says(position("net", "2", at_ms=T0_MS + 9))
    assert reconciled.says(position("net", "1", at_ms=T0_MS + 3)).stale == 1
    reconciled.connect()
    rest = found(position("net", "1", at_ms=T0_MS + 3, source="rest"), **OPEN)
    assert reconciled.catches_up(T0_MS, T0_MS + 60_000, rest).stale == 1
    assert legs(reconciled)["net"] == ("long", "2")


def test_holdings_survive_a_restart(reconciled: Hand) -> None:
    reconciled.says(balance("ADA", "4"), position("net", "2"))
    reconciled.restart()
    reconciled.says(changes=[balance("ADA", None, at_ms=T0_MS + 1, change="1")])
    assert reconciled.says(position("net", "2.0", at_ms=T0_MS + 1)).duplicates == 1
    assert held(reconciled)["ADA"][0] == "5"
