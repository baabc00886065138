"""Messages for people."""

import pytest

from services.cli.tap_line import FIELDS, tap_line
from shared.accounts.messages import ACCOUNT_MESSAGE_TYPES, Balance
from shared.messages import MESSAGE_TYPES, BookDelta, BookSnapshot, Funding, Message, StreamStatus, Trade

TIME = 1_790_000_000_123_456_789
HEAD = ("bybit", "BTC/USDT", "BTCUSDT", TIME, TIME + 2_000_000, TIME + 3_000_000, "bybit.spot.0", 1, 2, 0)
NO_TIME = ("bybit", None, None, None, TIME, TIME, "bybit.spot.0", 1, 2, 0)

LINES = [
    (Trade(*HEAD, "7", "65123.50", "0.004", "buy"), "side=buy size=0.004 price=65123.50"),
    (BookSnapshot(*HEAD, [("5.1", "1"), ("5.0", "2")], [], 9), "bids=2@5.1 asks=0 sequence=9"),
    (BookDelta(*HEAD, [], [("5.2", "0")], 10, 9), "bids=0 asks=1@5.2 sequence=10 previous_sequence=9"),
    (Funding(*HEAD, "0.0001", TIME + 60_000_000_000), "rate=0.0001 ts_next_funding=14:14:20.123"),
    (StreamStatus(*NO_TIME, "shed", "quote", None, None, 5), "status=shed stream=bybit.spot.0 affects=quote count=5"),
    (Balance(*HEAD, "main", "USDT", "5", None, None, "rest", change="-1"), "asset=USDT total=5 change=-1"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "fields"), LINES, ids=[type(each).__name__ for each, _ in LINES])
def test_a_line_has_the_time_the_key_and_what_matters(message: Message, fields: str) -> None:
    assert tap_line("a.key", message) == f"14:13:20.123 a.key {fields}"


def test_every_feed_has_its_fields_and_only_such_as_there_are() -> None:
    kinds = {kind.feed: kind for kind in (*MESSAGE_TYPES, *ACCOUNT_MESSAGE_TYPES)}
    assert FIELDS.keys() == kinds.keys()
    for feed, names in FIELDS.items():
        assert set(names.split()) <= set(kinds[feed].__struct_fields__)
