import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, json

from shared.errors import ParseError
from shared.exchanges.levels import proved_levels, proved_pairs, validated
from shared.exchanges.mexc.futures_levels import Sizes, levels_of
from shared.instruments import Instrument, InstrumentKind

TEXT = st.one_of(
    st.from_regex(r"[0-9]{1,5}(\.[0-9]{1,5})?", fullmatch=True),
    st.sampled_from(["", "0", ".5", "5.", "1,2", "-1", "1e3", "\u0661", "NaN", '"', "1.2.3", "9" * 40, "9" * 41, " 1"]),
)
PAIRS = st.lists(st.tuples(TEXT, TEXT), max_size=4)

CONTRACT = Instrument(
    "mexc", "futures", "BTC/USDT:USDT", "BTC_USDT", "BTC", "USDT", "USDT", InstrumentKind.PERPETUAL, "0.0001"
)


def outcome(read: object) -> object:
    assert callable(read)
    try:
        return json.decode(json.encode(read()))
    except ParseError as error:
        return error.code


@given(PAIRS)
def test_proof_of_a_whole_side_says_the_same_as_number_by_number(pairs: list[tuple[str, str]]) -> None:
    expected = outcome(lambda: validated(pairs, "bids"))
    assert outcome(lambda: proved_pairs(list(pairs), "bids")) == expected
    assert outcome(lambda: proved_levels(Raw(json.encode(pairs)), "bids")) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [('[["1"]]', "wrong_type"), ('[["1","x"]]', "bad_number"), ("{}", "wrong_type"), ("[1]", "wrong_type")],
)
def test_what_is_no_side_is_rejected(text: str, code: str) -> None:
    assert outcome(lambda: proved_levels(Raw(text), "bids")) == code


NUMBER = st.sampled_from(["0", "1", "12", "0.5", "1E+2", "5e-1", "100", "-1", '"7"', '"x"', "null", "9" * 41])


@given(st.lists(st.tuples(NUMBER, NUMBER), max_size=4))
def test_sides_of_contracts_say_the_same_as_number_by_number(pairs: list[tuple[str, str]]) -> None:
    plain = "[" + ",".join(f"[{price},{size},1]" for price, size in pairs) + "]"
    spaced = "[" + ",".join(f"[ {price},{size},1]" for price, size in pairs) + "]"  # never taken for plain

    def read(side: str) -> object:
        return outcome(lambda: levels_of(CONTRACT, Sizes(CONTRACT), Raw(side), Raw("[]")))

    assert read(plain) == read(spaced)
