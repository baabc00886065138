"""One AMQP message per routing key and batch, and where there must be more."""

from shared.messages import Message, decode_messages
from shared.normalizing import group_by_key
from tests.unit.core.making import delta, snapshot, status, trade


def grouped(*messages: Message) -> list[tuple[str, list[int]]]:
    """Feed and frames of each group; the key is that of its messages."""
    groups = []
    for key, body in group_by_key(messages):
        decoded = decode_messages(body)
        assert {(one.feed, one.symbol) for one in decoded} == {(decoded[0].feed, decoded[0].symbol)}
        groups.append((key, [one.frame for one in decoded]))
    return groups


def test_one_group_per_key_in_order_of_appearance() -> None:
    """However the messages alternate."""
    assert grouped(trade(frame=1), trade("ETH/USDT", frame=2), delta(frame=3), trade(frame=4), delta(frame=5)) == [
        ("trade.tiny.BTC/USDT", [1, 4]),
        ("trade.tiny.ETH/USDT", [2]),
        ("book_delta.tiny.BTC/USDT", [3, 5]),
    ]


def test_books_keep_their_order() -> None:
    """Snapshots and deltas have two keys and one order."""
    assert grouped(
        delta(frame=1), snapshot(frame=2), delta(frame=3), delta(frame=4), snapshot("ETH/USDT", frame=5)
    ) == [
        ("book_delta.tiny.BTC/USDT", [1]),
        ("book_snapshot.tiny.BTC/USDT", [2]),
        ("book_delta.tiny.BTC/USDT", [3, 4]),
        ("book_snapshot.tiny.ETH/USDT", [5]),
    ]


def test_status_is_not_overtaken() -> None:
    """A second gap must not arrive before the snapshot that healed the first."""
    assert grouped(
        delta(frame=1),
        status(said="gap", frame=2),
        status(said="live", frame=3, part=0),
        snapshot(frame=3, part=1),
        status(said="gap", frame=4),
        status(said="resync", frame=4, part=1),
    ) == [
        ("book_delta.tiny.BTC/USDT", [1]),
        ("stream_status.tiny.BTC/USDT", [2, 3]),
        ("book_snapshot.tiny.BTC/USDT", [3]),
        ("stream_status.tiny.BTC/USDT", [4, 4]),
    ]


def test_status_of_the_stream_separates_what_is_before_and_after_it() -> None:
    """What was sent before a loss is published before it is told."""
    assert grouped(trade(frame=1), status(None, "lost", frame=2), trade(frame=2, part=1)) == [
        ("trade.tiny.BTC/USDT", [1]),
        ("stream_status.tiny._", [2]),
        ("trade.tiny.BTC/USDT", [2]),
    ]


def test_nothing_gives_nothing() -> None:
    """An empty batch is no AMQP message."""
    assert group_by_key([]) == []
