"""The private node does what the fault tests rely on."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import aio_pika
import pytest

from services.cli.local_rabbit import LocalRabbitError, RabbitNode
from tests.support.eventually import eventually, eventually_sync
from tests.support.paths import ROOT

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def node() -> Iterator[RabbitNode]:
    """A node to kill, pause and alarm; every test leaves it running."""
    with RabbitNode() as running:
        yield running


async def publish(url: str, queue: str, body: bytes) -> None:
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        await channel.declare_queue(queue, durable=True)
        message = aio_pika.Message(body, delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
        await channel.default_exchange.publish(message, queue)


async def fetch(url: str, queue: str) -> bytes:
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        message = await (await channel.get_queue(queue)).get(timeout=60)
        assert message is not None
        await message.ack()
        return message.body


async def test_every_test_has_an_empty_virtual_host(rabbit_url: str) -> None:
    await publish(rabbit_url, "q", b"here")

    assert await fetch(rabbit_url, "q") == b"here"


async def test_virtual_hosts_do_not_see_each_other(rabbit_url: str) -> None:
    async with await aio_pika.connect(rabbit_url) as connection:
        channel = await connection.channel()
        with pytest.raises(aio_pika.exceptions.ChannelNotFoundEntity):
            await channel.declare_queue("q", passive=True)


@pytest.mark.fault
async def test_confirmed_message_survives_kill(node: RabbitNode) -> None:
    await publish(node.url, "q", b"kept")

    await asyncio.to_thread(node.kill)
    with pytest.raises(OSError, match="Connect call failed"):
        await aio_pika.connect(node.url)
    await asyncio.to_thread(node.start)

    assert await fetch(node.url, "q") == b"kept"


@pytest.mark.fault
async def test_paused_node_is_silent_and_goes_on(node: RabbitNode) -> None:
    async with await aio_pika.connect(node.url) as connection:
        channel = await connection.channel()
        node.pause()
        declared = asyncio.ensure_future(channel.declare_queue("silent", exclusive=True))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(declared), 0.5)
        assert node.running
        node.resume()

        assert (await declared).name == "silent"


@pytest.mark.fault
async def test_memory_alarm_blocks_publishers(node: RabbitNode) -> None:
    async with await aio_pika.connect(node.url) as connection:
        channel = await connection.channel()
        await channel.declare_queue("alarmed", exclusive=True)
        await asyncio.to_thread(node.memory_alarm, on=True)
        published = asyncio.ensure_future(channel.default_exchange.publish(aio_pika.Message(b"late"), "alarmed"))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(published), 0.5)
        await asyncio.to_thread(node.memory_alarm, on=False)

        await eventually(published.done, "the publish goes through once the alarm is over")


@pytest.mark.fault
def test_node_dies_with_its_owner_and_leaves_its_directory_to_the_next(tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "rabbit")], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    with owner.stdout:
        pid = int(owner.stdout.readline())
    owner.kill()
    owner.wait()

    eventually_sync(lambda: not _alive(pid), "the node ends")
    with RabbitNode(tmp_path / "rabbit") as following:
        assert "kept" in following.ctl("list_vhosts").split()
    assert not following.running


OWNER = """
import sys, threading
from pathlib import Path
from services.cli.local_rabbit import RabbitNode
node = RabbitNode(Path(sys.argv[1])).start()
node.ctl("add_vhost", "kept")
print(node.pid, flush=True)
threading.Event().wait()
"""


def _alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]
    except OSError:
        return False


def test_a_node_that_cannot_start_says_why(tmp_path: Path) -> None:
    node = RabbitNode(tmp_path / "rabbit", settings=["no.such.setting = 1"])

    with pytest.raises(LocalRabbitError, match=r"(?s)ended while it started.*no\.such\.setting"), node:
        pass


def test_rabbitmqctl_failure_names_command_and_reason(rabbit_node: RabbitNode) -> None:
    with pytest.raises(LocalRabbitError, match=r"rabbitmqctl delete_vhost nowhere ended with .*nowhere"):
        rabbit_node.ctl("delete_vhost", "nowhere")
