"""Frames that are cut anywhere: what is taken and what is left over are what came, whole and in order."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pamqp import base, commands, frame, header, heartbeat
from pamqp import body as amqp_body

from shared.bus.base import Delivery
from shared.bus.rabbit.confirms import Confirmation, Confirms
from shared.bus.rabbit.deliveries import Deliveries
from shared.bus.rabbit.lane import FrameTap
from shared.errors import PublishFailed

Wire = base.Frame | header.ContentHeader | amqp_body.ContentBody

TAKEN, LEFT = 3, 4
ROOM = 40

bodies = st.binary(max_size=3 * ROOM)
keys = st.text(max_size=20)


def delivery_frames(tag: int, key: str, body: bytes, channel: int, *, redelivered: bool) -> list[bytes]:
    deliver = commands.Basic.Deliver("consumer", tag, redelivered, "market", key)
    properties = commands.Basic.Properties(content_type="application/json", app_id="somebody")
    frames: list[Wire] = [deliver, header.ContentHeader(0, len(body), properties)]
    frames += [amqp_body.ContentBody(body[at : at + ROOM]) for at in range(0, len(body), ROOM)]
    return [frame.marshal(each, channel) for each in frames]


def cut(data: bytes, at: Sequence[int]) -> list[bytes]:
    places = [0, *sorted({min(place, len(data)) for place in at}), len(data)]
    return [data[begin:end] for begin, end in pairwise(places)]


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


def what_is_left(stream: FrameTap, loop: asyncio.AbstractEventLoop) -> bytes:
    stream.feed_eof()
    return loop.run_until_complete(stream.read())


def nobody(delivery: Delivery) -> None:
    raise AssertionError(f"{delivery} was not to come")


@given(
    st.lists(st.tuples(keys, bodies, st.booleans(), st.booleans()), max_size=8),
    st.lists(st.integers(0, 2_000), max_size=20),
)
def test_deliveries_are_taken_and_the_rest_is_left(
    loop: asyncio.AbstractEventLoop, messages: list[tuple[str, bytes, bool, bool]], places: list[int]
) -> None:
    arrived: list[Delivery] = []
    stream = FrameTap(loop)
    stream.takers[TAKEN] = Deliveries(arrived.append)
    data, left, expected = b"", b"", []
    for tag, (key, body, redelivered, wanted) in enumerate(messages, 1):
        beat = frame.marshal(heartbeat.Heartbeat(), 0)
        frames = delivery_frames(tag, key, body, TAKEN if wanted else LEFT, redelivered=redelivered)
        data += beat + b"".join(frames)
        left += beat
        if wanted:
            expected.append((key, body, tag, redelivered))
        else:
            left += b"".join(frames)

    for part in cut(data, places):
        stream.feed_data(part)

    assert [each[:4] for each in arrived] == expected
    assert what_is_left(stream, loop) == left


@given(st.binary(min_size=1, max_size=100), st.lists(st.integers(0, 100), max_size=5))
def test_what_is_no_frame_is_left_as_it_came(loop: asyncio.AbstractEventLoop, data: bytes, places: list[int]) -> None:
    stream = FrameTap(loop)
    stream.takers[TAKEN] = Deliveries(nobody)
    answer = b"AMQP\x00\x00\x09\x01" + data

    for part in cut(answer, places):
        stream.feed_data(part)

    assert what_is_left(stream, loop) == answer


def test_aiormq_is_told_of_the_heartbeats_that_a_busy_broker_does_not_send(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(loop, "time", lambda: now[0])
    stream = FrameTap(loop)
    arrived: list[Delivery] = []
    stream.takers[TAKEN] = Deliveries(arrived.append)
    data = b"".join(delivery_frames(1, "k", b"x", TAKEN, redelivered=False))
    for _ in range(10):
        now[0] += 0.25
        stream.feed_data(data)

    assert len(arrived) == 10
    assert what_is_left(stream, loop) == 2 * frame.marshal(heartbeat.Heartbeat(), 0)


class Broker:
    """What a broker may answer to batches, in any order and grouping, and what must come of it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.confirms = Confirms()
        self.loop = loop
        self.batches: list[tuple[Confirmation, range]] = []

    def publish(self, count: int) -> None:
        first = self.confirms.published + 1
        self.batches.append((self.confirms.expect(count, self.loop.create_future()), range(first, first + count)))

    def say(self, *answers: Wire) -> None:
        for answer in answers:
            payload = frame.marshal(answer, TAKEN)
            assert self.confirms.take(payload[0], payload[7:-1])


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=6),
    st.data(),
)
def test_a_batch_is_settled_when_every_message_of_it_is(
    loop: asyncio.AbstractEventLoop, sizes: list[int], data: st.DataObject
) -> None:
    broker = Broker(loop)
    for size in sizes:
        broker.publish(size)
    unanswered = list(range(1, broker.confirms.published + 1))
    failed: dict[int, str] = {}
    while unanswered:
        number = data.draw(st.sampled_from(unanswered))
        if data.draw(st.booleans()):
            reply = commands.Basic.Return(312, "NO_ROUTE", "raw", "nowhere")
            properties = commands.Basic.Properties(message_id=str(number))
            body = data.draw(bodies)
            broker.say(reply, header.ContentHeader(0, len(body), properties))
            if body:
                broker.say(amqp_body.ContentBody(body))
            broker.say(commands.Basic.Ack(number))
            failed[number] = "returned"
            answered = [number]
        else:
            multiple, refused = data.draw(st.booleans()), data.draw(st.booleans())
            broker.say((commands.Basic.Nack if refused else commands.Basic.Ack)(number, multiple))
            answered = [each for each in unanswered if each <= number] if multiple else [number]
            failed |= dict.fromkeys(answered, "nacked") if refused else {}
        unanswered = [each for each in unanswered if each not in answered]
        for confirmation, numbers in broker.batches:
            assert confirmation.settled.done() is not any(each in unanswered for each in numbers)
    for confirmation, numbers in broker.batches:
        reasons = {failed[number] for number in numbers if number in failed}
        error = confirmation.error
        assert (error is None) is not bool(reasons)
        assert error is None or (isinstance(error, PublishFailed) and error.reason in reasons)


def test_what_is_not_answered_when_the_channel_goes_has_failed(loop: asyncio.AbstractEventLoop) -> None:
    broker = Broker(loop)
    broker.publish(1)
    broker.publish(2)
    broker.say(commands.Basic.Ack(1), commands.Basic.Ack(2))
    lost = ConnectionResetError("gone")
    broker.confirms.close(lost)

    (first, _), (second, _) = broker.batches
    assert first.error is None
    assert second.error is lost
    assert second.settled.done()
    broker.say(commands.Basic.Ack(3))  # late, and nothing to anybody
