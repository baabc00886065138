"""Decimal text in, plain decimal text out."""

from decimal import Decimal

import pytest
from msgspec import DecodeError, json

from shared.numbers import (
    PROVED,
    PROVED_LIMIT,
    NumberError,
    add,
    divide,
    is_plain,
    is_zero,
    multiply,
    optional,
    plain,
    subtract,
    unsigned,
)


@pytest.mark.parametrize("text", ["0", "7", "0.10000000", "8750.0000", "0.0000001", "100000000000000000000.5"])
def test_plain_text_leaves_as_it_came(text: str) -> None:
    """Venue text that is plain already is not touched, trailing zeros included."""
    assert plain(text) == text
    assert is_plain(text)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("3e-7", "0.0000003"),
        ("3E+2", "300"),
        (Decimal("3e-7"), "0.0000003"),
        (Decimal("2.5E+3"), "2500"),
        (".5", "0.5"),
        ("5.", "5"),
        ("+12.50", "12.50"),
        ("-0.0003", "-0.0003"),
        ("-0", "0"),
        ("-0.000", "0.000"),
        (Decimal("-0"), "0"),
        (Decimal("0E+5"), "0"),
        ("0e999", "0"),
        ("007", "7"),
        ("00.50", "0.50"),
        ("000", "0"),
    ],
)
def test_other_spellings_become_plain(given: str | Decimal, wanted: str) -> None:
    """Exponents are written out, signs of zero and of plus fall away."""
    assert plain(given) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "nan",
        "sNaN",
        "Infinity",
        "-inf",
        "",
        " ",
        " 1",
        "1 ",
        "1\n",
        "1_000",
        "1,5",
        "0x10",
        "--1",
        "1e",
        "e5",
        ".",
    ],
)
def test_text_that_is_no_number_is_refused(text: str) -> None:
    """What Decimal() or float() would let pass for a number is none here."""
    with pytest.raises(NumberError, match="is not a finite decimal number"):
        plain(text)


@pytest.mark.parametrize("digits", ["\u0661\u0662", "\uff11\uff12", "\u09ea.\u09eb", "\u00b2"])
def test_digits_of_other_scripts_are_refused(digits: str) -> None:
    """Python takes these for digits, no consumer does."""
    assert not is_plain(digits)
    with pytest.raises(NumberError):
        plain(digits)


@pytest.mark.parametrize("value", ["NaN", "sNaN", "Infinity", "-Infinity"])
def test_decimals_that_are_not_finite_are_refused(value: str) -> None:
    """A Decimal may hold what must never get out."""
    with pytest.raises(NumberError):
        plain(Decimal(value))


@pytest.mark.parametrize(
    "bomb", ["1e9999", "1e-9999", "1E+80", "1e-80", "9" * 81, "9" * 1_000_000, "0." + "0" * 80, "0" * 300 + "1"]
)
def test_exponent_bombs_are_refused(bomb: str) -> None:
    """Twenty bytes must not become gigabytes: 80 digits are the limit."""
    with pytest.raises(NumberError, match="more than 80 digits"):
        plain(bomb)


@pytest.mark.parametrize("bomb", ["1E+999999999", "1E-999999999", "9" * 300])
def test_exponent_bombs_in_decimals_are_refused(bomb: str) -> None:
    """The same for what a JSON decoder made of them."""
    with pytest.raises(NumberError, match="more than 80 digits"):
        plain(Decimal(bomb))


@pytest.mark.parametrize("text", ["1e79", "-1e-79", "-" + "9" * 40 + "." + "9" * 40, "-1." + "2" * 40])
def test_eighty_digits_are_the_limit_for_every_spelling(text: str) -> None:
    """Digits of the plain form count, the same for both signs, with and without exponent."""
    assert Decimal(plain(text)) == Decimal(text)


def test_json_numbers_keep_every_digit() -> None:
    """A number of JSON decoded as Decimal comes out as it was written, however many digits it has."""
    row = json.decode(
        b'{"p":2.718281828459045235360287471352662497757,"q":300000000.98765432109,"s":4e-8}', type=dict[str, Decimal]
    )
    assert {name: plain(value) for name, value in row.items()} == {
        "p": "2.718281828459045235360287471352662497757",
        "q": "300000000.98765432109",
        "s": "0.00000004",
    }


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity"])
def test_bare_tokens_end_at_the_decoder(token: str) -> None:
    """JSON has no NaN: the frame is rejected before a number could be made of it."""
    with pytest.raises(DecodeError):
        json.decode(f'{{"bid":{token},"ask":1.0}}', type=dict[str, Decimal])


def test_signs() -> None:
    """Prices and sizes can't be negative; a negative zero is zero."""
    assert unsigned("-0.0") == "0.0"
    assert unsigned(Decimal("1e2")) == "100"
    with pytest.raises(NumberError, match="must not be negative"):
        unsigned("-0.01")


def test_empty_means_that_it_does_not_apply() -> None:
    """An empty or missing field is null, a broken one is not."""
    assert optional("") is None
    assert optional(None) is None
    assert optional("0.0100") == "0.0100"
    with pytest.raises(NumberError):
        optional(" ")


@pytest.mark.parametrize(
    ("text", "zero"), [("0", True), ("0.0", True), ("0.00000000", True), ("000", True), ("0.001", False), ("10", False)]
)
def test_zero_in_every_spelling(text: str, zero: bool) -> None:  # noqa: FBT001 - parametrized
    """A size of 0 deletes a level, however it is written."""
    assert is_zero(text) is zero


@pytest.mark.parametrize(
    ("text", "factor", "product"),
    [("3", "0.0001", "0.0003"), ("2.50", "4", "10"), ("0", "0.01", "0"), ("120", "100", "12000"), ("7", "1E+2", "700")],
)
def test_products(text: str, factor: str, product: str) -> None:
    """Exact, without trailing zeros after the point."""
    assert multiply(text, Decimal(factor)) == product


def test_product_over_the_limit_is_refused() -> None:
    """A product is never rounded to make it fit."""
    with pytest.raises(NumberError):
        multiply("9" * 79, Decimal("0.0011"))


@pytest.mark.parametrize(
    ("text", "divisor", "quotient"),
    [
        ("100", "64000", "0.0015625"),
        ("1", "3", "0.333333333333"),
        ("2", "3", "0.666666666667"),
        ("200000000000000000", "0.001", "200000000000000000000"),
        ("0", "5", "0"),
        ("1", "2000000000000", "0"),
        ("3", "2000000000000", "0.000000000002"),
    ],
)
def test_quotients(text: str, divisor: str, quotient: str) -> None:
    """Rounded half-even to 12 places, whatever the size of the number."""
    assert divide(text, divisor) == quotient


def test_quotient_is_rounded_once() -> None:
    """A middle goes to the even neighbour; what lies only just above it is rounded up."""
    assert divide("5", "1" + "0" * 13) == "0"
    assert divide("5" + "0" * 38 + "1", "1" + "0" * 52) == "0.000000000001"


@pytest.mark.parametrize("divisor", ["0", "0.000"])
def test_division_by_zero_is_a_number_error(divisor: str) -> None:
    """A price of zero is bad data, not a defect."""
    with pytest.raises(NumberError, match="cannot be divided by"):
        divide("1", divisor)


def test_what_was_proved_is_remembered() -> None:
    """Only plain text is, and only so much of it."""
    for text in ("31.4150", "314e-1", "-0"):
        unsigned(text)
    with pytest.raises(NumberError):
        unsigned("31_4")
    assert [text in PROVED for text in ("31.4150", "314e-1", "-0", "31_4")] == [True, False, False, False]
    for number in range(PROVED_LIMIT + 1):
        unsigned(f"{number}.25")
    assert len(PROVED) <= PROVED_LIMIT


@pytest.mark.parametrize(
    ("text", "other", "total", "difference"),
    [
        ("1.50", "0.25", "1.75", "1.25"),
        ("0.1", "0.1", "0.2", "0.0"),
        ("-0.3", "0.3", "0.0", "-0.6"),
        (
            "123456789012345678901234567890.1",
            "0.00000000000000000001",
            "123456789012345678901234567890.10000000000000000001",
            "123456789012345678901234567890.09999999999999999999",
        ),
    ],
)
def test_sums_and_differences_are_exact(text: str, other: str, total: str, difference: str) -> None:
    assert add(text, other) == total
    assert subtract(text, other) == difference
