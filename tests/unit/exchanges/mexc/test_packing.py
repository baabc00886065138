from hypothesis import given
from hypothesis import strategies as st

from shared.exchanges.mexc.packing import pack

SYMBOLS = st.lists(st.text("ABCDEFGH", min_size=1, max_size=6), unique=True, min_size=1, max_size=60)


@given(SYMBOLS, st.integers(1, 9), st.integers(1, 8))
def test_every_symbol_has_one_place_and_no_list_is_empty_or_too_long(
    symbols: list[str], streams: int, room: int
) -> None:
    shares = pack(symbols, streams, room)
    assert sorted(symbol for share in shares for symbol in share) == sorted(symbols)
    assert all(0 < len(share) <= room for share in shares)
    assert len(shares) >= min(streams, len(symbols))
    for share in shares:
        assert share == sorted(share, key=symbols.index)


@given(SYMBOLS)
def test_plans_do_not_depend_on_chance(symbols: list[str]) -> None:
    assert pack(symbols, 3, 4) == pack(list(symbols), 3, 4)


def homes(symbols: list[str], room: int) -> dict[str, int]:
    return {symbol: index for index, share in enumerate(pack(symbols, 1, room)) for symbol in share}


def test_connections_are_used_well() -> None:
    symbols = [f"COIN{index}_USDT" for index in range(399)]
    for room in (4, 7):
        least = -(-len(symbols) // room)
        assert len(pack(symbols, 1, room)) <= least * 1.26


def test_symbol_that_goes_moves_few_others() -> None:
    symbols = [f"COIN{index}_USDT" for index in range(120)]
    before = homes(symbols, 4)
    moved = 0
    for gone in range(1, 120, 7):
        after = homes(symbols[:gone] + symbols[gone + 1 :], 4)
        moved += sum(before[symbol] != home for symbol, home in after.items())
    assert moved / 17 < 5


def test_symbol_at_the_end_moves_no_other_while_the_streams_are_as_many() -> None:
    symbols = [f"COIN{index}_USDT" for index in range(110)]
    before, after = homes(symbols[:-1], 4), homes(symbols, 4)
    assert max(before.values()) == max(after.values())
    assert {symbol: after[symbol] for symbol in before} == before
