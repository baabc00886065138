"""What every exchange adapter must do, whatever the venue. Subclass it, one class per venue::

    class TestVenueConformance(AdapterConformance):
        adapter = ADAPTER
        listed = {"spot": (INSTRUMENT, ...)}          # instruments that the samples name, per product
        samples = (Sample(...), ...)                  # at least one per feed and product
        scripts = (BookScript(...), ...)              # at least one per book procedure
        acks = (AckSample(...), ...)                  # accepted, partly and wholly refused, and what is no such answer
        listings = (Listing(...), ...)                # instrument lists
        unknown = (("spot", text(b"...")), ...)       # frames about an instrument that no rule names
        heartbeats = (("spot", b'{"msg":"PONG"}'),)   # none where the venue has none
        polled = {"usdm": frozenset({Feed.OPEN_INTEREST})}   # feeds that come by polling
        payload_bytes = {"spot": 4096}                # bound on the text of a subscription request
        connection_characters = {"spot": 21_000}      # bound on all topics of a connection

        def instrument(self, product: str, index: int) -> Instrument: ...
        def feeds_of(self, product: str, instrument: Instrument) -> frozenset[Feed]: ...  # where not all apply

``samples`` has the types and their meaning, ``driving`` a stream to drive and a book to rebuild. Frames that are no
JSON: override ``spoiled``, ``with_number`` and ``extended`` of :class:`Venue`.

pytest explains the asserts in here when the test module says so before it imports this one::

    pytest.register_assert_rewrite("tests.contract.conformance", "tests.contract.book_conformance", ...)
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from msgspec import structs

from shared.envelope import FrameKind
from shared.errors import PARSE_CODES
from shared.exchanges.base import Feed, FrameClass, Output
from shared.messages import BookSnapshot, Message, StreamStatus, Trade, encode_messages
from tests.contract.book_conformance import BookConformance
from tests.contract.driving import Driver
from tests.contract.plan_conformance import PlanConformance
from tests.contract.samples import HUGE, JUNK, AckSample, Listing, Sample, places, with_token
from tests.contract.venue import Venue

__all__ = ["AdapterConformance", "check_messages"]

NOT_NUMBERS = frozenset(
    {
        "exchange",
        "symbol",
        "native_symbol",
        "stream",
        "trade_id",
        "side",
        "interval",
        "status",
        "affects",
        "reason",
        "detail",
    }
)
PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?").fullmatch
SUBSCRIBED = {"book_snapshot": Feed.BOOK, "book_delta": Feed.BOOK}
SINCE_2001 = 1_000_000_000_000_000_000


def numbers_of(message: Message) -> Iterator[tuple[str, str]]:
    """Every number of a message that is text, with the field it stands in."""
    for field, value in structs.asdict(message).items():
        if field in NOT_NUMBERS:
            continue
        if isinstance(value, str):
            yield field, value
        elif isinstance(value, list):
            for item in value:
                yield from ((field, number) for number in ((item,) if isinstance(item, str) else item))


def check_messages(output: Output) -> None:
    """What must hold for the messages of any frame."""
    assert [message.part for message in output.messages] == list(range(output.parts))
    for message in output.messages:
        for field, number in numbers_of(message):
            assert PLAIN(number), f"{message.feed}.{field} was {number!r}"
            assert "size" not in field or not number.startswith("-"), f"{message.feed}.{field} was {number}"
        assert message.ts_exchange is None or 0 < message.ts_exchange < 2**63
        if isinstance(message, StreamStatus):
            continue
        assert message.symbol, f"a {message.feed} had no symbol"
        assert message.native_symbol, f"a {message.feed} had no native symbol"
        if isinstance(message, BookSnapshot):
            check_snapshot(message)
    assert {rejection.code for rejection in output.rejections} <= PARSE_CODES - {"internal"}, output.rejections


def is_silent(output: Output) -> bool:
    """Whether nothing came of a frame that anybody would see: no message, rejection, or element that was counted."""
    return not (output.messages or output.rejections or output.duplicates or output.stale)


def check_snapshot(message: BookSnapshot) -> None:
    """Bids fall, asks rise, no level is empty."""
    bids = [float(price) for price, _ in message.bids]
    asks = [float(price) for price, _ in message.asks]
    assert bids == sorted(set(bids), reverse=True), "bids do not fall"
    assert asks == sorted(set(asks)), "asks do not rise"
    assert all(float(size) > 0 for _, size in [*message.bids, *message.asks]), "a level of a snapshot was empty"
    for levels, native in ((message.bids, message.bid_sizes_native), (message.asks, message.ask_sizes_native)):
        assert native is None or len(native) == len(levels)


class AdapterConformance(PlanConformance, BookConformance, Venue):
    """The contract of :class:`shared.exchanges.base.Adapter` and its parser."""

    def run(self, sample: Sample, data: bytes | None = None) -> tuple[Driver, Output]:
        """A fresh stream, what precedes the sample, and what came of it (or of other bytes in its place)."""
        driver = self.driver(sample.product)
        driver.send(*sample.before)
        output = driver.send(sample.frame(data))
        for each in driver.outputs:
            check_messages(each)
        return driver, output

    def test_sample_gives_its_feeds(self, sample: Sample) -> None:
        driver, output = self.run(sample)
        assert driver.codes == []
        assert tuple(message.feed for message in output.messages) == sample.feeds
        known = {instrument.native_symbol: instrument.symbol for instrument in self.listed[sample.product]}
        for message in output.messages:
            assert message.symbol == known[str(message.native_symbol)]
            assert message.ts_exchange is None or message.ts_exchange > SINCE_2001, "was not in nanoseconds"

    def test_parse_is_deterministic(self, sample: Sample) -> None:
        first, second = self.run(sample)[0], self.run(sample)[0]
        assert encode_messages(first.messages) == encode_messages(second.messages)

    def test_classify_agrees_with_parse(self, sample: Sample) -> None:
        if sample.url is not None:
            assert sample.route is None, "replies are not classified"
            return
        route = self.adapter.classify(sample.product, sample.data, sample.binary)
        assert route.frame_class is FrameClass.DATA
        assert route.ack is None
        assert (route.feed, route.native_symbol, route.overflow) == (
            sample.route,
            sample.native_symbol,
            sample.overflow,
        )
        for message in self.run(sample)[1].messages:
            assert route.native_symbol in {None, message.native_symbol}
        brought = {SUBSCRIBED.get(feed) or Feed(feed) for feed in sample.feeds}
        assert route.feed is None or not brought or route.feed in brought

    def test_truncated_frame_gives_messages_or_a_rejection(self, sample: Sample) -> None:
        step = max(1, len(sample.data) // 150)
        for length in range(0, len(sample.data), step):
            self.run(sample, sample.data[:length])
            self.adapter.classify(sample.product, sample.data[:length], sample.binary)

    def test_unknown_fields_change_nothing(self, sample: Sample) -> None:
        extended = self.extended(sample)
        assert extended != sample.data
        plain, other = self.run(sample)[0], self.run(sample, extended)[0]
        assert encode_messages(plain.messages) == encode_messages(other.messages)
        assert other.codes == []

    def test_what_is_no_number_never_gets_out(self, sample: Sample) -> None:
        right = encode_messages(self.run(sample)[1].messages)
        for path in sample.numbers:
            for data in self.spoiled(sample, path):
                output = self.run(sample, data)[1]
                assert output.rejections or encode_messages(output.messages) != right, f"{path}: {data!r} was ignored"

    def test_numbers_leave_exact_and_plain(self, sample: Sample) -> None:
        for path in sample.numbers:
            for number in (HUGE, "1.152921504606846977e18", "1.234567890123456789012345e-7", "0012.50"):
                output = self.run(sample, self.with_number(sample, path, number))[1]
                # An inverse size at such a price is less than base units can show: that may be rejected, saying so.
                too_small = any("decimal places" in rejection.detail for rejection in output.rejections)
                if output.messages and number == HUGE and not too_small:
                    assert HUGE.encode() in encode_messages(output.messages).replace(b".", b""), f"{path}: {number}"
                assert output.messages or output.rejections, f"{path}: {number} vanished"

    def test_a_number_of_another_type_is_none(self, sample: Sample) -> None:
        """Text and true for a number; fields that nobody reads are left alone."""
        if sample.binary:
            return  # the types of a protobuf message are those of its definition
        right = encode_messages(self.run(sample)[1].messages)
        numbers = [(path, value) for path, value in places(sample.data) if type(value) in {int, Decimal}]
        for path, value in numbers:
            other = self.run(sample, with_token(sample.data, path, str(value + 1)))[1]
            if not other.rejections and encode_messages(other.messages) == right:
                continue
            for token in (f'"{value}"', "true", "[]"):
                output = self.run(sample, with_token(sample.data, path, token))[1]
                assert output.rejections, f"{path}: {token} was taken for {value}"

    def test_a_frame_that_was_emptied_is_not_passed_over(self, sample: Sample) -> None:
        if sample.binary or not sample.feeds:
            return
        for path, value in places(sample.data):
            for token in ("[]", "{}", "null", '""') if isinstance(value, list | dict) else ():
                output = self.run(sample, with_token(sample.data, path, token))[1]
                assert not is_silent(output), f"nothing came of {token} for {path}"

    def test_trades_come_once(self, sample: Sample) -> None:
        driver, output = self.run(sample)
        trades = [message for message in output.messages if isinstance(message, Trade)]
        for _ in ("the same connection", "the next one"):
            again = driver.send(sample.frame())
            assert not any(isinstance(message, Trade) and message.trade_id for message in again.messages)
            assert again.duplicates >= len([trade for trade in trades if trade.trade_id])
            driver.connect()

    def test_junk_is_rejected(self, product: str) -> None:
        for data in JUNK:
            for kind in (FrameKind.TEXT, FrameKind.BINARY):
                driver = self.driver(product)
                route = self.adapter.classify(product, data, kind is FrameKind.BINARY)
                assert route.frame_class is not FrameClass.ACK, data[:80]
                output = driver.send(
                    Sample(product, "junk", data, (), None, None, binary=kind is FrameKind.BINARY).frame()
                )
                check_messages(output)
                assert output.messages == [], data[:80]
                assert not is_silent(output) or route.frame_class is not FrameClass.DATA, data[:80]

    def test_acks_are_told_apart(self, ack: AckSample) -> None:
        route = self.adapter.classify(ack.product, ack.data, binary=False)
        assert (route.frame_class is FrameClass.ACK) is (ack.ack is not None)
        assert route.ack == ack.ack
        output = self.driver(ack.product).send(Sample(ack.product, "ack", ack.data, (), None, None).frame())
        assert (output.messages, output.rejections) == ([], [])

    def test_heartbeats_are_no_data(self, product: str) -> None:
        beats = [data for name, data in self.heartbeats if name == product]
        assert bool(beats) is (self.adapter.heartbeat(product) is not None)
        for data in beats:
            assert self.adapter.classify(product, data, binary=False).frame_class is FrameClass.HEARTBEAT
            output = self.driver(product).send(Sample(product, "beat", data, (), None, None).frame())
            assert (output.messages, output.rejections) == ([], [])

    def test_unlisted_instrument_is_asked_for_seldom(self, product: str) -> None:
        frames = [frame for name, frame in self.unknown if name == product]
        assert frames, f"no frame about an unlisted instrument of {product}"
        for frame in frames:
            driver = self.driver(product)
            driver.send(frame, frame, frame)
            assert set(driver.codes) == {"unknown_instrument"}
            asked = [resync for output in driver.outputs for resync in output.resyncs]
            assert asked == [("instruments", None, "unknown_instrument")]
            driver.wait(61)
            assert ("instruments", None, "unknown_instrument") in driver.send(frame).resyncs

    def test_symbols_round_trip(self, listing: Listing) -> None:
        instruments = self.adapter.instruments(listing.product, listing.body)
        assert {instrument.native_symbol: instrument.symbol for instrument in instruments} == listing.symbols
        assert len({instrument.symbol for instrument in instruments}) == len(instruments)
        for instrument in instruments:
            assert (instrument.exchange, instrument.product) == (self.adapter.name, listing.product)
            named = self.adapter.named(listing.product, instrument.native_symbol)
            assert named is None or named.symbol == instrument.symbol
