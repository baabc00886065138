"""Streams of MEXC to drive in a test."""

from shared.envelope import Frame
from shared.exchanges.base import Output
from shared.exchanges.mexc import ADAPTER
from tests.contract.driving import Driver, binary, text
from tests.unit.exchanges.mexc.frames import CONTRACTS, SPOTS

__all__ = ["Stream", "futures_stream", "spot_stream"]


class Stream(Driver):
    """A stream that takes the bytes of pushes."""

    def __init__(self, product: str) -> None:
        super().__init__(ADAPTER, product, SPOTS if product == "spot" else CONTRACTS)
        self._binary = product == "spot"

    def push(self, *data: bytes) -> Output:
        """Frames as the venue sends them; what came of the last."""
        return self.send(*(self.frame(one) for one in data))

    def frame(self, data: bytes) -> Frame:
        return binary(data) if self._binary else text(data)


def spot_stream() -> Stream:
    return Stream("spot")


def futures_stream() -> Stream:
    return Stream("futures")
