"""The queues of the in-process bus: plain, bounded, without a task or a lock, since one loop runs everything.

A raw queue behaves as RabbitMQ's does: a bound counts what is ready, not what was handed out; what was handed out and
not acknowledged goes back to its place when the consumer ends, flagged as redelivered.
"""

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from shared.bus.wakeup import Wakeup

__all__ = ["DropHead", "RawQueue", "Stored"]


class Stored(NamedTuple):
    """A message in a queue: where it stands in the queue's order, what it was published with."""

    position: int
    key: str
    body: bytes
    redelivered: bool


class DropHead:
    """Messages in order under two bounds; the oldest goes first. A message above the byte bound alone goes at once."""

    def __init__(self, max_messages: int | None, max_bytes: int | None) -> None:
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        self.items: deque[Stored] = deque()
        self.bytes = 0
        self.dropped = 0

    def append(self, item: Stored) -> None:
        """Add the newest."""
        self.items.append(item)
        self.bytes += len(item.body)
        self._shed()

    def restore(self, items: Iterable[Stored]) -> None:
        """Put back, to their places by position, what was taken."""
        merged = sorted([*items, *self.items], key=lambda item: item.position)
        self.items = deque(merged)
        self.bytes = sum(len(item.body) for item in merged)
        self._shed()

    def take(self, limit: int) -> list[Stored]:
        """The oldest, at most ``limit``."""
        taken = [self.items.popleft() for _ in range(min(limit, len(self.items)))]
        self.bytes -= sum(len(item.body) for item in taken)
        return taken

    def has_room(self, body: bytes) -> bool:
        """Whether one more would fit without dropping."""
        messages = self._max_messages is None or len(self.items) < self._max_messages
        return messages and (self._max_bytes is None or self.bytes + len(body) <= self._max_bytes)

    def _shed(self) -> None:
        while (self._max_messages is not None and len(self.items) > self._max_messages) or (
            self._max_bytes is not None and self.bytes > self._max_bytes
        ):
            self.bytes -= len(self.items.popleft().body)
            self.dropped += 1


class RawQueue:
    """A stream's envelopes, for one consumer at a time."""

    def __init__(self, bound: DropHead, *, refuses: bool) -> None:
        self.ready = bound
        self.refuses = refuses
        self.consumer: Wakeup | None = None
        self._unacked: dict[int, Stored] = {}
        self._published = 0

    @property
    def handed_out(self) -> int:
        """How many messages were handed out and not settled."""
        return len(self._unacked)

    def put(self, key: str, body: bytes) -> bool:
        """Whether the message was taken; it is refused when the queue is full and ``refuses``, else the oldest goes."""
        if self.refuses and not self.ready.has_room(body):
            return False
        self._published += 1
        self.ready.append(Stored(self._published, key, body, redelivered=False))
        if self.consumer is not None:
            self.consumer.notify()
        return True

    def take(self, limit: int) -> list[Stored]:
        """Hand out the oldest; they stay here until ``settle`` or ``release``."""
        taken = self.ready.take(limit)
        self._unacked.update((item.position, item) for item in taken)
        return taken

    def settle(self, positions: Iterable[int]) -> None:
        """Forget what was dealt with."""
        for position in positions:
            self._unacked.pop(position, None)

    def release(self) -> None:
        """The consumer ended."""
        self.consumer = None
        self.ready.restore(item._replace(redelivered=True) for item in self._unacked.values())
        self._unacked.clear()
