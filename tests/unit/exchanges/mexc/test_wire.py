from decimal import Decimal

import pytest
from msgspec import Raw, Struct, json

from shared.errors import ParseError
from shared.exchanges.base import Output
from shared.exchanges.mexc.wire import SECOND, decoded, each, nanoseconds, optional_number, price_or_none, text, whole


class Point(Struct):
    x: int
    y: str = ""


decode = json.Decoder(Point).decode
decode_all = json.Decoder(list[Point]).decode
decode_raw = json.Decoder(list[Raw]).decode


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "invalid_json"),
        (b'{"x":1', "invalid_json"),
        (b'{"x":NaN}', "invalid_json"),
        (b'{"x":1,"y":"\xff"}', "invalid_json"),
        (b'{"x":1,"z":' + b"[" * 100_000, "invalid_json"),
        (b'{"y":"a"}', "missing_field"),
        (b'{"x":"1"}', "wrong_type"),
        (b"[]", "wrong_type"),
    ],
)
def test_what_cannot_be_decoded_has_a_bounded_code(data: bytes, code: str) -> None:
    with pytest.raises(ParseError) as caught:
        decoded(decode, data)
    assert caught.value.code == code


def test_elements_are_isolated() -> None:
    output = Output()
    deep = b'{"x":4,"z":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    good = each(Raw(b'[{"x":1},{"x":"2"},{"y":"3"},' + b'{"x":5}]'), decode_all, decode_raw, decode, output)
    assert [point.x for point in good] == [1, 5]
    assert [rejection.code for rejection in output.rejections] == ["wrong_type", "missing_field"]
    with pytest.raises(ParseError, match="invalid_json"):
        each(Raw(b'[{"x":1},' + deep + b"]"), decode_all, decode_raw, decode, output)


def test_array_that_is_none_is_refused_whole() -> None:
    with pytest.raises(ParseError, match="wrong_type"):
        each(Raw(b'{"x":1}'), decode_all, decode_raw, decode, Output())


def test_times() -> None:
    assert nanoseconds(1_790_000_000_123) == 1_790_000_000_123_000_000
    assert nanoseconds(1_790_000_040, SECOND) == 1_790_000_040_000_000_000
    assert nanoseconds(None) is None
    assert nanoseconds(0) is None
    for wrong in (-1, 2**60, 10**30):
        with pytest.raises(ParseError, match="bad_time"):
            nanoseconds(wrong)


def test_sequence_numbers() -> None:
    assert whole("0", "version") == 0
    assert whole("9223372036854775807", "version") == 2**63 - 1
    with pytest.raises(ParseError, match="missing_field: version was empty"):
        whole("", "version")
    for wrong in ("-1", "1.0", " 1", "1e3", "٣", "²", "9223372036854775808", "9" * 40):
        with pytest.raises(ParseError, match="bad_number"):
            whole(wrong, "version")


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (b"7.548E+4", "7.548E+4"),
        (b'"12.50"', '"12.50"'),
        (b"null", ""),
        (b'""', ""),
        (b"true", "true"),
        ('"\uff11"'.encode(), '"ï¼\x91"'),
    ],
)
def test_text_of_a_number(token: bytes, expected: str) -> None:
    assert text(Raw(token)) == expected


def test_numbers_that_may_be_absent() -> None:
    assert optional_number("", "volume") is None
    assert optional_number("7.50E+1", "volume") == "75.0"
    assert price_or_none("0.000", "bid") is None
    assert price_or_none("0.001", "bid") == "0.001"
    for wrong in ("NaN", "-1", "[]", "1e999"):
        with pytest.raises(ParseError, match="bad_number: volume"):
            optional_number(wrong, "volume")


def test_numbers_keep_every_digit() -> None:
    digits = "1.234567890123456789012345678901234567890"
    assert Decimal(optional_number(digits, "price") or "0") == Decimal(digits)
