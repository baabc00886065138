"""Numbers, whatever they are."""

import re
from decimal import Decimal
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from shared.numbers import (
    NumberError,
    are_plain,
    divide,
    is_plain,
    is_zero,
    multiply,
    optional,
    plain,
    scaled,
    unsigned,
)

PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")

numbers = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30)
spelled = st.one_of(
    numbers.map(str),
    numbers.map(lambda number: format(number, "e")),
    st.from_regex(r"[+-]?([0-9]{1,30}(\.[0-9]{0,20})?|\.[0-9]{1,20})([eE][+-]?[0-9]{1,2})?", fullmatch=True),
)
sizes = st.from_regex(r"[0-9]{1,20}(\.[0-9]{1,16})?", fullmatch=True)


@given(spelled)
@example("-0e5")
@example("1e-79")
@example("0e80")
@example("00.10")
def test_plain_keeps_the_value(text: str) -> None:
    """Equal as a number, never an exponent, and plain already the second time."""
    try:
        result = plain(text)
    except NumberError:
        digits = format(Decimal(text), "f").lstrip("-").replace(".", "")
        assert len(digits) > 80
        return
    assert Decimal(result) == Decimal(text)
    assert PLAIN.fullmatch(result)
    assert plain(result) == result
    assert plain(Decimal(text)) in {result, plain(format(Decimal(text), "f"))}


@given(numbers)
def test_decimals_become_plain(number: Decimal) -> None:
    """The same for what a decoder made of a JSON number."""
    try:
        result = plain(number)
    except NumberError:
        assert len(format(number, "f").lstrip("-").replace(".", "")) > 80
        return
    assert Decimal(result) == number
    assert PLAIN.fullmatch(result)


@given(st.text())
@example("1_0")
@example("\u0661")
@example("1\n")
def test_no_other_text_passes(text: str) -> None:
    """What comes out is plain ASCII, or nothing does."""
    for accept in (plain, unsigned, optional):
        try:
            result = accept(text)
        except NumberError:
            continue
        assert result is None or (PLAIN.fullmatch(result) and result.isascii() and len(result) <= 90)
        assert result is not None or text == ""


@given(spelled)
def test_unsigned_is_plain_without_a_sign(text: str) -> None:
    """And refuses just what is negative."""
    try:
        wanted = plain(text)
    except NumberError:
        return
    try:
        assert unsigned(text) == wanted
        assert is_plain(wanted) or len(wanted) > 40
    except NumberError:
        assert wanted.startswith("-")


@given(st.from_regex(r"[0-9]{1,9}(\.[0-9]{1,9})?", fullmatch=True))
def test_zero_is_zero(text: str) -> None:
    """However it is spelled."""
    assert is_zero(text) == (Decimal(text) == 0)


@given(sizes, sizes)
def test_products_are_exact(text: str, factor: str) -> None:
    """Not a digit is lost."""
    product = multiply(text, Decimal(factor))
    assert Fraction(product) == Fraction(text) * Fraction(factor)
    assert PLAIN.fullmatch(product)
    assert "." not in product or not product.endswith("0")


@given(sizes, sizes.filter(lambda text: Decimal(text) != 0))
@example("1", "2000000000000")
@example("3", "2000000000000")
@example("99999999999999999999.9999999999999999", "0.0000000000000001")
def test_quotients_are_rounded_once(text: str, divisor: str) -> None:
    """Half-even to 12 decimal places of the exact quotient."""
    exact = Fraction(text) / Fraction(divisor)
    assert Fraction(divide(text, divisor)) == Fraction(round(exact * 10**12), 10**12)


@given(st.integers(0, 10**18), st.integers(0, 10**9), st.integers(0, 12))
@example(1_000, 1, 3)
@example(0, 5, 2)
@example(7, 10, 1)
def test_scaled_is_the_exact_product(whole: int, mantissa: int, places: int) -> None:
    assert scaled(whole, mantissa, places) == multiply(str(whole), Decimal(mantissa).scaleb(-places))


@given(
    st.lists(spelled | st.text(max_size=4) | st.sampled_from(["1", "0.5", "12.50", "1,2", "", "0", "00"]), max_size=8)
)
@example([])
@example(["1,2", "3"])
@example([""])
def test_many_are_plain_if_each_is(texts: list[str]) -> None:
    assert are_plain(texts) is all(map(is_plain, texts))
