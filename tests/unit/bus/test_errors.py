"""Every exception that the AMQP library is known to raise becomes one of ours, and nothing else does."""

import asyncio

import pytest
from aio_pika import exceptions as amqp
from aiormq.abc import DeliveredMessage
from aiormq.exceptions import ChannelAccessRefused, ChannelLockedResource
from pamqp import commands, header
from pamqp.exceptions import AMQPFrameError

from shared.bus.base import StreamBusy
from shared.bus.rabbit.errors import AccessRefused, EntityMissing, translate_errors
from shared.errors import BrokerError, BrokerUnavailable, PublishFailed, TopologyMismatch

RETURN = commands.Basic.Return(312, "NO_ROUTE", "raw", "market.x")


def returned() -> amqp.PublishError:
    message = DeliveredMessage(delivery=RETURN, header=header.ContentHeader(), body=b"", channel=None)  # type: ignore[arg-type]
    return amqp.PublishError(message, RETURN)


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (amqp.AMQPConnectionError("gone"), BrokerUnavailable),
        (amqp.ConnectionClosed(320, "CONNECTION_FORCED"), BrokerUnavailable),
        (amqp.ChannelInvalidStateError("closed"), BrokerUnavailable),
        (RuntimeError("Connection was not opened"), BrokerUnavailable),
        (ConnectionResetError(), BrokerUnavailable),
        (AMQPFrameError(), BrokerUnavailable),
        (Exception(), BrokerUnavailable),
        (asyncio.CancelledError(), BrokerUnavailable),
        (ChannelLockedResource("RESOURCE_LOCKED"), StreamBusy),
        (ChannelAccessRefused("ACCESS_REFUSED - access to queue 'q' refused for user 'u'"), AccessRefused),
        (ChannelAccessRefused("ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use"), StreamBusy),
        (amqp.ChannelNotFoundEntity("NOT_FOUND - no exchange 'market'"), EntityMissing),
        (amqp.ChannelPreconditionFailed("PRECONDITION_FAILED"), TopologyMismatch),
        (amqp.DeliveryError(None, commands.Basic.Nack(1)), PublishFailed),
        (returned(), PublishFailed),
        (TopologyMismatch("already ours"), TopologyMismatch),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else type(value).__name__,
)
async def test_known_errors(error: BaseException, ours: type[BrokerError]) -> None:
    with pytest.raises(ours) as failure, translate_errors("try"):
        raise error
    assert type(failure.value) is ours


async def test_reasons_of_a_failed_publish() -> None:
    for error, reason in ((returned(), "returned"), (amqp.DeliveryError(None, commands.Basic.Nack(1)), "nacked")):
        with pytest.raises(PublishFailed) as failure, translate_errors("publish to raw"):
            raise error
        assert failure.value.reason == reason
        assert "publish to raw" in str(failure.value)


@pytest.mark.parametrize("error", [ValueError("ours"), KeyError("x"), KeyboardInterrupt()], ids=repr)
async def test_defects_stay_what_they_are(error: BaseException) -> None:
    with pytest.raises(type(error)) as failure, translate_errors("try"):
        raise error
    assert failure.value is error


async def test_our_cancellation_stays_one_even_while_we_clean_up() -> None:
    cleaned: list[str] = []

    async def worker() -> None:
        try:
            with translate_errors("wait"):
                await asyncio.get_running_loop().create_future()
        finally:
            with pytest.raises(BrokerUnavailable), translate_errors("clean up"):
                raise asyncio.CancelledError  # a dead connection, while we are being cancelled ourselves
            cleaned.append("up")

    task = asyncio.create_task(worker())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned == ["up"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            (
                "PRECONDITION_FAILED - inequivalent arg 'x-max-length' for queue 'q.1' in vhost '/': received the "
                "value '100' of type 'signedint' but current is the value '10' of type 'signedint'"
            ),
            "queue q.1 exists with x-max-length = 10, ours was 100",
        ),
        (
            (
                "PRECONDITION_FAILED - inequivalent arg 'type' for exchange 'market' in vhost 'a b': received 'topic' "
                "but current is 'fanout'"
            ),
            "AMQP exchange market exists with type = fanout, ours was topic",
        ),
        (
            (
                "PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/': received none but "
                "current is the value '5' of type 'long'"
            ),
            "queue q exists with x-message-ttl = 5, ours was none",
        ),
        ("PRECONDITION_FAILED - something new", "declare: PRECONDITION_FAILED - something new"),
    ],
)
async def test_mismatch_names_both_values(text: str, expected: str) -> None:
    with pytest.raises(TopologyMismatch) as failure, translate_errors("declare"):
        raise amqp.ChannelPreconditionFailed(text)
    assert str(failure.value) == expected
