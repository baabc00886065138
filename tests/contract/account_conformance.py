"""What every account adapter must do, whatever the venue. Subclass it, one class per venue::

    class TestVenueAccountConformance(AccountConformance):
        adapter = ACCOUNT_ADAPTER
        products = ("spot", "linear")                 # what the plans are made for
        symbols = ("BTCUSDT",)                        # native symbols of the settings
        listed = {"spot": (INSTRUMENT, ...)}          # instruments that the samples name, per product
        samples = (AccountSample(...), ...)           # frames and pages of every kind
        openings = {"bybit.main": (message(b"...")}   # stream: what the venue says until it is authenticated
        controls = {"bybit.main": (message(b"..."))}  # then: what is no data and changes nothing
        refusals = {"bybit.main": ((message(b"..."),), ...)}   # whole connections that end with REFUSED
        endings = {"bybit.main": ((message(b"..."),), ...)}    # after the opening: what ends with BROKEN
        unknown_statuses = (AccountSample(...), ...)  # an order status that no document knows
        refused = (Refused(...), ...)                 # REST replies
        clocks = ((b'{"serverTime":1}', 1), ...)      # replies with the venue's time; null where it is none

        def empty(self, call: Call) -> bytes: ...     # what the venue says to a call when there is nothing
        def endless(self, call: Call, seed: int) -> bytes: ...   # always a full page that promises more

pytest explains the asserts in here when ``conftest`` says so before a test module imports it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import ClassVar

import pytest
from msgspec import json, structs

from shared.accounts.base import (
    REFUSALS,
    AccountAdapter,
    AccountPlan,
    Call,
    CatchUpNeeds,
    Credentials,
    Found,
    StepKind,
)
from shared.accounts.messages import OPEN_STATUSES, AccountMessage, Balance, Fill, Order, Position
from shared.accounts.state import MILLISECOND
from shared.accounts.state_records import Header, Snapshot
from shared.accounts.state_stream import AccountStream
from shared.envelope import Frame, FrameKind, Reconciliation, RestReply, encode_reconciliation
from shared.errors import PARSE_CODES, ParseError
from shared.instruments import Instrument, InstrumentTable
from tests.contract.account_samples import (
    CREDENTIALS,
    KEY,
    NOW,
    SECRET,
    AccountSample,
    Event,
    Refused,
    everything,
    fetched,
    messages_of,
    origin_of,
    play,
    read,
    reply_to,
)
from tests.contract.samples import HUGE, JUNK, Path, broken_tokens, with_extra, with_token

__all__ = ["MOST_CALLS", "AccountConformance", "check_found"]

MOST_CALLS = 5_000
"""No reconciliation asks more, whatever the venue answers."""

DAY_MS = 86_400_000
SPOKEN = frozenset({"ret_msg", "retMsg", "msg", "message", "data"})
SINCE_2001 = 1_000_000_000_000_000_000
PLAIN = re.compile(r"-?[0-9]+(\.[0-9]+)?").fullmatch
NUMBERS = {
    "order": [
        *("price", "size", "filled_size", "remaining_size", "average_price", "stop_price"),
        *("size_native", "filled_size_native"),
    ],
    "fill": ["price", "size", "fee", "realized_pnl", "size_native"],
    "balance": ["total", "available", "locked", "equity", "borrowed", "unrealized_pnl", "change"],
    "position": [
        *("size", "entry_price", "mark_price", "liquidation_price", "unrealized_pnl", "realized_pnl"),
        *("leverage", "size_native"),
    ],
}
SIGNED = frozenset({"fee", "realized_pnl", "total", "available", "equity", "unrealized_pnl", "change", "borrowed"})


def check_found(plan: AccountPlan, found: Found, source: str) -> None:
    """What must hold for what any frame gives."""
    assert {rejection[0] for rejection in found.rejections} <= PARSE_CODES - {"internal"}, found.rejections
    for one in messages_of(found):
        assert (one.exchange, one.stream, one.account, one.part) == (plan.exchange, plan.name, plan.account, 0)
        assert one.ts_exchange is None or SINCE_2001 < one.ts_exchange < 2**63, f"{one.feed}: {one.ts_exchange}"
        for field in NUMBERS[one.feed]:
            number = getattr(one, field)
            assert number is None or PLAIN(number), f"{one.feed}.{field} was {number!r}"
            assert number is None or field in SIGNED or not number.startswith("-"), f"{one.feed}.{field}: {number}"
        check_message(one, source)


def check_message(one: AccountMessage, source: str) -> None:
    """What must hold for a message of each kind."""
    match one:
        case Order():
            assert one.order_id
            assert one.side in {"buy", "sell"}
            assert one.source == source
            assert one.order_type != "market" or one.price is None
            assert one.status in OPEN_STATUSES or one.size is None or one.remaining_size is not None
        case Fill():
            assert one.execution_id
            assert one.side in {"buy", "sell"}
            assert one.source == source
            assert float(one.size) > 0
            assert one.ts_exchange is not None
            assert one.fee_asset != ""
        case Balance():
            assert one.asset
            assert one.source == source
        case Position():
            assert one.source == source
            assert (one.side is None) is (float(one.size) == 0)
            assert one.leg in {"net", one.side} or one.side is None
        case _:
            pytest.fail(f"a parser told a {type(one).__name__}")


class AccountConformance:
    """The contract of :class:`shared.accounts.base.AccountAdapter` and of what it makes."""

    adapter: ClassVar[AccountAdapter]
    products: ClassVar[tuple[str, ...]]
    symbols: ClassVar[tuple[str, ...]] = ()
    listed: ClassVar[dict[str, tuple[Instrument, ...]]]
    samples: ClassVar[tuple[AccountSample, ...]]
    openings: ClassVar[Mapping[str, tuple[Event, ...]]]
    controls: ClassVar[Mapping[str, tuple[Event, ...]]] = {}
    refusals: ClassVar[Mapping[str, tuple[tuple[Event, ...], ...]]]
    endings: ClassVar[Mapping[str, tuple[tuple[Event, ...], ...]]]
    unknown_statuses: ClassVar[tuple[AccountSample, ...]]
    refused: ClassVar[tuple[Refused, ...]]
    clocks: ClassVar[tuple[tuple[bytes, int | None], ...]]

    def empty(self, call: Call) -> bytes:
        """What the venue says to a call when there is nothing."""
        raise AssertionError(f"{type(self).__name__} must answer {call}")

    def endless(self, call: Call, seed: int) -> bytes:
        """A full page that promises more, another one for every seed."""
        raise AssertionError(f"{type(self).__name__} must answer {call} ({seed})")

    def spoiled(self, sample: AccountSample, path: Path) -> Iterator[bytes]:
        """The sample with what is no number where a number sits. Override for frames that are no JSON."""
        for token in broken_tokens():
            if token != '""':  # empty: the venue does not tell
                yield with_token(sample.data, path, token)

    def with_number(self, sample: AccountSample, path: Path, number: str) -> bytes:
        """The sample with another number where one sits. Override for frames that are no JSON."""
        return with_token(sample.data, path, f'"{number}"')

    def extended(self, sample: AccountSample) -> bytes:
        """The sample with fields that no document mentions. Override for frames that are no JSON."""
        return with_extra(sample.data)

    def plans(self) -> dict[str, AccountPlan]:
        """By the name of the stream."""
        adapter = self.adapter
        return {plan.name: plan for plan in adapter.plan("main", self.products, self.symbols, adapter.products)}

    def read(self, sample: AccountSample, data: bytes | None = None) -> Found:
        """What comes of a sample, checked."""
        plan = self.plans()[sample.stream]
        found = read(self.adapter, plan, self.listed, sample, data)
        check_found(plan, found, "stream" if sample.url is None else "rest")
        return found

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test per sample, stream, reply."""
        cases: dict[str, tuple[Sequence[object], Sequence[str]]] = {
            "sample": (self.samples, [f"{one.stream}-{one.name}" for one in self.samples]),
            "unknown_status": (self.unknown_statuses, [f"{one.stream}-{one.name}" for one in self.unknown_statuses]),
            "stream": (list(self.openings), list(self.openings)),
            "refused_reply": (self.refused, [one.body.decode()[:40] for one in self.refused]),
        }
        for name, (values, ids) in cases.items():
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, values, ids=ids)

    # --- plans ---

    def test_plans_are_named_after_exchange_and_account(self) -> None:
        plans = self.plans()
        assert set(plans) == set(self.openings)
        covered = [product for plan in plans.values() for product in plan.products]
        assert sorted(covered) == sorted(self.products)
        for plan in plans.values():
            assert plan.exchange == self.adapter.name
            assert plan.account == "main"
            assert plan.name.startswith(f"{self.adapter.name}.main")
            assert self.adapter.limits(plan).rest_weight >= 1

    def test_plan_names_do_not_depend_on_what_was_asked_for(self) -> None:
        every = {
            plan.name for plan in self.adapter.plan("main", list(self.adapter.products), (), self.adapter.products)
        }
        for product in self.products:
            one = self.adapter.plan("main", [product], self.symbols, self.adapter.products)
            assert {plan.name for plan in one} <= every
            assert len(one) == 1

    # --- dialogue ---

    def test_connection_is_authenticated_once(self, stream: str) -> None:
        played = play(self.adapter, self.plans()[stream], self.openings[stream])
        kinds = [step.kind for step in played.steps]
        assert kinds.count(StepKind.AUTHENTICATED) == 1
        assert kinds[-1] is StepKind.AUTHENTICATED
        assert set(kinds[:-1]) <= {StepKind.CONTROL}

    def test_data_is_data_and_control_is_not(self, stream: str) -> None:
        plan = self.plans()[stream]
        opening = self.openings[stream]
        for event in self.controls.get(stream, ()):
            assert play(self.adapter, plan, (*opening, event)).steps[-1].kind is StepKind.CONTROL, event.data
        for sample in self.samples:
            if sample.stream == stream and sample.url is None:
                step = play(self.adapter, plan, (*opening, Event(sample.data, binary=sample.binary))).steps[-1]
                assert step.kind is StepKind.DATA, sample.name
                assert step.symbols == sample.symbols, sample.name

    def test_what_cannot_be_read_is_data(self, stream: str) -> None:
        plan = self.plans()[stream]
        for data in JUNK:
            for binary in (False, True):
                step = play(self.adapter, plan, (*self.openings[stream], Event(data, binary=binary))).steps[-1]
                assert step.kind is StepKind.DATA, data[:80]

    def test_refusals_are_told_with_a_bounded_word(self, stream: str) -> None:
        assert self.refusals[stream]
        for events in self.refusals[stream]:
            steps = play(self.adapter, self.plans()[stream], events).steps
            assert steps[-1].kind is StepKind.REFUSED, events[-1].data
            assert StepKind.AUTHENTICATED not in {step.kind for step in steps}
            word, _, what = (steps[-1].detail or "").partition(": ")
            assert word in REFUSALS
            assert what

    def test_endings_break_the_connection(self, stream: str) -> None:
        for events in self.endings[stream]:
            step = play(self.adapter, self.plans()[stream], (*self.openings[stream], *events)).steps[-1]
            assert step.kind is StepKind.BROKEN, events[-1].data
            assert step.detail

    def test_an_answer_that_never_comes_breaks_the_connection(self, stream: str) -> None:
        opening = self.openings[stream]
        for come in range(len(opening)):
            dialogue = self.adapter.dialogue(self.plans()[stream], CREDENTIALS)
            first = dialogue.before()
            events = list(opening[:come])
            if first is not None:
                if not events:
                    continue
                event = events.pop(0)
                dialogue.replied(first, reply_to(self.plans()[stream], first, event.data, event.status or 200))
            if dialogue.opened(NOW).kind is StepKind.AUTHENTICATED:
                continue
            for event in events:
                dialogue.received(event.data, event.binary, NOW)
            assert dialogue.due(NOW + 1_000).kind is StepKind.CONTROL
            assert dialogue.due(NOW + 60_000).kind is StepKind.BROKEN

    def test_secrets_are_never_said(self, stream: str) -> None:
        plan = self.plans()[stream]
        said: list[str] = [repr(plan), repr(CREDENTIALS), str(CREDENTIALS)]
        opening = self.openings[stream]
        for whole in (opening, *self.refusals[stream], *((*opening, *ending) for ending in self.endings[stream])):
            played = play(self.adapter, plan, whole)
            for sent in ("", *played.sent):
                echoed = tuple(event._replace(data=_echoing(event.data, sent)) for event in whole)
                said += [f"{step.kind} {step.detail} {step.calls!r}" for step in play(self.adapter, plan, echoed).steps]
            said += [repr(call) for call in played.calls]
            said += [repr(self.adapter.sign(plan, call, CREDENTIALS, NOW)) for call in played.calls]
        dialogue = self.adapter.dialogue(plan, CREDENTIALS)
        said += [repr(dialogue), str(dialogue.before()), dialogue.label]
        for text in said:
            assert KEY not in text, text
            assert SECRET not in text, text

    def test_label_hides_what_the_url_has(self, stream: str) -> None:
        plan = self.plans()[stream]
        dialogue = self.adapter.dialogue(plan, CREDENTIALS)
        first = dialogue.before()
        if first is not None:
            event = self.openings[stream][0]
            dialogue.replied(first, reply_to(plan, first, event.data, event.status or 200))
            assert dialogue.label != dialogue.url
        assert dialogue.label.startswith(plan.endpoints.websocket)

    # --- signing ---

    def test_signing_is_deterministic_and_keeps_the_secret(self, stream: str) -> None:
        plan = self.plans()[stream]
        for call in (*self.adapter.catch_up(plan, CatchUpNeeds(NOW - 1_000, NOW)).begin(), self.adapter.clock(plan)):
            one, two = (self.adapter.sign(plan, call, CREDENTIALS, NOW) for _ in range(2))
            assert (one.url, one.headers, one.body) == (two.url, two.headers, two.body)
            assert SECRET not in f"{one.url} {dict(one.headers)} {one.body}"
            later = self.adapter.sign(plan, call, CREDENTIALS, NOW + 1)
            assert ((one.url, one.headers) == (later.url, later.headers)) is not call.signed
            other = self.adapter.sign(plan, call, Credentials(KEY, "another"), NOW)
            assert ((one.url, one.headers) == (other.url, other.headers)) is not call.signed
            assert (str(NOW) in f"{one.url} {dict(one.headers)}") is call.signed, "the time is in milliseconds"
            assert KEY not in repr(one)

    # --- parser ---

    def test_sample_gives_its_feeds(self, sample: AccountSample) -> None:
        found = self.read(sample)
        assert found.rejections == []
        assert tuple(one.feed for one in messages_of(found)) == sample.feeds
        known = {(one.product, one.native_symbol): one.symbol for group in self.listed.values() for one in group}
        for one in messages_of(found):
            assert one.native_symbol is None or one.symbol in {
                symbol for (_, native), symbol in known.items() if native == one.native_symbol
            }

    def test_reading_is_deterministic(self, sample: AccountSample) -> None:
        assert everything(self.read(sample)) == everything(self.read(sample))

    def test_unknown_fields_change_nothing(self, sample: AccountSample) -> None:
        assert everything(self.read(sample, self.extended(sample))) == everything(self.read(sample))

    def test_truncated_frames_give_records_or_a_rejection(self, sample: AccountSample) -> None:
        for length in range(0, len(sample.data), max(1, len(sample.data) // 100)):
            self.read(sample, sample.data[:length])

    def test_what_is_no_number_never_gets_out(self, sample: AccountSample) -> None:
        right = everything(self.read(sample))
        for path in sample.numbers:
            for data in self.spoiled(sample, path):
                found = self.read(sample, data)
                assert found.rejections or everything(found) != right, f"{path}: {data!r} was ignored"

    def test_numbers_leave_exact_and_plain(self, sample: AccountSample) -> None:
        for path in sample.numbers:
            for number in (HUGE, "1.152921504606846977e18", "1.234567890123456789012345e-7"):
                found = self.read(sample, self.with_number(sample, path, number))
                told = json.encode(messages_of(found))
                small = any("decimal places" in rejection[1] for rejection in found.rejections)
                if number == HUGE and not small:
                    assert found.rejections or HUGE.encode() in told.replace(b".", b""), f"{path}: {number}"
                assert messages_of(found) or found.rejections, f"{path}: {number} vanished"

    def test_unknown_order_status_is_rejected(self, unknown_status: AccountSample) -> None:
        found = self.read(unknown_status)
        assert found.orders == []
        assert [rejection[0] for rejection in found.rejections] == ["unknown_event"]

    def test_junk_is_rejected(self, stream: str) -> None:
        for data in JUNK:
            for binary in (False, True):
                found = self.read(AccountSample(stream, "junk", data, (), binary=binary))
                assert messages_of(found) == [], data[:80]

    def test_unlisted_instrument_is_a_rejection(self) -> None:
        for sample in self.samples:
            if "fill" not in sample.feeds or sample.binary:
                continue
            plan = self.plans()[sample.stream]
            named = sorted({str(one.native_symbol) for one in messages_of(self.read(sample)) if one.native_symbol})
            data = sample.data
            for symbol in named:
                data = data.replace(f'"{symbol}"'.encode(), b'"?!"')
            found = read(self.adapter, plan, self.listed, sample, data)
            assert found.fills == []
            assert "unknown_instrument" in {rejection[0] for rejection in found.rejections}

    # --- replies ---

    def test_refused_replies_are_told_apart(self, refused_reply: Refused) -> None:
        told = self.adapter.refused(RestReply("https://venue.test/x", refused_reply.status, refused_reply.body))
        assert (told is None) is (refused_reply.word is None)
        if told is not None:
            assert told.partition(": ")[0] == refused_reply.word
            assert refused_reply.word in REFUSALS

    def test_clock_replies(self) -> None:
        for body, wanted in self.clocks:
            reply = RestReply("https://venue.test/time", 200, body)
            if wanted is None:
                with pytest.raises(ParseError):
                    self.adapter.clock_ms(reply)
            else:
                assert self.adapter.clock_ms(reply) == wanted

    # --- catching up ---

    def needs(self, days: float = 0.001) -> CatchUpNeeds:
        """From some days ago to now."""
        return CatchUpNeeds(NOW - int(days * DAY_MS), NOW, self.symbols)

    def test_catching_up_with_nothing_covers_everything(self, stream: str) -> None:
        plan = self.plans()[stream]
        for days in (0.0, 0.001, 3.0, 40.0):
            catch_up = self.adapter.catch_up(plan, self.needs(days))
            replies = [
                reply for _, reply in fetched(self.adapter, plan, catch_up.begin(), catch_up.replied, self.empty)
            ]
            assert catch_up.covered_ms == NOW
            parser = self.adapter.parser(plan, {product: InstrumentTable() for product in plan.products})
            found = parser.caught_up(origin_of(plan), replies)
            assert messages_of(found) == []
            assert found.rejections == []
            assert set(found.open_orders_of or ()) == set(plan.products)
            assert set(found.positions_of or ()) == {product for product in plan.products if product != "spot"}
            assert found.all_balances

    def test_calls_say_nothing_secret_and_cost_something(self, stream: str) -> None:
        plan = self.plans()[stream]
        catch_up = self.adapter.catch_up(plan, self.needs())
        for call, reply in fetched(self.adapter, plan, catch_up.begin(), catch_up.replied, self.empty):
            assert call.path.startswith("/")
            assert call.method == "GET"
            assert call.weight >= 1
            assert not {"signature", "timestamp", "apiKey"} & {name for name, _ in call.parameters}
            assert KEY not in reply.url + repr(call)

    @pytest.mark.parametrize("days", [0.001, 40.0])
    def test_catching_up_ends_however_much_there_is(self, stream: str, days: float) -> None:
        plan = self.plans()[stream]
        needs = self.needs(days)
        catch_up = self.adapter.catch_up(plan, needs)
        asked = 0

        def venue(call: Call) -> bytes:
            nonlocal asked
            asked += 1
            assert asked < MOST_CALLS
            return self.endless(call, asked)

        with suppress(ParseError):
            list(fetched(self.adapter, plan, catch_up.begin(), catch_up.replied, venue))
        assert asked > 1
        assert needs.since_ms <= catch_up.covered_ms <= needs.until_ms

    def test_an_unusable_reply_ends_a_reconciliation(self, stream: str) -> None:
        plan = self.plans()[stream]
        for status, body in ((500, b""), (200, b"<html>"), (200, b"null"), (404, b"{}"), (200, b"{}")):
            catch_up = self.adapter.catch_up(plan, self.needs())
            call = catch_up.begin()[0]
            with pytest.raises(ParseError):
                catch_up.replied(call, reply_to(plan, call, body, status))

    def test_unusable_replies_are_no_reconciliation(self, stream: str) -> None:
        plan = self.plans()[stream]
        parser = self.adapter.parser(plan, {product: InstrumentTable() for product in plan.products})
        with pytest.raises(ParseError):
            parser.caught_up(origin_of(plan), [RestReply("https://venue.test/nothing", 200, b"{}")])

    def test_an_order_that_ended_before_is_no_news(self, stream: str) -> None:
        """Lists reach back further than what is asked for."""
        ended = 0
        for sample in self.samples:
            if sample.stream != stream or sample.url is None:
                continue
            for order in self.read(sample).orders:
                if order.status not in OPEN_STATUSES:
                    ended += 1
                    assert order.ts_updated is not None
                    at_ms = order.ts_updated // MILLISECOND
                    assert order.order_id in self.told_of(sample, at_ms)
                    assert order.order_id not in self.told_of(sample, at_ms + 1)
        assert ended, f"no sample of {stream} has an order that ended"

    def told_of(self, sample: AccountSample, since_ms: int) -> set[str]:
        """The orders that a consumer hears of who knows nothing yet, when all since then is asked for."""
        plan = self.plans()[sample.stream]
        listed = [instrument for product in plan.products for instrument in self.listed.get(product, ())]
        stream = AccountStream(self.adapter, plan, Snapshot(Header(), {}, {}, {}, listed))
        reply = RestReply(sample.url or "", 200, sample.data)
        data = encode_reconciliation(Reconciliation(since_ms, NOW, [reply]))
        reading = stream.read(1, 0, Frame(FrameKind.CATCH_UP, origin_of(plan).ts_received, data), 0)
        return {one.order_id for one in stream.apply(reading).messages if isinstance(one, Order)}

    # --- instruments ---

    def test_instruments_are_asked_for_and_read(self, stream: str) -> None:
        plan = self.plans()[stream]
        requests = self.adapter.instrument_requests(plan)
        assert requests
        for request in requests:
            assert request.url.startswith(plan.endpoints.rest)
        other = RestReply(f"{plan.endpoints.rest}/another/path", 200, b"{}")
        assert list(self.adapter.instruments(plan, other)) == []

    def test_messages_survive_the_broker(self, sample: AccountSample) -> None:
        for one in messages_of(self.read(sample)):
            assert json.decode(json.encode(one), type=type(one)) == one
            assert structs.replace(one, part=3).part == 3


def _echoing(data: bytes, text: str) -> bytes:
    """The message with what was sent in each of its texts."""
    try:
        document = json.decode(data)
    except ValueError:
        return data
    return json.encode(_echoed(document, f" {KEY} {SECRET} {text}"))


def _echoed(value: object, text: str) -> object:
    """Words of the protocol stay: what is repeated stands in the texts of complaints."""
    if isinstance(value, dict):
        return {
            key: f"{item}{text}" if isinstance(item, str) and key in SPOKEN else _echoed(item, text)
            for key, item in value.items()
        }
    return [_echoed(item, text) for item in value] if isinstance(value, list) else value
