"""Whatever comes off a private socket or over REST: records, a rejection, or a ParseError; nothing else."""

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.accounts.base import AccountAdapter, AccountPlan, CatchUpNeeds, StepKind
from shared.envelope import RestReply
from shared.errors import PARSE_CODES, ParseError
from shared.exchanges.binance.account import ACCOUNT_ADAPTER as BINANCE
from shared.exchanges.bybit.account import ACCOUNT_ADAPTER as BYBIT
from shared.exchanges.mexc.account import ACCOUNT_ADAPTER as MEXC
from tests.contract.account_conformance import MOST_CALLS, check_found
from tests.contract.account_samples import CREDENTIALS, NOW, AccountSample, origin_of, read, reply_to
from tests.unit.exchanges.binance.account import samples as binance
from tests.unit.exchanges.bybit.account import samples as bybit
from tests.unit.exchanges.mexc.account import samples as mexc


class Stream(NamedTuple):
    """A private stream with what its venue is known to say."""

    adapter: AccountAdapter
    plan: AccountPlan
    samples: Sequence[AccountSample]
    said: Sequence[bytes]

    def valid(self) -> list[bytes]:
        """Every frame, page and answer that is known."""
        return sorted({sample.data for sample in self.samples} | set(self.said))


def streams(adapter: AccountAdapter, of: object, products: Sequence[str]) -> list[Stream]:
    """The streams of a venue, from the samples that its conformance tests know."""
    plans = adapter.plan("main", products, ("SOLUSDT",), adapter.products)
    found = []
    for plan in plans:
        samples = [sample for sample in of.SAMPLES if sample.stream == plan.name]  # type: ignore[attr-defined]
        events = [event.data for event in of.OPENINGS[plan.name]]  # type: ignore[attr-defined]
        for group in (of.REFUSALS, of.ENDINGS):  # type: ignore[attr-defined]
            events += [event.data for life in group[plan.name] for event in life]
        found.append(Stream(adapter, plan, samples, events))
    return found


STREAMS = [
    *streams(BYBIT, bybit, bybit.PRODUCTS),
    *streams(BINANCE, binance, binance.PRODUCTS),
    *streams(MEXC, mexc, mexc.PRODUCTS),
]
OF = {"bybit": bybit, "binance": binance, "mexc": mexc}
TOKENS = [b"null", b"NaN", b"-1", b"1e999", b'""', b"[]", b"{}", b"true", b"9" * 40, b'"\\ud800"', b"\xff", b"\\u0000"]
ANY_STREAM = st.sampled_from(STREAMS)


@st.composite
def mutated(draw: st.DrawFn, stream: Stream) -> bytes:
    """Something that the venue says, with some bytes cut, doubled, exchanged or replaced by a token."""
    data = draw(st.sampled_from(stream.valid()))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 12)))
        middle = draw(st.one_of(st.binary(max_size=6), st.sampled_from(TOKENS), st.just(data[start:end] * 2)))
        data = data[:start] + middle + data[end:]
    return data


def survives(stream: Stream, data: bytes) -> None:
    listed = OF[stream.plan.exchange].LISTED
    for binary in (False, True):
        sample = AccountSample(stream.plan.name, "any", data, (), binary=binary)
        check_found(stream.plan, read(stream.adapter, stream.plan, listed, sample), "stream")
    dialogue = stream.adapter.dialogue(stream.plan, CREDENTIALS)
    call = dialogue.before()
    if call is not None:
        assert dialogue.replied(call, reply_to(stream.plan, call, data)).kind in StepKind
    dialogue.opened(NOW)
    for binary in (False, True):
        assert dialogue.received(data, binary, NOW).kind in StepKind
    assert dialogue.due(NOW + 100_000).kind in StepKind


@settings(deadline=None)
@given(ANY_STREAM, st.binary(max_size=300))
def test_arbitrary_bytes(stream: Stream, data: bytes) -> None:
    survives(stream, data)


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_mutated_frames(data: st.DataObject) -> None:
    stream = data.draw(ANY_STREAM)
    survives(stream, data.draw(mutated(stream)))


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_replies_of_any_kind(data: st.DataObject) -> None:
    stream = data.draw(ANY_STREAM)
    body = data.draw(st.one_of(mutated(stream), st.binary(max_size=100)))
    status = data.draw(st.sampled_from([200, 200, 200, 400, 401, 404, 500]))
    urls = sorted({sample.url for sample in stream.samples if sample.url is not None} | {"https://x.test/", ""})
    reply = RestReply(data.draw(st.sampled_from(urls)), status, body)
    refused = stream.adapter.refused(reply)
    assert refused is None or refused
    for read_reply in (
        lambda: stream.adapter.clock_ms(reply),
        lambda: stream.adapter.instruments(stream.plan, reply),
        lambda: stream.adapter.next_instruments(stream.plan, stream.adapter.instrument_requests(stream.plan)[0], reply),
        lambda: check_found(
            stream.plan, stream.adapter.parser(stream.plan, {}).caught_up(origin_of(stream.plan), [reply]), "rest"
        ),
    ):
        try:
            read_reply()
        except ParseError as error:
            assert error.code in PARSE_CODES  # noqa: PT017 - either outcome is right


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_catching_up_ends_whatever_is_answered(data: st.DataObject) -> None:
    stream = data.draw(ANY_STREAM)
    of = OF[stream.plan.exchange]
    since = NOW - data.draw(st.sampled_from([0, 1, 60_000, 10**9, 4 * 10**9]))
    catch_up = stream.adapter.catch_up(stream.plan, CatchUpNeeds(since, NOW, ("SOLUSDT",)))
    ways = data.draw(st.lists(st.sampled_from(["empty", "endless", "mutated"]), min_size=1, max_size=8))
    spoiled = data.draw(mutated(stream))
    waiting = list(catch_up.begin())
    asked = 0
    while waiting:
        call = waiting.pop(0)
        way = ways[asked % len(ways)]
        asked += 1
        assert asked < MOST_CALLS
        body = of.empty(call) if way == "empty" else of.endless(call, asked) if way == "endless" else spoiled
        try:
            waiting.extend(catch_up.replied(call, reply_to(stream.plan, call, body)))
        except ParseError as error:
            assert error.code in PARSE_CODES  # noqa: PT017 - either outcome is right
            break
    assert since <= catch_up.covered_ms <= NOW
