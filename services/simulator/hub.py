"""Markets on one side, subscribers on the other: steps, polls, encodes once, writes once per connection and tick."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from services.simulator.accounts.desk import Desk
from services.simulator.connection import Connection
from services.simulator.engine import Market
from services.simulator.faults import FaultBoard
from services.simulator.frames import frame
from services.simulator.ledger import Ledger
from services.simulator.session import Abort, Action, Close, Ping, Reply, Subscribe, Unsubscribe
from services.simulator.settings import SimulatorSettings
from services.simulator.strikes import Outgoing, struck
from services.simulator.topics import Message, Topic
from services.simulator.venues.base import Venue

__all__ = ["Hub", "VenueKey"]

SESSION_TICK_NS = 250_000_000
EVENTS_PER_TURN = 50
MESSAGES_PER_TURN = 20
"""How much is done before the loop gets a turn: about half a millisecond, for those who share the loop."""

VenueKey = tuple[str, str]


class Channel:
    """A topic somebody listens to, when it is due, and who listens. ``flushed`` is for a market that stands still."""

    __slots__ = ("due_ns", "flushed", "listeners", "topic", "venue")

    def __init__(self, venue: Venue, topic: Topic, now_ns: int) -> None:
        self.venue = venue
        self.topic = topic
        self.due_ns = now_ns
        self.flushed = False
        self.listeners: list[Connection] = []


class Hub:
    """Everything that happens in one tick."""

    def __init__(self, venues: dict[VenueKey, Venue], settings: SimulatorSettings, clock: Callable[[], int]) -> None:
        self.venues = venues
        self.clock = clock
        self.board = FaultBoard()
        self.desk = Desk(venues, settings, self.board, clock, self._sent)
        self.ledgers: dict[VenueKey, Ledger] = {key: Ledger() for key in venues}
        self.connections: dict[int, Connection] = {}
        self._markets = [market for venue in venues.values() for market in venue.markets.values()]
        self.paused = self.quiet = False
        self.at_rest = asyncio.Event()
        self._channels: dict[tuple[Venue, str], Channel] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._sessions_due_ns = 0

    def markets(self) -> Iterable[Market]:
        """Every market of every product."""
        return self._markets

    def ledger(self, venue: Venue) -> Ledger:
        """The ledger of a product."""
        return self.ledgers[venue.exchange, venue.product]

    @property
    def flushed(self) -> bool:
        """Whether everything that changed before the pause has left."""
        return self.paused and all(channel.flushed for channel in self._channels.values())

    def pause(self, *, quiet: bool) -> None:
        """Stand still; ``quiet`` stops what venues repeat by the clock too, once the last changes have left."""
        self.paused, self.quiet = True, quiet
        self.at_rest.clear()
        for market in self.markets():
            market.paused = True
        for channel in self._channels.values():
            channel.flushed = False

    def resume(self) -> None:
        """Go on."""
        self.paused = False
        self.at_rest.set()
        for market in self.markets():
            market.paused = False

    async def tick(self) -> None:
        """One turn: markets, topics, sessions, sockets."""
        await self._step()
        now_ns = self.clock()
        self.desk.tick(now_ns)
        await self._poll_due(now_ns)
        if now_ns >= self._sessions_due_ns:
            self._sessions_due_ns = now_ns + SESSION_TICK_NS
            for connection in [*self.connections.values()]:
                self.perform(connection, connection.session.tick(now_ns, connection.last_data_ns), now_ns)
        self.flush()
        if self.flushed:
            self.at_rest.set()

    async def _step(self) -> None:
        events, now_ns = 0, self.clock()
        for market in self._markets:
            if now_ns < market.due_ns:
                continue
            events += market.step(now_ns)
            if events >= EVENTS_PER_TURN:
                events = 0
                await asyncio.sleep(0)
                now_ns = self.clock()

    async def _poll_due(self, now_ns: int) -> None:
        polled = 0
        for channel in [*self._channels.values()]:
            # A channel that was left while the loop had its turn must not take from a topic that was started anew.
            if now_ns < channel.due_ns or not channel.listeners:
                continue
            polled += self._poll(channel, now_ns)
            if polled >= MESSAGES_PER_TURN:
                polled = 0
                self.flush()
                await asyncio.sleep(0)

    def flush(self) -> None:
        """Write what is pending everywhere."""
        for connection in [*self.connections.values()]:
            if connection.has_pending and not connection.flush():
                self.ledger(connection.venue).dropped_for_slow_clients += 1

    def perform(self, connection: Connection, actions: Iterable[Action], now_ns: int) -> None:
        """Do what a session decided."""
        for action in actions:
            match action:
                case Reply(data):
                    connection.text(data)
                case Subscribe(topic, silent):
                    self.subscribe(connection, topic, now_ns, silent=silent)
                case Unsubscribe(topic):
                    self.unsubscribe(connection, topic)
                case Ping(payload):
                    connection.ping(payload)
                case Close(code, reason):
                    self.spawn(connection.close(code, reason, "deadline"))
                case Abort(_):
                    connection.abort("deadline")

    def subscribe(self, connection: Connection, name: str, now_ns: int, *, silent: bool) -> None:
        """Add a listener and greet it."""
        venue = connection.venue
        topic = venue.find(name)
        if name in connection.topics:
            return
        connection.topics[name] = silent
        if topic is None or silent:
            return
        if self.board.take("no_first_frame", venue.exchange, venue.product, topic) is not None:
            return
        channel = self._channels.get((venue, name))
        if channel is None:
            channel = self._channels[venue, name] = Channel(venue, topic, now_ns + topic.cadence_ms * 1_000_000)
            topic.start(now_ns)
        channel.listeners.append(connection)
        for message in self._greeting(channel, now_ns):
            self._deliver(channel, message, [connection], now_ns)

    def unsubscribe(self, connection: Connection, name: str) -> None:
        """Take a listener out; the last one stops the topic."""
        connection.topics.pop(name, None)
        channel = self._channels.get((connection.venue, name))
        if channel is not None and connection in channel.listeners:
            channel.listeners.remove(connection)
            if not channel.listeners:
                channel.topic.stop()
                del self._channels[connection.venue, name]

    def leave(self, connection: Connection) -> None:
        """A connection ended."""
        for name in [*connection.topics]:
            self.unsubscribe(connection, name)
        self.connections.pop(connection.number, None)
        self.desk.leave(connection)
        self.ledger(connection.venue).closed(connection.ended or "client")

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something that waits, held until it is done."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settle(self) -> None:
        """Cancel what still runs."""
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def channels(self) -> Iterable[tuple[Venue, Topic, list[Connection]]]:
        """Every topic that has listeners."""
        for channel in [*self._channels.values()]:
            yield channel.venue, channel.topic, channel.listeners

    def publish(self, venue: Venue, topic: Topic, messages: list[Message], now_ns: int) -> None:
        """Send messages to everybody who listens to a topic, faults included."""
        channel = self._channels.get((venue, topic.name))
        if channel is not None:
            for message in messages:
                self._deliver(channel, message, channel.listeners, now_ns)

    def _sent(self, connection: Connection, feed: str, size: int) -> None:
        self.ledger(connection.venue).sent(feed, 1, size)

    def _greeting(self, channel: Channel, now_ns: int) -> list[Message]:
        topic = channel.topic
        messages = topic.greet(now_ns)
        early = getattr(topic, "stale_delta", None)
        if early is not None and self.board.take(
            "delta_before_snapshot", channel.venue.exchange, channel.venue.product, topic
        ):
            messages = [early(now_ns), *messages]
        return messages

    def _poll(self, channel: Channel, now_ns: int) -> int:
        if self.paused and self.quiet and channel.flushed:
            return 0
        channel.due_ns = max(channel.due_ns + channel.topic.cadence_ms * 1_000_000, now_ns)
        messages = channel.topic.poll(now_ns)
        for message in messages:
            self._deliver(channel, message, channel.listeners, now_ns)
        channel.flushed = self.paused
        return len(messages)

    def _deliver(self, channel: Channel, message: Message, listeners: list[Connection], now_ns: int) -> None:
        venue, topic = channel.venue, channel.topic
        if self.board.frames:
            outgoing = struck(self.board, venue, topic, message)
        else:
            outgoing = [Outgoing(topic.encode(message), topic.binary)]
        ledger = self.ledger(venue)
        for one in outgoing:
            taken = self._write(topic, one, listeners, now_ns)
            ledger.sent(topic.feed, taken, len(one.payload))
        ids = topic.trade_ids(message) if outgoing else []
        if ids:
            ledger.traded(topic.name, topic.symbol, ids)

    def _write(self, topic: Topic, outgoing: Outgoing, listeners: list[Connection], now_ns: int) -> int:
        taken = 0
        variants: dict[str, bytes] = {}
        for connection in listeners:
            variant = connection.session.variant
            data = variants.get(variant)
            if data is None:
                payload = outgoing.payload
                if not outgoing.broken:
                    payload = connection.session.wrap(outgoing.name or topic.name, payload)
                data = variants[variant] = frame(payload, binary=outgoing.binary)
            taken += connection.data(topic.name, data, now_ns)
        return taken
