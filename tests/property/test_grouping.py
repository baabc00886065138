"""Messages of one batch by routing key, whatever they are."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from shared.messages import AnyMessage, Message, decode_messages, routing_key
from shared.normalizing import group_by_key
from tests.unit.core.making import delta, snapshot, status, trade

SYMBOLS = ["BTC/USDT", "ETH/USDT"]

Made = list[tuple[str, str | None, bool]]
kinds = st.sampled_from(["trade", "snapshot", "delta", "status"])
batches: st.SearchStrategy[Made] = st.lists(
    st.tuples(kinds, st.sampled_from([*SYMBOLS, None]), st.booleans()), max_size=40
)


def messages_of(made: Made) -> list[Message]:
    """Numbered as a normalizer does; ``True`` begins another frame."""
    frame = part = 0
    messages: list[Message] = []
    for kind, symbol, another in made:
        frame, part = (frame + 1, 0) if another else (frame, part + 1)
        one = symbol or SYMBOLS[0]
        if kind == "status":
            messages.append(status(symbol, frame=frame, part=part))
        else:
            make = {"trade": trade, "snapshot": snapshot, "delta": delta}[kind]
            messages.append(make(one, frame=frame, part=part))
    return messages


def order(message: AnyMessage) -> tuple[int, int]:
    return message.frame, message.part


@given(batches)
def test_nothing_is_lost_and_order_is_kept(made: Made) -> None:
    """Whoever takes one feed of an instrument, or both feeds of its book, gets the messages in order."""
    messages = messages_of(made)
    by_key: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    chains: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    received: list[AnyMessage] = []
    for key, body in group_by_key(messages):
        group = decode_messages(body)
        assert group
        assert {routing_key(one.feed, one.exchange, one.symbol) for one in group} == {key}
        received += group
        by_key[key] += map(order, group)
        for symbol in SYMBOLS:
            if group[0].feed != "trade" and group[0].symbol in {None, symbol}:
                chains[symbol] += map(order, group)
    assert sorted(received, key=order) == messages
    for numbers in (*by_key.values(), *chains.values()):
        assert numbers == sorted(numbers)


@given(batches)
def test_statuses_stand_where_they_happened(made: Made) -> None:
    """Everything that came before a status is published before it, everything else behind it."""
    published = [one for _, body in group_by_key(messages_of(made)) for one in decode_messages(body)]
    latest = (-1, -1)
    for number, message in enumerate(published):
        if message.feed == "stream_status":
            assert all(order(one) < order(message) for one in published[:number] if one.feed != "stream_status")
            latest = order(message)
        else:
            assert order(message) > latest or latest == (-1, -1)
