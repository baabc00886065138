"""Confirmed publishing on one plain channel, a batch at a time.

Works on aiormq's own tables (delivery tag, confirmations, message ids), as its ``basic_publish`` does, with three
differences: a batch is one write; a deadline that passes leaves the confirmation in the table (a cancelled one makes
the channel's reader fail when the message is returned later); nothing of a batch is queued while another waits.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import aiormq
from aiormq.abc import ChannelFrame

from shared.bus.rabbit.wire import Outgoing, marshal

__all__ = ["ConfirmedChannel"]

CHUNK_MESSAGES: Final = 16
CHUNK_BYTES: Final = 256 * 1024
"""What is marshalled and written between two looks at other tasks."""

UNLIMITED_FRAME: Final = 131_072
"""What to cut bodies to where the broker negotiated no limit."""

Confirmation = asyncio.Future[object]


class ConfirmedChannel:
    """Publishes on a channel that was opened with confirms and ``on_return_raises``; exceptions are aiormq's.

    Every message carries ``app_id`` where it is not empty.
    """

    def __init__(self, channel: aiormq.Channel, app_id: bytes) -> None:
        self._channel = channel
        self._app_id = app_id
        self._frame_max = channel.connection.connection_tune.frame_max or UNLIMITED_FRAME
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
        try:
            for chunk in _chunks(messages):
                check()
                confirmations += await self._write(chunk)
        except BaseException:
            _disown(confirmations)
            raise
        return confirmations

    async def confirmed(self, confirmations: Sequence[Confirmation]) -> None:
        """Wait for the broker; raises the first failure."""
        try:
            for confirmation in reversed(confirmations):
                if not confirmation.done():
                    await asyncio.wait((confirmation,))  # unlike await, leaves it alone when we are cancelled
            for confirmation in confirmations:
                confirmation.result()
        except BaseException:
            _disown(confirmations)
            raise

    async def _write(self, messages: Sequence[Outgoing]) -> list[Confirmation]:
        channel = self._channel
        async with channel.lock:
            number, frame_max, app_id = channel.number, self._frame_max, self._app_id
            payload = b"".join(marshal(message, number, frame_max, app_id) for message in messages)
            drained = channel.create_future()
            confirmations = [self._expect(message) for message in messages]
            try:
                await channel.write_queue.put(ChannelFrame(payload, should_close=False, drain_future=drained))
            except BaseException:
                self._forget(messages)  # never sent: the broker counts on without them
                drained.cancel()
                raise
            try:
                await drained
            except BaseException:
                _disown(confirmations)
                raise
        return confirmations

    def _expect(self, message: Outgoing) -> Confirmation:
        channel = self._channel
        channel.delivery_tag += 1
        confirmation: Confirmation = asyncio.get_running_loop().create_future()
        channel.confirmations[channel.delivery_tag] = confirmation
        if (message_id := message.message_id) is not None:
            channel.message_id_delivery_tag[message_id] = channel.delivery_tag
            confirmation.add_done_callback(lambda _: channel.message_id_delivery_tag.pop(message_id, None))
        return confirmation

    def _forget(self, messages: Sequence[Outgoing]) -> None:
        for message in reversed(messages):
            self._channel.confirmations.pop(self._channel.delivery_tag).cancel()
            if message.message_id is not None:
                self._channel.message_id_delivery_tag.pop(message.message_id, None)
            self._channel.delivery_tag -= 1

    def _on_closing(self, closing: "asyncio.Future[object]") -> None:
        error = None if closing.cancelled() else closing.exception()
        for confirmation in self._channel.confirmations.values():
            if not confirmation.done():
                confirmation.set_exception(_as_exception(error))


def _as_exception(error: BaseException | None) -> BaseException:
    # A CancelledError in a future looks like a cancellation to whoever waits.
    return error if isinstance(error, Exception) else ConnectionError("the connection was lost")


def _chunks(messages: Sequence[Outgoing]) -> Iterable[Sequence[Outgoing]]:
    start = size = 0
    for end, message in enumerate(messages):
        if end > start and (end - start == CHUNK_MESSAGES or size + len(message.body) > CHUNK_BYTES):
            yield messages[start:end]
            start, size = end, 0
        size += len(message.body)
    if start < len(messages):
        yield messages[start:]


def _disown(confirmations: Iterable[Confirmation]) -> None:
    for confirmation in confirmations:
        confirmation.add_done_callback(_retrieve)


def _retrieve(confirmation: Confirmation) -> None:
    if not confirmation.cancelled():
        confirmation.exception()
