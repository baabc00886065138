"""Normalizer processes that share streams on a real broker, what they are fed, and what they publish."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

import aio_pika
from msgspec import json

from shared.bus.base import Bus
from shared.bus.rabbit import RabbitBus
from shared.control import Holdings, StreamInfo, decode_control
from shared.envelope import Frame
from shared.errors import BrokerError
from shared.topology import CONTROL, MARKET, RAW, holdings_key, raw_key
from tests.support.eventually import eventually
from tests.support.processes import Stage
from tests.unit.normalizer.plane import announce, connected, envelope, trades_of

__all__ = ["Feed", "Fleet", "Seen", "Witness", "fleet", "streams_of", "witness"]

DEADLINE: Final = 15.0
ANNOUNCE_S: Final = 0.3
PERIOD_S: Final = 0.02


def streams_of(count: int) -> list[StreamInfo]:
    """So many streams of one product."""
    return [StreamInfo("bybit", "linear", "market", f"bybit.linear.{number}") for number in range(count)]


class Feed:
    """Stands for ingest: announces streams and sends numbered trades into each, on and on."""

    def __init__(self, bus: Bus, streams: list[StreamInfo]) -> None:
        self.bus = bus
        self.streams = streams
        self.sent = dict.fromkeys((stream.stream for stream in streams), 0)
        """Frames by stream, the ``connected`` mark among them: the trade in frame n is called n."""
        self.stopped = asyncio.Event()
        self.ended = asyncio.Event()
        """Nothing more is sent: :attr:`sent` is final."""

    async def run(self) -> None:
        """Until :attr:`stopped`; what the broker did not take is sent again."""
        publisher = await self.bus.publisher()
        for stream in self.streams:
            await self.bus.declare(stream)
        while not self.stopped.is_set():
            with suppress(BrokerError):
                for stream in self.streams:
                    number = self.sent[stream.stream]
                    frames = self.frames(stream, number)
                    body = envelope(number, frames, stream)
                    await publisher.publish(RAW, raw_key(stream), body, deadline_s=DEADLINE)
                    self.sent[stream.stream] += len(frames)
            await asyncio.sleep(PERIOD_S)
        self.ended.set()

    async def announce(self) -> None:
        """Until cancelled."""
        while True:
            with suppress(BrokerError):
                await announce(self.bus, *self.streams)
            await asyncio.sleep(ANNOUNCE_S)

    def frames(self, stream: StreamInfo, number: int) -> list[Frame]:
        """What comes next in a stream, from this frame on."""
        del stream
        return trades_of(number, number + 1) if number else [connected(), *trades_of(1)]


class Fleet:
    """The processes, and what they say that they own."""

    def __init__(self, url: str, feed: Feed, settings: Mapping[str, str]) -> None:
        self.feed = feed
        self.stages: list[Stage] = []
        self.holdings: dict[int, Holdings] = {}
        """By process id, the last that each told."""
        self.reigns: dict[str, set[tuple[str, int]]] = {}
        """By stream, who owned it and since when, as they told."""
        self._environment = {"AMQP_URL": url, "TIDEGATE_TELEMETRY__LOG_LEVEL": "INFO", **settings}

    async def start(self, count: int) -> list[Stage]:
        """So many more."""
        started = [Stage("normalizer", environment=self._environment) for _ in range(count)]
        self.stages += started
        return started

    def owners(self) -> dict[str, list[int]]:
        """By stream, the living processes that say they own it."""
        alive = {stage.process.pid for stage in self.stages if stage.running}
        found: dict[str, list[int]] = {}
        for pid, told in self.holdings.items():
            for held in told.streams if pid in alive else ():
                found.setdefault(held.stream, []).append(pid)
        return found

    def shares(self) -> list[int]:
        """How many streams each living process owns, fewest first."""
        counts = {stage.process.pid: 0 for stage in self.stages if stage.running}
        for owners in self.owners().values():
            for pid in owners:
                counts[pid] += 1
        return sorted(counts.values())

    async def shared(self, *shares: int) -> None:
        """Until every stream has one owner, and the processes own so many."""
        names = {stream.stream for stream in self.feed.streams}

        def so() -> bool:
            owners = self.owners()
            assert owners.keys() == names
            assert {len(each) for each in owners.values()} == {1}
            assert self.shares() == list(shares), self.shares()
            return True

        await eventually(so, f"streams are shared {shares}", within=60)

    async def listen(self, bus: Bus) -> None:
        """Until cancelled."""
        subscriber = await bus.subscribe(CONTROL, [holdings_key()])
        while True:
            told = decode_control((await subscriber.receive()).body)
            if isinstance(told, Holdings):
                self.holdings[told.pid] = told
                for held in told.streams:
                    self.reigns.setdefault(held.stream, set()).add((told.member, held.since_ns))


@asynccontextmanager
async def fleet(
    url: str, streams: int, make_feed: Callable[[Bus, list[StreamInfo]], Feed] = Feed, **settings: str
) -> AsyncIterator[Fleet]:
    """No process yet; a feed that runs. At the end everything is gone."""
    async with RabbitBus(url, "test fleet") as bus, RabbitBus(url, "test feed") as feeding:
        feed = make_feed(feeding, streams_of(streams))
        found = Fleet(url, feed, settings)
        work = [asyncio.create_task(each) for each in (feed.run(), feed.announce(), found.listen(bus))]
        try:
            yield found
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            for stage in found.stages:
                stage.close()


class Seen(NamedTuple):
    """One canonical message as a consumer met it."""

    owner: str
    stream: str
    place: tuple[int, int, int]
    message: dict[str, Any]


class Witness:
    """Everything on ``market``, with who published it."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []

    def trades(self, stream: str) -> list[int]:
        """The trades of a stream as a consumer has them who drops what is not newer than the last."""
        last, found = (0, 0, -1), []
        for each in self.seen:
            if each.stream == stream and each.message["feed"] == "trade" and each.place > last:
                last = each.place
                found.append(int(each.message["trade_id"]))
        return found

    def reigns(self, stream: str) -> int:
        """How often the publisher of a stream's messages changed, and one: two at once would take turns."""
        owners = [each.owner for each in self.seen if each.stream == stream]
        return sum(1 for before, owner in zip(["", *owners], owners, strict=False) if owner != before)

    async def until(self, feed: Feed) -> None:
        """Stop the feed, and wait for its last trades."""
        feed.stopped.set()
        async with asyncio.timeout(60):
            await feed.ended.wait()
        for stream, sent in feed.sent.items():
            await eventually(
                lambda stream=stream, sent=sent: self.trades(stream)[-1:] == [sent - 1],  # type: ignore[misc]
                f"the last trade of {stream} arrives",
                within=60,
            )


@asynccontextmanager
async def witness(url: str) -> AsyncIterator[Witness]:
    """Consumes from now on."""
    found = Witness()

    async def take(message: aio_pika.abc.AbstractIncomingMessage) -> None:
        for each in json.decode(message.body):
            place = each["epoch"], each["frame"], each["part"]
            found.seen.append(Seen(message.app_id or "", each["stream"], place, each))

    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue(exclusive=True)
        await queue.bind(MARKET, "#")
        await queue.consume(take, no_ack=True)
        yield found
