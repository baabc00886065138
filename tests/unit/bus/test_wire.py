"""The hand-made frames are those of a general encoder."""

import pytest
from pamqp import body as amqp_body
from pamqp import commands, frame, header

from shared.bus.rabbit.wire import Outgoing, acknowledgement, is_persistent, marshal

FRAME_MAX = 4096


@pytest.mark.parametrize("app_id", ["", "host:42:beef"])
@pytest.mark.parametrize("size", [0, 1, FRAME_MAX - 9, FRAME_MAX - 8, FRAME_MAX - 7, 3 * FRAME_MAX])
@pytest.mark.parametrize(
    ("exchange", "key", "number", "mode", "content_type"),
    [
        ("market", "trade.bybit.BTC/USDT", None, 1, "application/json"),
        ("market", "trade.bybit.币安人生/USDT", None, 1, "application/json"),
        ("raw", "market.bybit.linear.0", 77, 1, "application/msgpack"),
        ("raw", "account.bybit.main", 78, 2, "application/msgpack"),
        ("account", "order.bybit.main", None, 2, "application/json"),
        ("quarantine", "market", 1, 2, "application/msgpack"),
        ("market", "", None, 1, "application/json"),
        ("market", "k" * 255, None, 1, "application/json"),
    ],
)
def test_frames_are_the_protocol_s(
    exchange: str, key: str, number: int | None, mode: int, content_type: str, size: int, app_id: str
) -> None:
    body = bytes(range(256)) * (size // 256 + 1)
    body = body[:size]
    mandatory = number is not None
    message_id = str(number) if mandatory else None
    method = commands.Basic.Publish(exchange=exchange, routing_key=key, mandatory=mandatory)
    properties = commands.Basic.Properties(
        content_type=content_type, delivery_mode=mode, message_id=message_id, app_id=app_id or None
    )
    room = FRAME_MAX - 8
    expected = frame.marshal(method, 7) + frame.marshal(header.ContentHeader(0, size, properties), 7)
    for start in range(0, size, room):
        expected += frame.marshal(amqp_body.ContentBody(body[start : start + room]), 7)
    outgoing = Outgoing(exchange, key.encode(), body, mandatory)
    assert marshal(outgoing, 7, FRAME_MAX, app_id.encode(), number or 12) == expected


@pytest.mark.parametrize("multiple", [False, True])
@pytest.mark.parametrize("tag", [1, 2**62])
def test_acknowledgements_are_the_protocol_s(tag: int, multiple: bool) -> None:  # noqa: FBT001
    assert acknowledgement(7, tag, multiple=multiple) == frame.marshal(commands.Basic.Ack(tag, multiple), 7)


@pytest.mark.parametrize(
    ("exchange", "key", "expected"),
    [
        ("raw", b"account.bybit.main", True),
        ("raw", b"market.account.0", False),
        ("account", b"order.bybit.main", True),
        ("market", b"account.bybit.X", False),
        ("control", b"streams", False),
        ("quarantine", b"market", True),
    ],
)
def test_only_account_data_and_quarantine_outlive_the_broker(exchange: str, key: bytes, expected: bool) -> None:  # noqa: FBT001
    assert is_persistent(exchange, key) is expected
