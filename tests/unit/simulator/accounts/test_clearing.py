from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.simulator.accounts.amounts import base_size, fixed, margin_of, plain
from services.simulator.accounts.clearing import cleared
from services.simulator.accounts.records import PositionRecord
from tests.unit.simulator.client import instrument

LINEAR = instrument("bybit", "linear", "BTCUSDT")
INVERSE = instrument("bybit", "inverse", "BTCUSD")
CONTRACTS = instrument("mexc", "futures", "BTC_USDT")
Trades = list[tuple[int, int]]


def traded(start: PositionRecord, trades: Trades) -> tuple[PositionRecord, Decimal]:
    position, total = start, Decimal(0)
    for number, (lots, tick) in enumerate(trades, 1):
        position, realized, _ = cleared(position, lots, tick, number, number)
        total += realized
    return position, total


def flat(of: str = "linear") -> PositionRecord:
    return PositionRecord({"linear": LINEAR, "inverse": INVERSE, "futures": CONTRACTS}[of], "net", 1)


def test_adding_averages_the_entry_and_a_close_keeps_it() -> None:
    position, earned = traded(flat(), [(10, 800_000), (30, 820_000), (-20, 830_000)])
    assert (position.lots, position.entry, position.closed_lots) == (20, Decimal(81500), 20)
    assert earned == position.realized == Decimal("0.02") * 1500


def test_a_position_that_turns_opens_anew_and_a_flat_one_forgets() -> None:
    turned, earned = traded(flat(), [(10, 800_000), (-15, 790_000)])
    assert (turned.lots, turned.entry) == (-5, Decimal(79000))
    assert earned == Decimal("0.01") * -1000
    again, _ = traded(turned, [(5, 780_000), (7, 770_000)])
    assert (again.lots, again.entry, again.realized) == (7, Decimal(77000), Decimal(0))
    assert again.total_realized == earned + Decimal("0.005") * 1000


def test_an_inverse_contract_earns_in_its_coin() -> None:
    position, earned = traded(flat("inverse"), [(1000, 100_000), (-1000, 200_000)])
    assert not position.lots
    assert earned == (Decimal(1000) / 50_000 - Decimal(1000) / 100_000).quantize(Decimal("1e-8"))
    short, lost = traded(flat("inverse"), [(-1000, 100_000), (1000, 200_000)])
    assert not short.lots
    assert lost == -earned


def test_contracts_count_by_their_size() -> None:
    _, earned = traded(flat("futures"), [(100, 800_000), (-100, 810_000)])
    assert earned == Decimal("0.01") * 1000
    assert base_size(CONTRACTS, 250, None) == Decimal("0.025")
    assert base_size(INVERSE, 250, None) is None
    assert base_size(INVERSE, 250, 173_440) == Decimal("0.002882841328")


@given(st.lists(st.tuples(st.integers(-50, 50).filter(bool), st.integers(700_000, 900_000)), min_size=1, max_size=30))
def test_what_is_earned_and_what_is_still_held_come_to_what_the_trades_cost(trades: Trades) -> None:
    position, earned = traded(flat(), trades)
    paid = sum(Decimal(lots) / 1000 * Decimal(tick) / 10 for lots, tick in trades)
    held = Decimal(position.lots) / 1000 * position.entry
    assert position.lots == sum(lots for lots, _ in trades)
    assert abs(held - paid - earned) < Decimal("0.00001")


@pytest.mark.parametrize(
    ("amount", "text"), [("0", "0"), ("-0.0", "0"), ("1E+5", "100000"), ("1.500", "1.5"), ("84", "84")]
)
def test_amounts_are_written_without_exponent_and_idle_zeros(amount: str, text: str) -> None:
    assert plain(Decimal(amount)) == text


def test_fixed_places_cut_off_and_margins_round_up() -> None:
    assert fixed(Decimal("1.239"), 2) == "1.23"
    assert fixed(Decimal(2), 8) == "2.00000000"
    assert margin_of(Decimal(1), 3) == Decimal("0.33333334")
