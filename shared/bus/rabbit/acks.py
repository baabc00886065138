"""Which acknowledgements to send so that exactly the given deliveries are acknowledged."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

__all__ = ["Ack", "Outstanding"]


class Ack(NamedTuple):
    """``basic.ack``: one delivery, or with ``multiple`` everything up to it."""

    tag: int
    multiple: bool


class Outstanding:
    """The deliveries of one channel that are not acknowledged, oldest first."""

    def __init__(self) -> None:
        self._tags: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._tags)

    @property
    def newest(self) -> int:
        """The last of them; 0 where there is none."""
        return next(reversed(self._tags), 0)

    def add(self, tag: int) -> None:
        """Delivered; tags of a channel only grow."""
        self._tags[tag] = None

    def settle(self, tags: Iterable[int]) -> list[Ack]:
        """One ``multiple`` for what begins the list, single ones for the rest; unknown tags are nothing."""
        wanted = {tag for tag in tags if tag in self._tags}
        head = self._head(wanted)
        acks = [Ack(head, multiple=True)] if head else []
        acks += [Ack(tag, multiple=False) for tag in sorted(wanted) if tag > head]
        for tag in wanted:
            del self._tags[tag]
        return acks

    def _head(self, wanted: Collection[int]) -> int:
        head = 0  # tags begin at 1
        for tag in self._tags:
            if tag not in wanted:
                break
            head = tag
        return head
