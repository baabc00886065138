"""Canonical messages as a consumer reads them: the documented JSON, and nothing of Tidegate's code."""

from typing import Final

from msgspec import Struct, json

__all__ = [
    "BOOK_FEEDS",
    "ONCE_FEEDS",
    "STATUS",
    "Held",
    "Holding",
    "Identity",
    "Item",
    "decode_holdings",
    "decode_items",
]

Identity = tuple[int, int, int]
"""(epoch, frame, part): a consumer drops what is not above the last one of its stream and routing key."""

STATUS: Final = "stream_status"
BOOK_FEEDS: Final = frozenset({"book_snapshot", "book_delta"})
ONCE_FEEDS: Final = frozenset({"trade", "liquidation"})
"""Feeds whose messages each tell something that nothing later tells again."""


class Item(Struct, gc=False):
    """The fields of a message that the checker judges; whatever else there is does not matter to it."""

    feed: str
    symbol: str | None
    native_symbol: str | None
    stream: str
    epoch: int
    frame: int
    part: int
    trade_id: str | None = None
    status: str | None = None
    affects: str | None = None
    reason: str | None = None
    sequence: int | None = None
    previous_sequence: int | None = None
    bids: list[tuple[str, str]] = []
    asks: list[tuple[str, str]] = []
    bid_sizes_native: list[str] | None = None
    ask_sizes_native: list[str] | None = None

    @property
    def identity(self) -> Identity:
        return self.epoch, self.frame, self.part

    @property
    def takes_over(self) -> bool:
        """The stream has another owner from here on; nothing is missing, and every book gets a fresh snapshot."""
        return self.status == "resync" and self.reason == "started"

    @property
    def product(self) -> str:
        """``bybit.linear`` of the stream ``bybit.linear.0``: within it a native symbol means one instrument."""
        return ".".join(self.stream.split(".")[:2])


class Held(Struct, gc=False):
    """A stream that an owner says it has, and since when (ns UTC)."""

    stream: str
    since_ns: int


class Holding(Struct, gc=False):
    """What one owner says it has."""

    member: str
    streams: list[Held]


_items: Final = json.Decoder(list[Item]).decode
_holding: Final = json.Decoder(Holding).decode


def decode_items(body: bytes) -> list[Item]:
    """One AMQP message of the canonical feed."""
    return _items(body)


def decode_holdings(body: bytes) -> Holding:
    """One message of the key ``holdings`` on ``control``."""
    return _holding(body)
