from msgspec import json

from shared.messages import BookDelta, BookSnapshot, StreamStatus
from tests.contract.driving import Driver, Replica, rest, text
from tests.unit.exchanges.binance import frames as f

TOPIC = "ethusdt@depth@100ms"


def delta(first: int, last: int, previous: int | None = None, **more: object) -> bytes:
    return f.wrapped(TOPIC, f.depth(first, last, previous, **more))


def sequences(stream: Driver) -> list[tuple[str, int | None]]:
    return [
        (message.feed, message.sequence) for message in stream.messages if isinstance(message, BookSnapshot | BookDelta)
    ]


def statuses(stream: Driver) -> list[str]:
    return [message.status for message in stream.messages if isinstance(message, StreamStatus)]


def test_updates_that_straddle_the_seed_follow_it() -> None:
    stream = f.driver()
    f.sent(stream, delta(101, 105), delta(106, 110), delta(111, 112))
    stream.send(f.depth_reply("spot", 107))
    assert sequences(stream) == [("book_snapshot", 107), ("book_delta", 110), ("book_delta", 112)]


def test_spot_updates_have_the_time_of_their_event_and_usdm_that_of_the_engine() -> None:
    for product, previous, time in (("spot", None, f.E), ("usdm", 7, f.E - 4)):
        stream = f.driver(product)
        f.sent(stream, delta(8, 9, previous))
        stream.send(f.depth_reply(product, 8))
        (update,) = [message for message in stream.messages if isinstance(message, BookDelta)]
        assert update.ts_exchange == time * 1_000_000


def test_seed_of_usdm_has_a_time_and_spot_has_none() -> None:
    for product, time in (("spot", None), ("usdm", (f.E - 1) * 1_000_000)):
        (message,) = f.driver(product).send(f.depth_reply(product, 8)).messages
        assert isinstance(message, BookSnapshot)
        assert (message.ts_exchange, message.sequence) == (time, 8)


def test_usdm_updates_link_by_pu_though_ids_skip() -> None:
    stream = f.driver("usdm")
    f.sent(stream, delta(101, 105, 98))
    stream.send(f.depth_reply("usdm", 103))
    f.sent(stream, delta(109, 112, 105), delta(120, 121, 112))
    assert sequences(stream) == [("book_snapshot", 103), ("book_delta", 105), ("book_delta", 112), ("book_delta", 121)]
    f.sent(stream, delta(130, 131, 129))
    assert statuses(stream) == ["gap", "resync"]


def test_usdm_update_without_link_is_rejected() -> None:
    stream = f.driver("usdm")
    f.sent(stream, delta(101, 105))
    assert stream.codes == ["missing_field"]


def test_spot_ids_that_skip_are_a_gap() -> None:
    stream = f.driver()
    f.sent(stream, delta(101, 105))
    stream.send(f.depth_reply("spot", 105))
    f.sent(stream, delta(107, 108))
    assert statuses(stream) == ["gap", "resync"]


def test_update_that_ends_before_it_begins_is_rejected() -> None:
    stream = f.driver()
    f.sent(stream, delta(106, 105))
    assert stream.codes == ["wrong_type"]


def test_seed_after_partial_depth_takes_over() -> None:
    stream = f.driver()
    f.sent(stream, f.wrapped("ethusdt@depth10", {"lastUpdateId": 7, "bids": [["3", "1"], ["4", "0"]], "asks": []}))
    (top,) = stream.messages
    assert isinstance(top, BookSnapshot)
    assert (top.bids, top.asks, top.sequence) == ([("3", "1")], [], 7)
    f.sent(stream, delta(8, 9))
    output = stream.send(text(f.wrapped("ethusdt@depth10", {"lastUpdateId": 9, "bids": [], "asks": []})))
    assert (output.messages, output.stale) == ([], 1)


def test_usdm_partial_depth_is_no_update() -> None:
    stream = f.driver("usdm")
    f.sent(
        stream, f.wrapped("ethusdt@depth20@500ms", f.depth(5, 9, 3)), f.wrapped("ethusdt@depth5", f.depth(15, 19, 13))
    )
    assert sequences(stream) == [("book_snapshot", 9), ("book_snapshot", 19)]
    assert [message.ts_exchange for message in stream.messages] == [(f.E - 4) * 1_000_000] * 2


def inline(last: int) -> bytes:
    return json.encode({"lastUpdateId": last, "bids": [["3120.40", "1"]], "asks": [["3120.90", "2"]]})


def test_inline_snapshot_seeds_the_one_book_that_waits() -> None:
    stream = f.driver()
    f.sent(stream, delta(101, 105), delta(106, 110), inline(104), delta(111, 112))
    assert sequences(stream) == [("book_snapshot", 104), ("book_delta", 105), ("book_delta", 110), ("book_delta", 112)]
    Replica().apply(stream.messages)


def test_inline_snapshot_of_the_one_book_that_is_live_is_stale_or_newer() -> None:
    stream = f.driver()
    f.sent(stream, delta(101, 105), inline(104), inline(105), inline(200))
    assert sequences(stream) == [("book_snapshot", 104), ("book_delta", 105), ("book_snapshot", 200)]
    assert sum(output.stale for output in stream.outputs) == 1


def test_inline_snapshot_that_could_be_anyones_is_rejected() -> None:
    stream = f.driver()
    f.sent(stream, inline(1))
    f.sent(stream, delta(101, 105), f.wrapped(TOPIC, f.depth(1, 2, s="币安人生USDT")), inline(104))
    assert stream.codes == ["missing_field", "missing_field"]
    assert all("symbol" in each.detail for output in stream.outputs for each in output.rejections)


def test_inline_snapshot_is_for_the_book_that_waits_among_live_ones() -> None:
    stream = f.driver()
    f.sent(stream, delta(101, 105))
    stream.send(f.depth_reply("spot", 105))
    f.sent(stream, f.wrapped(TOPIC, f.depth(1, 2, s="币安人生USDT")), inline(1))
    assert [(message.symbol, message.feed) for message in stream.messages] == [
        ("ETH/USDT", "book_snapshot"),
        ("币安人生/USDT", "book_snapshot"),
        ("币安人生/USDT", "book_delta"),
    ]


def test_seed_names_its_symbol_in_the_url() -> None:
    stream = f.driver()
    (message,) = stream.send(f.depth_reply("spot", 5, "%E5%B8%81%E5%AE%89%E4%BA%BA%E7%94%9FUSDT")).messages
    assert message.native_symbol == "币安人生USDT"
    body = json.encode({"lastUpdateId": 5, "bids": [], "asks": []})
    assert stream.send(rest("https://api.binance.com/api/v3/depth", body)).rejections[0].code == "missing_field"


def test_further_columns_of_a_level_are_ignored() -> None:
    stream = f.driver()
    (message,) = stream.send(f.depth_reply("spot", 5, bids=[["3120.50", "4.2", "extra"]])).messages
    assert isinstance(message, BookSnapshot)
    assert message.bids == [("3120.50", "4.2")]
    assert stream.send(f.depth_reply("spot", 6, bids=[["3120.50"]])).rejections[0].code == "wrong_type"
