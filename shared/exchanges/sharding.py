"""Which instrument goes on which stream: rendezvous hashing, so that streams keep theirs when the list changes.

Thaler and Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM Transactions on Networking 6(1),
1998: every stream scores every symbol, the highest score has it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b

__all__ = ["share", "share_within"]


def share(symbols: Sequence[str], streams: int) -> list[list[str]]:
    """One list per stream, each in the order of ``symbols``; no list is empty while there are enough symbols.

    A symbol that comes or goes moves no other, unless there are so few that a stream would stand empty.
    """
    assignment = _Assignment(symbols, max(1, streams))
    assignment.fill_empty()
    return assignment.shares()


def share_within(symbols: Sequence[str], streams: int, fits: Callable[[list[str]], bool]) -> list[list[str]]:
    """As :func:`share`, over as many more streams as it takes until every list ``fits`` one connection."""
    assignment = _Assignment(symbols, max(1, streams))
    while assignment.streams < len(symbols) and not all(map(fits, assignment.shares())):
        assignment.add_stream()
    assignment.fill_empty()
    return assignment.shares()


def _score(stream: int, symbol: str) -> bytes:
    return blake2b(f"{stream}:{symbol}".encode(), digest_size=8).digest()


class _Assignment:
    """Best stream of every symbol; one more stream costs one score per symbol."""

    def __init__(self, symbols: Sequence[str], streams: int) -> None:
        self.streams = 0
        self._symbols = symbols
        self._best: dict[str, tuple[bytes, int]] = dict.fromkeys(symbols, (b"", 0))
        for _ in range(streams):
            self.add_stream()

    def add_stream(self) -> None:
        stream = self.streams
        for symbol, best in self._best.items():
            score = _score(stream, symbol)
            if score > best[0]:
                self._best[symbol] = score, stream
        self.streams += 1

    def fill_empty(self) -> None:
        """Streams without any symbol take the one that scores them highest, of those that can be spared."""
        sizes = [0] * self.streams
        for _, stream in self._best.values():
            sizes[stream] += 1
        for stream in range(self.streams):
            if sizes[stream]:
                continue
            spared = [symbol for symbol, (_, home) in self._best.items() if sizes[home] > 1]
            if not spared:
                return
            taken = max(spared, key=partial(_score, stream))
            sizes[self._best[taken][1]] -= 1
            sizes[stream] = 1
            self._best[taken] = _score(stream, taken), stream

    def shares(self) -> list[list[str]]:
        shares: list[list[str]] = [[] for _ in range(self.streams)]
        for symbol in self._symbols:
            shares[self._best[symbol][1]].append(symbol)
        return shares
