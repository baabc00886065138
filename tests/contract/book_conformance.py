"""Order-book behaviour of an adapter: the chain is never broken, and a break is never silent."""

from shared.envelope import Shed, ShedItem
from shared.exchanges.base import Output
from shared.messages import StreamStatus
from tests.contract.driving import Driver, Replica, mark
from tests.contract.samples import BookScript
from tests.contract.venue import Venue

__all__ = ["BookConformance"]


def statuses(output: Output) -> list[str]:
    """The statuses among the messages of a frame."""
    return [message.status for message in output.messages if isinstance(message, StreamStatus)]


def feeds(output: Output) -> list[str]:
    """The feeds of the book messages of a frame."""
    return [message.feed for message in output.messages if message.feed.startswith("book")]


class BookConformance(Venue):
    """The part of the contract that concerns books."""

    def live(self, script: BookScript) -> Driver:
        """A stream whose book is live."""
        driver = self.driver(script.product)
        driver.send(*script.seeding)
        return driver

    def gapped(self, script: BookScript, driver: Driver) -> None:
        """What the stream must have said by now, and asked for, of a broken book."""
        said = [
            (message.status, message.native_symbol, message.affects)
            for message in driver.messages
            if isinstance(message, StreamStatus) and message.status in {"gap", "resync"}
        ]
        assert said == [("gap", script.native_symbol, "book"), ("resync", script.native_symbol, "book")]
        asked = [one for output in driver.outputs for one in output.resyncs if one.feed == "book"]
        assert [(one.feed, one.native_symbol) for one in asked] == [("book", script.native_symbol)]

    def cured(self, script: BookScript, driver: Driver) -> None:
        """The next snapshot makes the book whole, and the deltas go on."""
        before = len(driver.messages)
        driver.send(*script.reseeding)
        came = driver.messages[before:]
        assert [one.status for one in came if isinstance(one, StreamStatus)] == ["live"]
        assert next(one.feed for one in came if one.feed.startswith("book")) == "book_snapshot"
        assert feeds(driver.send(script.after)) == ["book_delta"]
        Replica().apply(driver.messages)

    def test_snapshot_then_an_unbroken_chain(self, script: BookScript) -> None:
        driver = self.live(script)
        assert next(one.feed for one in driver.messages if one.feed.startswith("book")) == "book_snapshot"
        for delta in script.deltas:
            assert feeds(driver.send(delta)) == ["book_delta"]
        assert driver.codes == []
        replica = Replica()
        replica.apply(driver.messages)
        assert replica.crossed() == []

    def test_no_delta_before_a_snapshot(self, script: BookScript) -> None:
        driver = self.driver(script.product)
        driver.send(*script.deltas)
        assert driver.messages == []
        assert driver.codes == []

    def test_missing_snapshot_is_asked_for_again(self, script: BookScript) -> None:
        driver = self.driver(script.product)
        driver.send(script.deltas[0])
        driver.wait(60)
        output = driver.send(script.deltas[1])
        assert statuses(output) == ["resync"]
        assert [(one.feed, one.native_symbol) for one in output.resyncs] == [("book", script.native_symbol)]

    def test_gap_stops_deltas_until_a_snapshot(self, script: BookScript) -> None:
        driver = self.live(script)
        driver.send(script.deltas[0])
        output = driver.send(script.deltas[2])
        assert statuses(output) == ["gap", "resync"]
        assert feeds(output) == []
        for delta in script.deltas[3:]:
            assert driver.send(delta).messages == []
        self.gapped(script, driver)
        self.cured(script, driver)

    def test_rejected_delta_leaves_the_chain_where_it_was(self, script: BookScript) -> None:
        driver = self.live(script)
        output = driver.send(script.broken)
        assert len(output.rejections) == 1
        assert output.messages == []
        driver.send(*script.deltas[1:])
        self.gapped(script, driver)
        self.cured(script, driver)

    def test_rejected_delta_that_comes_again_continues_the_chain(self, script: BookScript) -> None:
        driver = self.live(script)
        driver.send(script.broken)
        assert feeds(driver.send(script.deltas[0])) == ["book_delta"]

    def test_repeated_delta_is_stale(self, script: BookScript) -> None:
        driver = self.live(script)
        driver.send(*script.deltas[:3])
        output = driver.send(script.deltas[1])
        assert (output.messages, output.rejections, output.stale) == ([], [], 1)
        assert feeds(driver.send(script.deltas[3])) == ["book_delta"]

    def test_lost_frames_break_the_book(self, script: BookScript) -> None:
        driver = self.live(script)
        driver.send(script.deltas[0])
        driver.skip()
        assert statuses(driver.send(*script.deltas[2:3])) == ["lost", "gap", "resync"]
        driver.send(*script.deltas[3:])
        self.gapped(script, driver)
        self.cured(script, driver)

    def test_shed_frames_break_the_book(self, script: BookScript) -> None:
        driver = self.live(script)
        output = driver.send(mark(Shed([ShedItem("book", script.native_symbol, "overflow", 1)])))
        assert statuses(output) == ["shed", "gap", "resync"]
        driver.send(*script.deltas[1:])
        self.gapped(script, driver)
        self.cured(script, driver)

    def test_shed_trades_leave_the_book_alone(self, script: BookScript) -> None:
        driver = self.live(script)
        output = driver.send(mark(Shed([ShedItem("trade", script.native_symbol, "overflow", 3)])))
        assert (statuses(output), output.resyncs) == (["shed"], [])
        assert feeds(driver.send(script.deltas[0])) == ["book_delta"]

    def test_new_connection_starts_the_book_anew(self, script: BookScript) -> None:
        driver = self.live(script)
        output = driver.connect()
        assert (statuses(output), output.resyncs) == (["connected"], [])
        assert driver.send(script.deltas[0]).messages == []
        driver.send(*script.deltas[1:])
        output = driver.send(*script.reseeding)
        assert feeds(output)[:1] == ["book_snapshot"]
        assert statuses(output) == []

    def test_taken_over_stream_asks_for_everything(self, script: BookScript) -> None:
        output = self.driver(script.product, first=7).send(script.deltas[0])
        asked = {(one.feed, one.native_symbol) for one in output.resyncs}
        assert {("instruments", None), ("book", None)} <= asked
        assert all(one.native_symbol is None for one in output.resyncs)
        assert feeds(output) == []
