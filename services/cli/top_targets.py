"""Whom ``tidegate top`` asks, and what they answered last."""

import asyncio
import socket
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from services.cli.errors import UsageError
from services.cli.notes import left
from services.cli.top_report import Look
from shared.errors import RequestFailed
from shared.telemetry.scrape import Scrape
from shared.transport.http import PageReader

__all__ = ["Address", "Targets", "parse"]

DISCOVER_EVERY: Final = 5
"""Looks; in between only those are asked that answered before."""
MOST: Final = 256
"""Processes that are asked; the number of what is past it is in ``left_out``."""


class Address(NamedTuple):
    """Where a process, or each replica of a service, serves its metrics."""

    host: str
    port: int
    path: str

    @property
    def name(self) -> str:
        """``host:port``."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Targets:
    """The given addresses or, without any, those where this user's commands on this machine say that they serve.

    ``port`` is where a single stage has its metrics by the settings: it leaves no note.
    """

    def __init__(self, given: Sequence[str], port: int | None = None) -> None:
        self._given = [parse(one) for one in given]
        self._port = port
        self._targets: dict[Address, _Target] = {}
        self._looks = 0
        self.left_out = 0

    async def look(self, reader: PageReader) -> list[Look]:
        """Ask all at once. Of addresses that were not given, those where Tidegate never answered say nothing."""
        asked = await self._resolved() if self._given else self._likely()
        self.left_out = max(0, len(asked) - MOST)
        targets = {address: self._targets.get(address) or _Target(address) for address in asked[:MOST]}
        looks = await asyncio.gather(*(target.look(reader) for target in targets.values()))
        answers = zip(targets.items(), looks, strict=True)
        self._targets = {address: target for (address, target), look in answers if self._given or target.answered}
        self._looks += 1
        names = {address.name for address in self._targets}
        return [look for look in looks if look.target in names]

    def _likely(self) -> list[Address]:
        if self._looks % DISCOVER_EVERY:
            return list(self._targets)
        noted = [parse(address) for note in left() for address in note.listening]
        single = [] if self._port is None else [Address("127.0.0.1", self._port, "/metrics")]
        return list(dict.fromkeys([*self._targets, *single, *noted]))

    async def _resolved(self) -> list[Address]:
        found = await asyncio.gather(*(_replicas(address) for address in self._given))
        return list(dict.fromkeys(address for addresses in found for address in addresses))


class _Target:
    """One process: where it answers, and what it answered last."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._last: Scrape | None = None
        self._at = 0.0
        self.answered = False

    async def look(self, reader: PageReader) -> Look:
        """Ask once."""
        last, at = self._last, self._at
        self._last = None
        try:
            text = await reader.get(f"http://{self._address.name}{self._address.path}")
            scrape = Scrape.parse(text.decode())
        except RequestFailed as error:
            return Look(self._address.name, problem=error.problem)
        except ValueError as error:
            return Look(self._address.name, problem=f"answered with {error}")
        if "build_info" not in scrape:
            return Look(self._address.name, problem="answered, but is not Tidegate")
        self._last, self._at, self.answered = scrape, asyncio.get_running_loop().time(), True
        if last is not None and _started(last) != _started(scrape):
            last = None
        return Look(self._address.name, scrape, last, self._at - at)


def parse(url: str) -> Address:
    """``http://host:port/metrics``; scheme and path may be left out. Raises UsageError."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if parts.scheme != "http" or not host or parts.username is not None:
        raise UsageError("--target", f"must be http://host:port/metrics, {url!r} was given")
    return Address(host, port or 80, parts.path if parts.path not in {"", "/"} else "/metrics")


async def _replicas(address: Address) -> list[Address]:
    """A name with several addresses stands for as many processes (a scaled service)."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError:
        return [address]
    hosts = [str(place[0]) for family, *_, place in found if family == socket.AF_INET]
    return [address._replace(host=host) for host in hosts] or [address]


def _started(scrape: Scrape) -> float:
    return scrape.total("process_start_time_seconds")
