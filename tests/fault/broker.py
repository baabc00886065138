"""A broker under test."""

import asyncio
from contextlib import suppress
from pathlib import Path

from tests.support.eventually import eventually
from tests.support.rabbit import RabbitNode

__all__ = ["Broker"]


class Broker:
    """A node, and the URL of a virtual host on it."""

    def __init__(self, node: RabbitNode, url: str) -> None:
        self.node = node
        self.url = url

    @property
    def vhost(self) -> str:
        return self.url.rpartition("/")[2]

    async def close_all_connections(self) -> None:
        await asyncio.to_thread(self.node.ctl, "close_all_connections", "--vhost", self.vhost, "for the test")

    async def start(self) -> None:
        await asyncio.to_thread(self.node.start)

    async def kill(self) -> None:
        await asyncio.to_thread(self.node.kill)

    async def stop(self) -> None:
        await asyncio.to_thread(self.node.stop)

    async def freeze(self) -> None:
        """SIGSTOP, and wait until it took effect on the last thread: a confirm may still slip out before."""
        self.node.pause()
        await eventually(lambda: _states(self.node) == {"T"})

    def thaw(self) -> None:
        self.node.resume()

    async def memory_alarm(self, *, on: bool) -> None:
        await asyncio.to_thread(self.node.memory_alarm, on=on)

    async def listed(self, what: str, *columns: str) -> list[list[str]]:
        """The rows of ``rabbitmqctl list_<what>`` for the virtual host."""
        place = () if what == "connections" else ("-p", self.vhost)
        text = await asyncio.to_thread(self.node.ctl, *place, f"list_{what}", "--no-table-headers", *columns)
        return [line.split("\t") for line in text.splitlines()]


def _states(node: RabbitNode) -> set[str]:
    """The states of all threads of the node's process group, as proc(5) has them."""
    group = str(node.pid)
    states: set[str] = set()
    for stat in Path("/proc").glob("[0-9]*/task/*/stat"):
        with suppress(OSError):  # gone meanwhile
            state, _, its_group = stat.read_text().rpartition(") ")[2].split()[:3]
            if its_group == group:
                states.add(state)
    return states
