"""Confirmed publishing on one channel, a batch at a time, by the short way."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Final

from pamqp import commands
from pamqp.header import ContentHeader

from shared.bus.rabbit.lane import HEADER, METHOD, Lane
from shared.bus.rabbit.wire import Outgoing, marshal
from shared.errors import PublishFailed

if TYPE_CHECKING:
    import aiormq

__all__ = ["ConfirmedChannel"]

CHUNK_MESSAGES: Final = 32
CHUNK_BYTES: Final = 256 * 1024
"""What is marshalled and written between two looks at other tasks."""

UNLIMITED_FRAME: Final = 131_072
"""What to cut bodies to where the broker negotiated no limit."""

ACK: Final = b"\x00\x3c\x00\x50"  # class 60, method 80
NACK: Final = b"\x00\x3c\x00\x78"  # class 60, method 120
RETURN: Final = b"\x00\x3c\x00\x32"  # class 60, method 50
_TAG: Final = Struct(">QB")
_ARGUMENTS_AT: Final = 4
_MULTIPLE: Final = 1


class Confirmation:
    """Of a batch: ``settled`` is done when the broker has answered for every message of it, or never will.

    A deadline that passes leaves it in the tables: the broker may still answer.
    """

    __slots__ = ("error", "left", "settled")

    def __init__(self, messages: int, settled: "asyncio.Future[None]") -> None:
        self.left = messages
        self.settled = settled
        self.error: Exception | None = None
        """The first failure."""

    def answer(self, error: Exception | None) -> None:
        """The broker has answered for one message."""
        if error is not None and self.error is None:
            self.error = error
        self.left -= 1
        if not self.left and not self.settled.done():
            self.settled.set_result(None)

    def fail(self, error: Exception) -> None:
        """The broker will not answer any more."""
        if not self.settled.done():
            self.error = self.error or error
            self.settled.set_result(None)


class Confirms:
    """What was published on a channel and is not answered for. Takes confirms, refusals and what is returned."""

    def __init__(self) -> None:
        self.published = 0
        """Messages so far: the broker counts them, too, and names them by number."""
        self._open: dict[int, Confirmation] = {}
        self._returned: dict[int, PublishFailed] = {}
        self._returning: commands.Basic.Return | None = None
        self._missing = 0

    def expect(self, messages: int, settled: "asyncio.Future[None]") -> Confirmation:
        """So many are published next."""
        confirmation = Confirmation(messages, settled)
        first = self.published + 1
        self.published += messages
        for number in range(first, first + messages):
            self._open[number] = confirmation
        return confirmation

    def take(self, kind: int, payload: bytes) -> bool:
        """See ``Taker``."""
        if self._returning is not None:
            self._return(self._returning, kind, payload)
            return True
        if kind != METHOD:
            return False
        method = payload[:_ARGUMENTS_AT]
        if method in {ACK, NACK}:
            number, bits = _TAG.unpack_from(payload, _ARGUMENTS_AT)
            refused = None if method == ACK else PublishFailed("nacked", f"the broker refused message {number}")
            self._answered(number, bits & _MULTIPLE, refused)
            return True
        if method == RETURN:
            self._returning = commands.Basic.Return()
            self._returning.unmarshal(payload[_ARGUMENTS_AT:])
            return True
        return False

    def close(self, error: Exception) -> None:
        """The channel is gone."""
        waiting, self._open = self._open, {}
        for confirmation in waiting.values():
            confirmation.fail(error)

    def _answered(self, number: int, multiple: int, refused: PublishFailed | None) -> None:
        waiting, answered = self._open, [number]
        if multiple:
            answered = []
            for each in waiting:
                if each > number:
                    break
                answered.append(each)
        for each in answered:
            confirmation = waiting.pop(each, None)
            if confirmation is not None:
                confirmation.answer(refused or (self._returned.pop(each, None) if self._returned else None))

    def _return(self, returned: commands.Basic.Return, kind: int, payload: bytes) -> None:
        """The header tells which message it is; the confirm that follows is no success."""
        if kind == HEADER:
            header = ContentHeader()
            header.unmarshal(payload)
            text = f"publish to {returned.exchange}: {returned.reply_text} for routing key {returned.routing_key!r}"
            self._returned[int(header.properties.message_id or 0)] = PublishFailed("returned", text)
            self._missing = header.body_size or 0
        else:
            self._missing -= len(payload)
        if not self._missing:
            self._returning = None


class ConfirmedChannel:
    """Publishes on a channel that was opened with confirms; exceptions are aiormq's, or ours for what was refused.

    Every message carries ``app_id`` where it is not empty.
    """

    def __init__(self, channel: "aiormq.Channel", lane: Lane, app_id: bytes) -> None:
        self._channel = channel
        self._lane = lane
        self._app_id = app_id
        self._frame_max = channel.connection.connection_tune.frame_max or UNLIMITED_FRAME
        self._confirms = Confirms()
        lane.attach(channel, self._confirms)
        channel.closing.add_done_callback(self._on_closing)

    @property
    def is_closed(self) -> bool:
        """Whether nothing can be published any more."""
        return self._channel.is_closed

    async def write(self, messages: Sequence[Outgoing], check: Callable[[], None]) -> list[Confirmation]:
        """Write messages in order; what is returned is to be given to ``confirmed``. One caller at a time.

        ``check`` is called before each part that is written; what it raises is raised.
        """
        confirmations: list[Confirmation] = []
        for chunk in _chunks(messages):
            if confirmations:
                await asyncio.sleep(0)
            check()
            confirmations.append(self._expect(len(chunk)))
            self._lane.write(self._marshalled(chunk))
            if self._lane.congested:
                await self._lane.drain()
        return confirmations

    async def confirmed(self, confirmations: Sequence[Confirmation]) -> None:
        """Wait for the broker; raises the first failure."""
        for confirmation in confirmations:
            if not confirmation.settled.done():
                await confirmation.settled
            if confirmation.error is not None:
                raise confirmation.error

    def _expect(self, messages: int) -> Confirmation:
        if self._channel.is_closed:
            raise ConnectionResetError("the channel was closed")
        return self._confirms.expect(messages, asyncio.get_running_loop().create_future())

    def _marshalled(self, messages: Sequence[Outgoing]) -> bytes:
        channel, frame_max, app_id = self._channel.number, self._frame_max, self._app_id
        first = self._confirms.published - len(messages) + 1
        return b"".join(
            marshal(message, channel, frame_max, app_id, number) for number, message in enumerate(messages, first)
        )

    def _on_closing(self, closing: "asyncio.Future[object]") -> None:
        error = None if closing.cancelled() else closing.exception()
        # A CancelledError would look like a cancellation of whoever waits.
        self._confirms.close(error if isinstance(error, Exception) else ConnectionError("the connection was lost"))


def _chunks(messages: Sequence[Outgoing]) -> Iterable[Sequence[Outgoing]]:
    start = size = 0
    for end, message in enumerate(messages):
        if end > start and (end - start == CHUNK_MESSAGES or size + len(message.body) > CHUNK_BYTES):
            yield messages[start:end]
            start, size = end, 0
        size += len(message.body)
    if start < len(messages):
        yield messages[start:]
