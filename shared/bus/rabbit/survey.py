"""Looks what of the topology is there and how it differs, and changes nothing."""

from collections.abc import Sequence
from typing import Final

import aiormq

from shared.bus.rabbit.detached import detached
from shared.bus.rabbit.errors import AccessRefused, EntityMissing, answered
from shared.bus.rabbit.link import Link, close_channel, in_time
from shared.control import StreamInfo
from shared.errors import TopologyMismatch
from shared.topology import AMQP_EXCHANGES, AmqpExchange, Queue, QueueLimits, quarantine_queue, raw_queue

__all__ = ["survey"]

DEADLINE_S: Final = 10.0
HEARTBEAT_S: Final = 10


async def survey(
    url: str, name: str, limits: QueueLimits, streams: Sequence[StreamInfo]
) -> tuple[list[str], list[str], list[str]]:
    """What is as it should be, what is missing, and how the rest differs: AMQP exchanges, queues, those of the streams.

    Raises BrokerUnavailable. Bindings are not looked at: AMQP does not tell them.
    """
    things: list[AmqpExchange | Queue] = [*AMQP_EXCHANGES]
    things += [quarantine_queue("market", limits), quarantine_queue("account", limits)]
    things += [raw_queue(stream, limits) for stream in streams]
    fine, missing, different = [], [], []
    link = Link(url, name, HEARTBEAT_S)
    try:
        await link.open(lambda: None)
        for thing in things:
            title = f"queue {thing.name}" if isinstance(thing, Queue) else f"AMQP exchange {thing.name}"
            try:
                await _look(link, thing, title)
            except EntityMissing:
                missing.append(title)
            except TopologyMismatch as error:
                different.append(str(error))
            else:
                fine.append(title)
    finally:
        await in_time(link.close())
    return fine, missing, different


async def _look(link: Link, thing: AmqpExchange | Queue, title: str) -> None:
    """Raises EntityMissing or TopologyMismatch.

    That something is there as it should be is learned by declaring what is there, which then does nothing; one who may
    not do that has to be content with its being there.
    """
    channel = await link.channel(confirms=False)
    try:
        async with answered(f"look at {title}", DEADLINE_S):
            await detached(_declare(channel, thing, passive=True))
        try:
            async with answered(f"compare {title}", DEADLINE_S):
                await detached(_declare(channel, thing, passive=False))
        except AccessRefused:
            return
    finally:
        await close_channel(channel)


async def _declare(channel: aiormq.Channel, thing: AmqpExchange | Queue, *, passive: bool) -> None:
    if isinstance(thing, Queue):
        await channel.queue_declare(thing.name, passive=passive, durable=True, arguments=dict(thing.arguments))
    else:
        await channel.exchange_declare(thing.name, exchange_type=thing.kind, passive=passive, durable=True)
