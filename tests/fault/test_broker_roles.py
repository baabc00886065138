"""The rights of each AMQP user, as the first start makes them, against a real broker that imported them."""

import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import aiormq
import pytest

from shared.bus.rabbit import RabbitBus
from shared.control import StreamInfo
from shared.envelope import Plane
from shared.errors import BrokerError
from shared.topology import ACCOUNT, CONTROL, MARKET, QUARANTINE, RAW, announcement_key, raw_key
from tests.support.paths import ROOT
from tests.support.rabbit import RabbitNode, ensure_server

pytestmark = pytest.mark.fault

BOOK = StreamInfo("bybit", "linear", "market", "bybit.linear.0")
PRIVATE = StreamInfo("bybit", "linear", "account", "bybit.main")
DEADLINE_S = 30.0

Try = Callable[[aiormq.abc.AbstractChannel], Awaitable[object]]


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    """Each role's address on a node of its own."""
    ensure_server()
    with RabbitNode() as node:
        directory = node.directory / "credentials"  # where the node can read, wherever it runs
        subprocess.run([sys.executable, ROOT / "rabbitmq/first_start.py", directory], capture_output=True, check=True)
        node.ctl("import_definitions", str(directory / "broker/definitions.json"))
        yield {file.parent.name: _at(node, file) for file in directory.glob("*/amqp-url")}


def _at(node: RabbitNode, file: Path) -> str:
    made = urlsplit(file.read_text().strip())
    return made._replace(
        netloc=f"{made.username}:{made.password}@{urlsplit(node.url).netloc.rpartition('@')[2]}"
    ).geturl()


@asynccontextmanager
async def bus(urls: dict[str, str], role: str) -> AsyncIterator[RabbitBus]:
    async with RabbitBus(urls[role], f"test {role}") as opened:
        yield opened


@pytest.mark.parametrize(
    ("plane", "stream", "ingest", "normalizer", "exchange", "consumer"),
    [
        ("market", BOOK, "ingest", "normalizer", MARKET, "consumer"),
        ("account", PRIVATE, "ingest-account", "normalizer-account", ACCOUNT, "account-consumer"),
    ],
    ids=["market", "account"],
)
async def test_each_role_may_do_its_work(
    urls: dict[str, str], plane: Plane, stream: StreamInfo, ingest: str, normalizer: str, exchange: str, consumer: str
) -> None:
    async with bus(urls, ingest) as taking, bus(urls, normalizer) as making, bus(urls, consumer) as reading:
        await taking.declare(stream)
        requests = await taking.subscribe(CONTROL, ["resync.bybit"])
        canonical = await reading.subscribe(exchange, ["#"])
        announcements = await reading.subscribe(CONTROL, [announcement_key()])
        raw = await making.consume_raw(plane=plane)
        await raw.add(stream)

        frames, messages = await taking.publisher(), await making.publisher()
        await frames.publish(RAW, raw_key(stream), b"an envelope", deadline_s=DEADLINE_S)
        await frames.publish(CONTROL, announcement_key(), b"streams", deadline_s=DEADLINE_S)
        deliveries = await raw.receive(1)
        await messages.publish(exchange, "trade.bybit.x", b"[]", deadline_s=DEADLINE_S)
        await messages.publish(QUARANTINE, stream.plane, b"a frame", deadline_s=DEADLINE_S)
        await messages.publish(CONTROL, "resync.bybit", b"please", deadline_s=DEADLINE_S)
        await raw.ack(deliveries)

        assert [delivery.body for delivery in deliveries] == [b"an envelope"]
        assert (await canonical.receive()).body == b"[]"
        assert (await announcements.receive()).body == b"streams"
        assert (await requests.receive()).body == b"please"
        await raw.close()


async def test_a_market_consumer_gets_nothing_of_accounts(urls: dict[str, str]) -> None:
    async with bus(urls, "normalizer-account"), bus(urls, "consumer") as reading:
        with pytest.raises(BrokerError, match="account"):
            await reading.subscribe(ACCOUNT, ["#"])
        assert (await reading.subscribe(MARKET, ["#"])).dropped == 0


async def _bind(channel: aiormq.abc.AbstractChannel, exchange: str, key: str) -> None:
    await channel.queue_declare("consumer.own", exclusive=True)
    await channel.queue_bind("consumer.own", exchange, routing_key=key)


FORBIDDEN: list[tuple[str, str, Try]] = [
    ("consumer", "read accounts", lambda channel: _bind(channel, "account", "#")),
    ("consumer", "read raw frames of accounts", lambda channel: _bind(channel, "raw", "account.bybit.main")),
    ("consumer", "read all raw frames", lambda channel: _bind(channel, "raw", "#")),
    ("consumer", "take raw frames from normalizers", lambda channel: channel.basic_get("raw.market.bybit.linear.0")),
    ("consumer", "look into quarantine", lambda channel: channel.basic_get("quarantine.account")),
    ("consumer", "publish", lambda channel: channel.basic_publish(b"[]", exchange="market", routing_key="t.b.x")),
    ("consumer", "ask for resyncs", lambda channel: channel.basic_publish(b"", exchange="control", routing_key="r")),
    ("consumer", "delete what others need", lambda channel: channel.exchange_delete("market")),
    ("account-consumer", "publish", lambda channel: channel.basic_publish(b"[]", exchange="account", routing_key="f")),
    ("account-consumer", "read raw frames", lambda channel: channel.basic_get("raw.account.bybit.main")),
    ("ingest", "publish messages", lambda channel: channel.basic_publish(b"", exchange="market", routing_key="t.b.x")),
    (
        "ingest",
        "publish frames of accounts",
        lambda channel: channel.basic_publish(b"", exchange="raw", routing_key="account.bybit.main"),
    ),
    ("ingest", "take frames back", lambda channel: channel.basic_get("raw.market.bybit.linear.0")),
    ("ingest", "declare an account's queue", lambda channel: channel.queue_declare("raw.account.x", durable=True)),
    (
        "ingest-account",
        "publish market frames",
        lambda channel: channel.basic_publish(b"", exchange="raw", routing_key="market.bybit.linear.0"),
    ),
    ("normalizer", "read frames of accounts", lambda channel: channel.basic_get("raw.account.bybit.main")),
    ("normalizer", "publish of accounts", lambda channel: channel.basic_publish(b"", exchange="account")),
    ("normalizer", "lock an account", lambda channel: channel.queue_declare("lock.raw.account.b", exclusive=True)),
    ("normalizer-account", "publish market messages", lambda channel: channel.basic_publish(b"", exchange="market")),
    ("normalizer-account", "read market frames", lambda channel: channel.basic_get("raw.market.bybit.linear.0")),
]


@pytest.mark.parametrize(("role", "what", "attempt"), FORBIDDEN, ids=[f"{role}: {what}" for role, what, _ in FORBIDDEN])
async def test_no_role_may(urls: dict[str, str], role: str, what: str, attempt: Try) -> None:
    async with bus(urls, "ingest") as market, bus(urls, "ingest-account") as private:
        await market.declare(BOOK)
        await private.declare(PRIVATE)
        connection = await aiormq.connect(urls[role])
        try:
            with pytest.raises(aiormq.exceptions.ChannelAccessRefused):
                await attempt(await connection.channel(publisher_confirms=True))
        finally:
            await connection.close()
