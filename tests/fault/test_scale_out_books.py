"""Order books of two instruments through four members: one dies, a fifth comes; and the same work without owners.

Adding or losing a worker must not scramble an instrument's updates.
"""

import asyncio
import random
from itertools import pairwise
from typing import Any

import aio_pika
import pytest

from shared.bus.base import Bus
from shared.control import ResyncRequest, StreamInfo, decode_control
from shared.envelope import Frame
from shared.topology import CONTROL, resync_key
from tests.support.consumer import RebuiltBook
from tests.support.eventually import eventually
from tests.support.fleet import Feed, Witness, fleet, witness
from tests.unit.exchanges.bybit.frames import book
from tests.unit.normalizer.plane import connected, text

pytestmark = pytest.mark.fault

SYMBOLS = ("BTCUSDT", "ETHUSDT")
UPDATES = 1_000
STEP = 4


def size_at(update: int) -> str:
    """The size of the one level that moves."""
    return f"{update}.5"


class Books(Feed):
    """One instrument a stream: a snapshot, then deltas; another snapshot for whoever asks."""

    def __init__(self, bus: Bus, streams: list[StreamInfo]) -> None:
        super().__init__(bus, streams)
        self.updates = dict.fromkeys((stream.stream for stream in streams), 0)
        self._asked: set[str] = set()

    async def answer(self, bus: Bus) -> None:
        """Until cancelled."""
        subscriber = await bus.subscribe(CONTROL, [resync_key("bybit")])
        while True:
            asked = decode_control((await subscriber.receive()).body)
            if isinstance(asked, ResyncRequest) and asked.feed == "book":
                self._asked.add(asked.stream)

    def frames(self, stream: StreamInfo, number: int) -> list[Frame]:
        """Deltas, until there were enough of them."""
        symbol, update = SYMBOLS[int(stream.stream[-1])], self.updates[stream.stream]
        if not number or stream.stream in self._asked:
            self._asked.discard(stream.stream)
            update = self.updates[stream.stream] = max(1, update)
            levels = [("84000", size_at(update)), ("83999", "1")]
            frame = text(book("snapshot", levels, [("84001", "2")], update, symbol))
            return [*([] if number else [connected()]), frame]
        last = self.updates[stream.stream] = min(UPDATES, update + STEP)
        return [
            text(book("delta", [("84000", size_at(each))], [], each, symbol)) for each in range(update + 1, last + 1)
        ]


def rebuilt(seen: Witness, stream: str) -> tuple[RebuiltBook, list[int]]:
    """The book as a consumer has it, and the sequences it went through; a broken chain fails."""
    built, sequences, last = RebuiltBook(), [], (0, 0, -1)
    for each in seen.seen:
        if each.stream != stream or each.place <= last:
            continue
        last, message = each.place, each.message
        if message["feed"] == "book_snapshot":
            built.snapshot(message)
        elif message["feed"] == "book_delta":
            assert built.delta(message), f"{message['previous_sequence']} does not continue {built.sequence}"
        else:
            continue
        sequences.append(message["sequence"])
    return built, sequences


async def test_books_of_two_instruments_survive_a_death_and_a_newcomer(rabbit_url: str) -> None:
    async with fleet(rabbit_url, 2, Books) as shared, witness(rabbit_url) as seen:
        feed = shared.feed
        assert isinstance(feed, Books)
        async with asyncio.TaskGroup() as group:
            answering = group.create_task(feed.answer(feed.bus))
            await shared.start(4)
            await shared.shared(0, 0, 1, 1)
            await eventually(lambda: min(feed.updates.values()) >= UPDATES // 4, within=60)
            pid = shared.owners()["bybit.linear.0"][0]
            next(stage for stage in shared.stages if stage.process.pid == pid).process.kill()
            await shared.shared(0, 1, 1)
            await shared.start(1)
            await shared.shared(0, 0, 1, 1)
            await eventually(lambda: min(feed.updates.values()) == UPDATES, within=60)
            for name in feed.updates:
                await eventually(lambda name=name: rebuilt(seen, name)[1][-1:] == [UPDATES], within=60)  # type: ignore[misc]
            answering.cancel()
        for name in feed.updates:
            built, sequences = rebuilt(seen, name)
            assert all(before <= after for before, after in pairwise(sequences))
            bids, asks = built.top(5)
            assert [(str(price), str(size)) for price, size in bids] == [("84000", size_at(UPDATES)), ("83999", "1")]
            assert [(str(price), str(size)) for price, size in asks] == [("84001", "2")]
            assert seen.reigns(name) <= len(shared.reigns[name])


async def test_without_owners_the_same_work_is_scrambled(rabbit_url: str) -> None:
    """Competing consumers on one queue: what the test above would find, if it were so."""
    chance, arrived = random.Random(7), list[int]()

    async def work(message: aio_pika.abc.AbstractIncomingMessage) -> None:
        await asyncio.sleep(chance.random() * 0.02)
        arrived.append(int(message.body))
        await message.ack()

    async with await aio_pika.connect(rabbit_url) as connection:
        async with connection.channel() as channel:
            queue = await channel.declare_queue("everybody", durable=True)
            for number in range(200):
                await channel.default_exchange.publish(aio_pika.Message(b"%d" % number), "everybody")
        workers: list[Any] = []
        for _ in range(4):
            channel = await connection.channel()
            await channel.set_qos(8)
            workers.append(await (await channel.get_queue(queue.name)).consume(work))
        await eventually(lambda: len(arrived) == 200)
    assert sum(after < before for before, after in pairwise(arrived)) > 20
