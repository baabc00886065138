"""Deliveries, put together from their frames."""

from collections.abc import Callable
from struct import Struct
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final

from shared.bus.base import Delivery
from shared.bus.rabbit.lane import BODY, HEADER, METHOD

if TYPE_CHECKING:
    from aiormq.abc import DeliveredMessage

__all__ = ["Deliveries", "untaken"]

DELIVER: Final = b"\x00\x3c\x00\x3c"  # class 60, method 60
_TAG: Final = Struct(">QB")
_SIZE: Final = Struct(">Q")
_SIZE_AT: Final = 4
"""In a content header: behind class and weight."""


class Deliveries:
    """Takes what comes to the consumer of a channel; ``arrived`` is called with each delivery.

    ``key`` is what to call it by; None for its routing key.
    """

    def __init__(self, arrived: Callable[[Delivery], None], key: str | None = None) -> None:
        self._arrived = arrived
        self._key = key
        self._begun: tuple[str, int, bool] | None = None
        self._missing: int | None = None
        self._parts: list[bytes] = []

    def take(self, kind: int, payload: bytes) -> bool:
        """See ``Taker``: the three kinds of frames of a delivery."""
        if self._begun is None:
            if kind != METHOD or not payload.startswith(DELIVER):
                return False
            self._begun = self._described(payload)
            return True
        if kind == BODY and self._missing is not None:
            self._missing -= len(payload)
            if self._missing > 0 or self._parts:
                self._parts.append(payload)
                payload = b"".join(self._parts) if self._missing <= 0 else b""
            if self._missing <= 0:
                self._end(payload)
            return True
        if kind == HEADER and self._missing is None:
            (self._missing,) = _SIZE.unpack_from(payload, _SIZE_AT)
            if not self._missing:
                self._end(b"")
            return True
        return False

    def _described(self, payload: bytes) -> tuple[str, int, bool]:
        """Key, delivery tag, redelivered; consumer tag, AMQP exchange and routing key are short strings."""
        at = 5 + payload[4]
        tag, redelivered = _TAG.unpack_from(payload, at)
        key = self._key
        if key is None:
            at += _TAG.size
            at += 1 + payload[at]
            key = payload[at + 1 : at + 1 + payload[at]].decode()
        return key, tag, bool(redelivered)

    def _end(self, body: bytes) -> None:
        begun, self._begun, self._missing = self._begun, None, None
        self._parts.clear()
        if begun is not None:
            key, tag, redelivered = begun
            self._arrived(Delivery(key, body, tag, redelivered, perf_counter_ns()))


async def untaken(message: "DeliveredMessage") -> None:
    """For aiormq, which is never given a delivery of a channel whose deliveries are taken."""
    raise RuntimeError(f"a delivery was not taken: {message.delivery!r}")
