"""Owns streams: asks the decision, does what it says, tells of it. One object per session."""

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Final

from services.normalizer.holding import Held
from services.normalizer.knowledge import Knowledge
from services.normalizer.telemetry import NormalizerTelemetry
from shared.bus.base import Publisher, RawConsumer, StreamBusy
from shared.clock import Clock
from shared.control import StreamInfo, encode_control
from shared.errors import BrokerError, TopologyMismatch
from shared.ownership import Ownership, tick_ns
from shared.telemetry.tasks import TaskSet
from shared.topology import CONTROL, holdings_key

__all__ = ["Owner"]

log = logging.getLogger(__name__)

TELL_EVERY_S: Final = 2.0
DEADLINE_S: Final = 2.0
LEAVE_S: Final = 60.0
"""Longer than any claim or release takes."""


class Owner:
    """Claims and releases for one session; everything ends with it."""

    def __init__(
        self,
        consumer: RawConsumer,
        publisher: Publisher,
        knowledge: Knowledge,
        clock: Clock,
        telemetry: NormalizerTelemetry,
        forget: Callable[[StreamInfo], None],
    ) -> None:
        self._consumer = consumer
        self._publisher = publisher
        self._owned = knowledge.owned
        self._known = knowledge.known
        self._peers = knowledge.peers
        self._tables = knowledge.tables
        self._clock = clock
        self._telemetry = telemetry
        self._forget = forget
        self._decision = Ownership(consumer.member)
        self._claiming: set[str] = set()
        self._releasing: set[str] = set()
        self._members = 0
        self._wake = asyncio.Event()
        self._tell = asyncio.Event()
        self._tasks = TaskSet()
        self._moves = TaskSet()
        self._leaving = False
        self.mismatched: dict[str, str] = {}
        """Streams whose queue can't be consumed by anybody, and why; tried again all the time."""

    def changed(self, freed: list[str]) -> None:
        """There are other streams, or these have no owner any more."""
        self._decision.freed(freed)
        self._wake.set()

    async def run(self) -> None:
        """Until cancelled; raises BrokerError."""
        async with self._tasks, self._moves:
            self._tasks.spawn(self._tell_all(), "holdings")
            self._tasks.spawn(self._decide_all(), "ownership")
            await self._tasks.first(self._moves.first(asyncio.Event().wait()))

    async def leave(self) -> None:
        """Everything goes to others, at once: first the place on the list, so that they take a larger share.

        While :meth:`run` runs; it raises what goes wrong.
        """
        self._leaving = True
        await self._consumer.leave()
        for held in tuple(self._owned.streams.values()):
            self._moves.spawn(self._release(held.info, "stopping"), "release")
        await self._moves.join(LEAVE_S)

    def lost(self) -> None:
        """The session ended, and with it whatever was owned."""
        for held in self._owned.streams.values():
            self._telemetry.released(held.info, "lost", None)
        self._owned.streams.clear()

    async def _decide_all(self) -> None:
        look_at = 0
        while not self._leaving:
            now = self._clock.monotonic()
            if now >= look_at:
                await self._count()
                look_at = now + tick_ns(random.random())
                self._expire(now)
            self._wake.clear()
            self._decide(now)
            try:
                async with asyncio.timeout(max(0.0, (look_at - self._clock.monotonic()) / 1e9)):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _count(self) -> None:
        members = await self._consumer.members()
        if members != self._members:
            self._members = members
            self._telemetry.members(members)

    def _expire(self, now: int) -> None:
        self._known.alive(self._owned.fresh)
        self._owned.fresh.clear()
        for stream in self._known.look(now):
            log.info("%s is not announced any more", stream.stream)
            self._peers.forget(stream.stream)
            self.mismatched.pop(stream.stream, None)

    def _decide(self, now: int) -> None:
        if self._leaving:
            return
        owned = self._owned.streams.keys() | self._claiming
        verdict = self._decision.decide(now, self._known.streams, self._members, owned, self._releasing)
        for name in verdict.claim:
            self._claiming.add(name)
            self._moves.spawn(self._claim(self._known.streams[name]), "claim")
        for name in verdict.release:
            held = self._owned.streams.get(name)
            if held is not None:  # a claim that is under way is judged when it is done
                reason = "yielded" if name in self._known.streams else "unannounced"
                self._moves.spawn(self._release(held.info, reason), "release")

    async def _claim(self, stream: StreamInfo) -> None:
        name, begun = stream.stream, self._clock.monotonic()
        try:
            await self._tables.ready(stream, self._publisher)
            await self._consumer.add(stream)
        except (StreamBusy, TopologyMismatch) as error:
            self._decision.refused(name, self._clock.monotonic(), random.random())
            self._refused(name, error)
        else:
            self.mismatched.pop(name, None)
            self._owned.streams[name] = Held(stream, begun, self._clock.wall())
            self._telemetry.taken(stream, self._peers.taken(name))
            self._tell.set()
            if self._leaving:
                await self._release(stream, "stopping")
        finally:
            self._claiming.discard(name)
            self._wake.set()

    def _refused(self, name: str, error: BrokerError) -> None:
        if isinstance(error, TopologyMismatch) and self.mismatched.get(name) != str(error):
            self.mismatched[name] = str(error)
            log.warning("a stream is not consumed: %s", error)

    async def _release(self, stream: StreamInfo, reason: str) -> None:
        name, begun = stream.stream, self._clock.monotonic()
        held = self._owned.streams.pop(name)
        self._releasing.add(name)
        try:
            await self._consumer.release(stream)
        except BaseException:
            self._telemetry.released(held.info, "lost", None)
            raise
        finally:
            self._releasing.discard(name)
        self._forget(held.info)
        self._telemetry.released(held.info, reason, self._clock.monotonic() - begun)
        self._tell.set()
        self._wake.set()

    async def _tell_all(self) -> None:
        while True:
            self._tell.clear()
            await self._publish_holdings()
            try:
                async with asyncio.timeout(TELL_EVERY_S):
                    await self._tell.wait()
            except TimeoutError:
                pass

    async def _publish_holdings(self) -> None:
        self._consumer.check()
        body = encode_control(self._owned.message())
        try:
            await self._publisher.publish(CONTROL, holdings_key(), body, deadline_s=DEADLINE_S)
        except BrokerError as error:
            log.debug("holdings were not published: %s", error)
