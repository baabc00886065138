"""Which instrument goes on which connection when a connection has room for only a few.

Rendezvous hashing (as in :mod:`shared.exchanges.sharding`) with bounded loads: in the order of the list, each symbol
takes the stream that scores it highest among those with room. At four to seven instruments a stream, hashing without
the bound would need four streams for what one carries, since every stream must hold the unluckiest share.

A symbol at the end of the list moves no other; one in the middle that comes or goes moves a few. The number of streams
grows by an eighth at a time, so that a listing seldom changes it.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import blake2b
from math import ceil
from typing import Final

__all__ = ["pack"]

FILL: Final = 0.9
"""How full streams may be on average: with less air a symbol would seldom get the stream that scores it highest."""


def pack(symbols: Sequence[str], streams: int, room: int) -> list[list[str]]:
    """One list per stream, none empty, none longer than ``room``, each in the order of ``symbols``.

    At least ``streams`` lists where there are as many symbols.
    """
    count = min(len(symbols), max(streams, _enough(ceil(len(symbols) / (room * FILL)))))
    sizes = [0] * count
    homes: dict[str, int] = {}
    for symbol in symbols:
        home = max((one for one in range(count) if sizes[one] < room), key=partial(_score, symbol))
        homes[symbol] = home
        sizes[home] += 1
    _fill_empty(homes, sizes)
    shares: list[list[str]] = [[] for _ in range(count)]
    for symbol in symbols:
        shares[homes[symbol]].append(symbol)
    return shares


def _score(symbol: str, stream: int) -> bytes:
    return blake2b(f"{stream}:{symbol}".encode(), digest_size=8).digest()


def _steps() -> Iterator[int]:
    step = 1
    while True:
        yield step
        step += max(1, step // 8)


def _enough(needed: int) -> int:
    return next(step for step in _steps() if step >= needed)


def _fill_empty(homes: dict[str, int], sizes: list[int]) -> None:
    for stream, size in enumerate(sizes):
        if size:
            continue
        donors = [symbol for symbol, home in homes.items() if sizes[home] > 1]
        taken = max(donors, key=partial(_score_on, stream))
        sizes[homes[taken]] -= 1
        homes[taken] = stream
        sizes[stream] = 1


def _score_on(stream: int, symbol: str) -> bytes:
    return _score(symbol, stream)
