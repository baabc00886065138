"""What every baseline does with a frame: the product's own parser, one frame at a time."""

from itertools import count

from msgspec import json

from services.bench.measuring.frames import instrument_list
from shared.clock import SystemClock
from shared.envelope import Frame, FrameKind, RestReply, encode_reply
from shared.exchanges import adapter
from shared.exchanges.bybit.endpoints import INSTRUMENTS_PATH
from shared.instruments import InstrumentTable
from shared.normalizing import StreamNormalizer, group_by_key

__all__ = ["SUBSCRIBE", "OneByOne", "packed"]

SUBSCRIBE = json.encode({"op": "subscribe", "args": ["publicTrade.BTCUSDT"]}).decode()
STAMP = 20

_clock = SystemClock()


def packed(data: bytes) -> bytes:
    """A frame with its receive time in front."""
    return b"%*d" % (STAMP, _clock.wall()) + data


class OneByOne:
    """Packed frames in, ``(routing key, body)`` pairs out."""

    def __init__(self) -> None:
        self._normalizer = StreamNormalizer(adapter("bybit"), "linear", "bybit.linear.0", InstrumentTable())
        self._numbers = count()
        reply = encode_reply(RestReply(f"http://bench{INSTRUMENTS_PATH}", 200, instrument_list()))
        self._take(Frame(FrameKind.REST, _clock.wall(), reply))

    def take(self, body: bytes) -> list[tuple[str, bytes]]:
        """What comes of one frame."""
        return self._take(Frame(FrameKind.TEXT, int(body[:STAMP]), body[STAMP:]))

    def _take(self, frame: Frame) -> list[tuple[str, bytes]]:
        outcome = self._normalizer.frame(1, next(self._numbers), frame, _clock.wall())
        return group_by_key(outcome.output.messages)
