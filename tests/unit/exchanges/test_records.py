import pytest

from shared.accounts.messages import OrderStatus
from shared.errors import ParseError
from shared.exchanges.bybit.symbols import named
from shared.exchanges.records import amount, base_or_none, each, known, nothing, positive, quantity, remaining
from shared.instruments import Instrument


def instrument(product: str, native_symbol: str) -> Instrument:
    found = named(product, native_symbol)
    assert found is not None
    return found


LINEAR, INVERSE = instrument("linear", "SOLUSDT"), instrument("inverse", "BTCUSD")


@pytest.mark.parametrize(
    ("value", "wanted"), [("", None), (None, None), ("0", "0"), ("-1.50", "-1.50"), ("2e-3", "0.002")]
)
def test_amount_that_is_not_told_is_not_zero(value: str | None, wanted: str | None) -> None:
    assert amount(value, "x") == wanted


@pytest.mark.parametrize(("value", "wanted"), [("", None), (None, None), ("0.00", None), ("1.50", "1.50")])
def test_price_of_zero_is_none(value: str | None, wanted: str | None) -> None:
    assert positive(value, "x") == wanted


@pytest.mark.parametrize("value", ["NaN", "Infinity", "many", "1,5"])
def test_what_is_no_number_is_rejected_by_name(value: str) -> None:
    for read in (amount, positive, quantity):
        with pytest.raises(ParseError, match="bad_number: walletBalance"):
            read(value, "walletBalance")


@pytest.mark.parametrize("value", ["0", "0.000", "-1", ""])
def test_quantity_is_above_zero(value: str) -> None:
    with pytest.raises(ParseError, match="bad_number"):
        quantity(value, "execQty")


def test_base_units() -> None:
    assert base_or_none(LINEAR, "12.50", None) == "12.50"
    assert base_or_none(LINEAR, None, "3") is None
    assert base_or_none(INVERSE, "100", "40000") == "0.0025"
    assert base_or_none(INVERSE, "100", None) is None
    assert base_or_none(INVERSE, "0", None) == "0"


@pytest.mark.parametrize(
    ("status", "size", "told", "wanted"),
    [
        ("new", "10", "9", "9"),
        ("new", "10", None, "7"),
        ("new", None, "9", "9"),
        ("canceled", "10", "0", "7"),
        ("canceled", None, "0", None),
        ("filled", "2", None, "0"),
    ],
)
def test_remaining_is_what_was_left_once_an_order_is_final(
    status: OrderStatus, size: str | None, told: str | None, wanted: str | None
) -> None:
    assert remaining(status, size, "3", told) == wanted


def test_value_that_decides_has_to_be_known() -> None:
    assert known({"New": "new"}, "New", "status") == "new"
    with pytest.raises(ParseError, match="unknown_event: status was 'new'"):
        known({"New": "new"}, "new", "status")


def test_bad_row_does_not_take_the_others_with_it() -> None:
    found, taken = nothing(), []

    def take(row: str) -> None:
        taken.append(quantity(row, "row"))

    each(["1", "zero", "2"], take, found)
    assert taken == ["1", "2"]
    assert [rejection.code for rejection in found.rejections] == ["bad_number"]
