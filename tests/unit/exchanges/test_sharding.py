from collections import Counter

import pytest

from shared.exchanges.sharding import share, share_within

SYMBOLS = [f"COIN{index}USDT" for index in range(400)]


def homes(shares: list[list[str]]) -> dict[str, int]:
    return {symbol: stream for stream, symbols in enumerate(shares) for symbol in symbols}


@pytest.mark.parametrize("streams", [1, 2, 3, 7])
def test_every_symbol_has_one_stream(streams: int) -> None:
    shares = share(SYMBOLS, streams)
    assert len(shares) == streams
    assert Counter(symbol for symbols in shares for symbol in symbols) == Counter(SYMBOLS)


def test_shares_keep_the_order_of_the_list() -> None:
    for symbols in share(SYMBOLS, 3):
        assert symbols == [symbol for symbol in SYMBOLS if symbol in set(symbols)]


def test_shares_are_about_equal() -> None:
    assert all(70 <= len(symbols) <= 130 for symbols in share(SYMBOLS, 4))


def test_order_of_the_list_moves_nothing() -> None:
    assert homes(share(SYMBOLS, 4)) == homes(share(SYMBOLS[::-1], 4))


def test_symbol_that_comes_or_goes_moves_no_other() -> None:
    with_one_more = homes(share([*SYMBOLS, "NEWUSDT"], 4))
    assert with_one_more.pop("NEWUSDT") in range(4)
    assert with_one_more == homes(share(SYMBOLS, 4))
    without = homes(share(SYMBOLS[1:], 4))
    assert without == {symbol: stream for symbol, stream in homes(share(SYMBOLS, 4)).items() if symbol in without}


def test_one_more_stream_takes_from_all_and_moves_nothing_between_them() -> None:
    before, after = homes(share(SYMBOLS, 4)), homes(share(SYMBOLS, 5))
    moved = {symbol for symbol in SYMBOLS if before[symbol] != after[symbol]}
    assert {after[symbol] for symbol in moved} == {4}
    assert {before[symbol] for symbol in moved} == {0, 1, 2, 3}


@pytest.mark.parametrize("count", range(1, 12))
def test_no_stream_stands_empty_while_there_are_symbols(count: int) -> None:
    for streams in range(1, count + 1):
        assert all(share(SYMBOLS[:count], streams)), f"{count} symbols on {streams} streams"


def test_fewer_symbols_than_streams_are_one_each() -> None:
    assert sorted(map(len, share(SYMBOLS[:3], 5))) == [0, 0, 1, 1, 1]


def test_nothing_to_share() -> None:
    assert share([], 3) == [[], [], []]
    assert share(SYMBOLS[:2], 0) == [SYMBOLS[:2]]


def test_streams_are_added_until_each_fits() -> None:
    shares = share_within(SYMBOLS, 2, lambda symbols: len(symbols) <= 50)
    assert max(map(len, shares)) <= 50
    assert len(shares) >= 8
    assert shares == share(SYMBOLS, len(shares))
    assert share_within(SYMBOLS, 2, lambda symbols: len(symbols) <= 400) == share(SYMBOLS, 2)


def test_symbol_that_never_fits_stands_alone() -> None:
    shares = share_within(SYMBOLS[:5], 1, lambda symbols: not symbols)
    assert [len(symbols) for symbols in shares] == [1] * 5
