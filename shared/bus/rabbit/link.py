"""One connection to RabbitMQ, for one purpose."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from aio_pika import Channel
from faststream.rabbit import RabbitBroker

from shared.bus.rabbit.blocked import BlockedReasons
from shared.bus.rabbit.detached import detached, in_background
from shared.bus.rabbit.errors import translate_errors
from shared.bus.rabbit.lane import Lane, LaneConnection
from shared.errors import BrokerUnavailable

if TYPE_CHECKING:
    import aiormq
    from aio_pika.abc import AbstractChannel
    from aiormq.abc import AbstractConnection

__all__ = ["Link", "LinkBroker", "LinkState", "close_channel", "in_time"]

CONNECT_TIMEOUT_S: Final = 5.0
RECONNECT_S: Final = 1.0
CLOSE_TIMEOUT_S: Final = 2.0
"""What a closed channel may keep its closer waiting; the broker's own part takes a millisecond."""


class LinkState(NamedTuple):
    """How a connection stands."""

    connected: bool
    blocked: str | None
    """Why the broker accepts nothing from it at the moment, if it does not."""
    losses: int
    """How often it was lost, also where it was back before anyone looked."""


class LinkBroker(RabbitBroker):
    """A FastStream broker that the bus connects and closes, and the application only documents and reports on.

    The application would connect it before the service decided what to do when there is no broker, and close it
    before the service has drained.
    """

    def __init__(self, url: str, **options: Any) -> None:  # noqa: ANN401 - FastStream's own
        super().__init__(url, **options)
        self._connection_kwargs["connection_class"] = LaneConnection

    async def start(self) -> None:
        """Nothing: see above."""
        self.running = True

    async def stop(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None:
        """Nothing: see above."""

    async def end(self) -> None:
        """What FastStream does to stop, once its connection is closed: a frozen broker would hold up its channel."""
        if self._connection is not None:
            await self._connection.close()
        await super().stop()


class Link:
    """A FastStream broker's connection, which reconnects by itself every second, and plain channels on it.

    A silent connection is given up after about three heartbeats (``heartbeat`` in the URL's query wins).
    """

    def __init__(self, url: str, name: str, heartbeat_s: int) -> None:
        self.where = _where(url)
        self._heartbeat_s = heartbeat_s
        self.broker = LinkBroker(
            _with_query(url, heartbeat=str(heartbeat_s), name=name),
            timeout=CONNECT_TIMEOUT_S,
            reconnect_interval=RECONNECT_S,
            fail_fast=True,
            logger=None,
            specification_url=self.where,
        )
        self._connection: LaneConnection | None = None
        self._reasons = BlockedReasons()
        self._stands = False
        self._losses = 0

    async def open(self, on_reconnected: Callable[[], None]) -> None:
        """Connect; raises BrokerUnavailable. ``on_reconnected`` is called whenever the connection came back."""
        with translate_errors(f"connect to {self.where}"):
            self._connection = cast("LaneConnection", await self._attempt())
        self._stands = True

        def came_back(_: object) -> None:
            self._stands = True
            on_reconnected()

        self._connection.reconnect_callbacks.add(came_back)
        self._connection.close_callbacks.add(self._gone)
        self._reasons.attach()

    async def _attempt(self) -> object:
        """Connect once; whoever is cancelled waits for the end of it, which comes within CONNECT_TIMEOUT_S."""
        attempt = asyncio.create_task(self.broker.connect(), name="connect")
        try:
            await asyncio.wait((attempt,))
        except asyncio.CancelledError:
            # aio-pika takes an attempt that is cancelled for one that failed, and would go on to try for ever.
            await asyncio.wait((attempt,))
            if attempt.exception() is None:
                await in_time(self.broker.end())
            raise
        return attempt.result()

    async def close(self) -> None:
        """Close the connection; what a frozen broker keeps waiting goes on behind whoever stops to wait."""
        self._reasons.detach()
        self._connection = None
        self._stands = False
        with suppress(BrokerUnavailable), translate_errors("close"):
            await detached(self.broker.end())

    def drop(self, channel: "aiormq.abc.AbstractChannel") -> None:
        """End the connection of a channel, and with it all that the broker holds for it; another one follows."""
        in_background(in_time(channel.connection.close()))

    @property
    def heartbeat_s(self) -> int:
        """What was agreed with the broker for the connection that stands; 0 where there are none."""
        connection = self._underlay()
        return self._heartbeat_s if connection is None else connection.connection_tune.heartbeat or 0

    def watch(self, lost: Callable[[], None]) -> Callable[[], None]:
        """Have ``lost`` called when the connection that stands now is gone; what is returned ends the watch.

        Raises BrokerUnavailable when there is none.
        """
        closing = self.standing().closing

        def on_closed(_: "asyncio.Future[object]") -> None:
            lost()

        def end() -> None:
            closing.remove_done_callback(on_closed)
            closing.cancel()

        closing.add_done_callback(on_closed)
        return end

    @property
    def connected(self) -> bool:
        """Whether there is a connection that nobody has closed. A frozen broker shows after three heartbeats only."""
        connection = self._underlay()
        return connection is not None and not connection.is_closed

    @property
    def blocked(self) -> str | None:
        """Why RabbitMQ reads nothing from this connection at the moment, or None."""
        connection = self._underlay()
        if connection is None or connection.is_closed or _is_ready(connection):
            return None
        return self._reasons.of(connection)

    @property
    def state(self) -> LinkState:
        """All of that at once."""
        return LinkState(self.connected, self.blocked, self._losses)

    async def ready(self) -> None:
        """Wait until there is a connection."""
        if self._connection is None:
            raise BrokerUnavailable(f"the bus to {self.where} is not open")
        await self._connection.connected.wait()

    async def channel(self, *, confirms: bool) -> "aiormq.Channel":
        """A channel that is closed when its connection is; raises BrokerUnavailable, at once when there is none."""
        connection = self.standing()
        with translate_errors(f"open a channel to {self.where}"):
            channel = await detached(
                connection.channel(publisher_confirms=confirms, on_return_raises=confirms), close_channel
            )
        return cast("aiormq.Channel", channel)

    async def pika_channel(self) -> Channel:
        """The same with confirms and as aio-pika's own; waits for as long as the connection is blocked."""
        connection = self._connection
        if connection is None or not self.connected:
            raise BrokerUnavailable(f"no connection to {self.where}")
        with translate_errors(f"open a channel to {self.where}"):
            channel = Channel(connection, publisher_confirms=True, on_return_raises=True)
            return await detached(_initialized(channel), close_channel)

    def lane(self, channel: "aiormq.Channel") -> Lane:
        """The short way of a channel's connection; raises BrokerUnavailable when that is gone."""
        with translate_errors(f"publish to {self.where}"):
            if self._connection is None:
                raise ConnectionResetError("the connection was closed")
            return self._connection.lane(channel)

    def standing(self) -> "AbstractConnection":
        """The connection that stands now; raises BrokerUnavailable when there is none."""
        connection = self._underlay()
        if connection is None or connection.is_closed:
            raise BrokerUnavailable(f"no connection to {self.where}")
        return connection

    def _gone(self, *_: object) -> None:
        # Attempts to connect that fail end here, too: those were no connection.
        if self._stands:
            self._stands = False
            self._losses += 1

    def _underlay(self) -> "AbstractConnection | None":
        if self._connection is None or not self._connection.connected.is_set():
            return None
        transport = self._connection.transport
        return None if transport is None else transport.connection


async def close_channel(channel: "aiormq.abc.AbstractChannel | AbstractChannel") -> None:
    """Close a channel, in bounded time; one that is closed already, or cannot be, is left alone."""
    if not channel.is_closed:
        await in_time(channel.close())


async def _initialized(channel: Channel) -> Channel:
    await channel.initialize()
    return channel


async def in_time(closing: Any) -> bool:  # noqa: ANN401 - a coroutine of no interest
    """Wait for what closes something, in bounded time; whether it ended, if only by the loss of its connection."""
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            with translate_errors("close"):
                await detached(closing)
    except BrokerUnavailable:
        return True
    except TimeoutError:
        return False
    return True


def _is_ready(connection: "AbstractConnection") -> bool:
    """Whether ``ready()`` would return at once: aiormq's only public word on ``connection.blocked``."""
    step = connection.ready()
    try:
        step.send(None)
    except StopIteration:
        return True
    step.close()
    return False


def _with_query(url: str, **parameters: str) -> str:
    parts = urlsplit(url)
    query = parameters | dict(parse_qsl(parts.query))
    return urlunsplit(parts._replace(query=urlencode(query, quote_via=quote)))


def _where(url: str) -> str:
    """The URL without credentials and parameters."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
