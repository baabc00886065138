"""What a venue's account conformance tests are made of; ``account_conformance`` says how to fill it in."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from shared.accounts.base import AccountAdapter, AccountPlan, Call, Credentials, Found, Step, StepKind
from shared.accounts.messages import AccountMessage
from shared.envelope import Frame, FrameKind, RestReply
from shared.errors import ParseError
from shared.exchanges.base import Origin, Rejection
from shared.exchanges.signing import query
from shared.instruments import Instrument, InstrumentTable
from tests.contract.samples import Path

__all__ = [
    "CREDENTIALS",
    "KEY",
    "NOW",
    "SECRET",
    "AccountSample",
    "Event",
    "Refused",
    "answer",
    "everything",
    "fetched",
    "message",
    "messages_of",
    "origin_of",
    "play",
    "read",
    "reply_to",
]

NOW = 1_790_000_000_000
"""The venue's clock, in milliseconds."""

KEY = "key0planted1for2tests3"
SECRET = "secret0planted1for2tests3"
CREDENTIALS = Credentials(KEY, SECRET)


class AccountSample(NamedTuple):
    """A frame of a stream (or, with ``url``, the body of a reply of its reconciliation), and what must come of it.

    ``feeds``: tags of its messages: orders, fills, balances, changes, positions, in this order. ``numbers``: where
    decimal numbers sit that get out. ``symbols``: what its step names.
    """

    stream: str
    name: str
    data: bytes
    feeds: tuple[str, ...]
    numbers: tuple[Path, ...] = ()
    symbols: tuple[str, ...] = ()
    binary: bool = False
    url: str | None = None


class Event(NamedTuple):
    """Something that happens to a connection: a message, or (with ``status``) a reply to a call of the dialogue."""

    data: bytes
    status: int | None = None
    binary: bool = False


class Refused(NamedTuple):
    """A reply, and the word that :meth:`AccountAdapter.refused` must begin with (null: it was not refused)."""

    status: int
    body: bytes
    word: str | None


def message(data: bytes) -> Event:
    """A text message."""
    return Event(data)


def answer(body: bytes, status: int = 200) -> Event:
    """A reply to the oldest call that was not answered yet."""
    return Event(body, status)


def reply_to(plan: AccountPlan, call: Call, body: bytes, status: int = 200) -> RestReply:
    """The reply as ingest hands it on: the URL has no key, time or signature."""
    text = query(call.parameters)
    return RestReply(f"{plan.endpoints.rest}{call.path}{f'?{text}' if text else ''}", status, body)


class Played(NamedTuple):
    """What a dialogue said, and what it sent."""

    steps: list[Step]
    sent: list[str]
    calls: list[Call]


def play(adapter: AccountAdapter, plan: AccountPlan, events: Sequence[Event], now: int = NOW) -> Played:
    """One connection from before its URL is known; events come 10 ms apart."""
    dialogue = adapter.dialogue(plan, CREDENTIALS)
    steps: list[Step] = []
    sent: list[str] = []
    calls: list[Call] = []
    open_calls: list[Call] = []
    left = list(events)

    def take(step: Step) -> None:
        steps.append(step)
        sent.extend(step.send)
        calls.extend(step.calls)
        open_calls.extend(step.calls)

    first = dialogue.before()
    if first is not None:
        calls.append(first)
        event = left.pop(0)
        assert event.status is not None, "the first event has to be the reply to what comes before the socket"
        take(dialogue.replied(first, reply_to(plan, first, event.data, event.status)))
        if steps[-1].kind is not StepKind.CONTROL:
            return Played(steps, sent, calls)
    assert dialogue.url.startswith(plan.endpoints.websocket)
    take(dialogue.opened(now))
    for at, event in enumerate(left):
        if event.status is not None:
            call = open_calls.pop(0)
            take(dialogue.replied(call, reply_to(plan, call, event.data, event.status)))
        else:
            take(dialogue.received(event.data, event.binary, now + 10 * (at + 1)))
    return Played(steps, sent, calls)


def origin_of(plan: AccountPlan, frame: int = 0) -> Origin:
    """Where a frame comes from."""
    origin = Origin(plan.exchange, plan.name)
    origin.epoch, origin.frame = 7, frame
    origin.ts_received, origin.ts_normalized = NOW * 1_000_000 + 5_000_000, NOW * 1_000_000 + 5_100_000
    return origin


def read(
    adapter: AccountAdapter,
    plan: AccountPlan,
    listed: dict[str, tuple[Instrument, ...]],
    sample: AccountSample,
    data: bytes | None = None,
) -> Found:
    """What a parser makes of a sample, or of other bytes in its place; one that it can't read is a rejection."""
    parser = adapter.parser(plan, {product: InstrumentTable(listed.get(product, ())) for product in plan.products})
    content = sample.data if data is None else data
    try:
        if sample.url is not None:
            return parser.caught_up(origin_of(plan), [RestReply(sample.url, 200, content)])
        kind = FrameKind.BINARY if sample.binary else FrameKind.TEXT
        return parser.data(origin_of(plan), Frame(kind, origin_of(plan).ts_received, content))
    except ParseError as error:
        return Found([], [], [], [], [Rejection(error.code, error.detail)])


def messages_of(found: Found) -> list[AccountMessage]:
    """All messages: orders, fills, balances, changes, positions."""
    return [*found.orders, *found.fills, *found.balances, *(found.changes or ()), *found.positions]


def everything(found: Found) -> tuple[object, ...]:
    """A reading as a value to compare."""
    return (
        *(tuple(group) for group in (found.orders, found.fills, found.balances, found.changes or (), found.positions)),
        tuple(found.rejections),
        found.open_orders_of,
        found.positions_of,
        found.all_balances,
    )


def fetched(
    adapter: AccountAdapter,
    plan: AccountPlan,
    calls: Sequence[Call],
    replied: Callable[[Call, RestReply], Sequence[Call]],
    venue: Callable[[Call], bytes],
) -> Iterator[tuple[Call, RestReply]]:
    """A reconciliation to its end, call by call, as ingest drives it."""
    waiting = list(calls)
    while waiting:
        call = waiting.pop(0)
        assert adapter.sign(plan, call, CREDENTIALS, NOW).method == call.method
        reply = reply_to(plan, call, venue(call))
        yield call, reply
        waiting.extend(replied(call, reply))
