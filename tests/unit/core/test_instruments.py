"""Instruments under one naming convention."""

from decimal import Decimal

import pytest
from msgspec.structs import replace

from shared.errors import ParseError
from shared.exchanges.levels import base_size, book_levels, number, validated
from shared.instruments import InstrumentTable, unified_symbol
from tests.unit.core.making import BTC, COIN, ETH


def test_unified_symbols() -> None:
    """Spot, perpetual and dated contracts, as ccxt writes them."""
    assert unified_symbol("BTC", "USDT") == "BTC/USDT"
    assert unified_symbol("BTC", "USDT", "USDT") == "BTC/USDT:USDT"
    assert unified_symbol("BTC", "USD", "BTC", "261225") == "BTC/USD:BTC-261225"


def test_newer_list_replaces_and_forgets_nothing() -> None:
    """The newest listing wins, and what is missing from it stays known."""
    table = InstrumentTable([BTC, ETH])
    halted = replace(BTC, active=False)
    table.update([halted])
    assert table.get("BTCUSDT") is halted
    assert table.get("ETHUSDT") is ETH
    assert table.get("XRPUSDT") is None
    assert (len(table), list(table)) == (2, [halted, ETH])


def test_sizes_become_base_units() -> None:
    """Contracts count by what they stand for, inverse ones at the price."""
    assert base_size(BTC, "0.50", "64000") == "0.50"
    assert base_size(replace(BTC, contract_size="0.001"), "250", "64000") == "0.25"
    assert base_size(COIN, "32", "64000") == "0.05"
    assert COIN.multiplier == Decimal(100)


def test_venue_sizes_stay_beside_base_units() -> None:
    """Where both differ a level says both."""
    assert book_levels(BTC, [("1", "2")], []) == ([("1", "2")], [], None, None)
    assert book_levels(COIN, [("50", "2")], [("100", "0")]) == ([("50", "4")], [("100", "0")], ["2"], ["0"])


@pytest.mark.parametrize(("size", "price"), [("1" + "0" * 79, "1"), ("1", "0")])
def test_sizes_that_no_number_can_hold_are_bad_numbers(size: str, price: str) -> None:
    """They reject the frame as bad data, also where contracts are not inverse."""
    with pytest.raises(ParseError, match="bad_number: size"):
        base_size(COIN, size, price)
    with pytest.raises(ParseError, match="bad_number: size"):
        base_size(replace(BTC, contract_size="10"), "1" + "0" * 79, price)


def test_levels_are_validated() -> None:
    """Plain numbers pass, others are rewritten, further columns are ignored."""
    assert validated([("1.0", "2"), (Decimal("1e-3"), "3e2", "7")], "bids") == [("1.0", "2"), ("0.001", "300")]
    with pytest.raises(ParseError, match="wrong_type: asks: a level had 1 columns"):
        validated([("1",)], "asks")
    with pytest.raises(ParseError, match="bad_number: asks size: 'NaN'"):
        validated([("1", "NaN")], "asks")
    with pytest.raises(ParseError, match="bad_number: price: '-1' must not be negative"):
        number("-1", "price")
