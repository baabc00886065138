import pytest

from shared.exchanges.base import DATA, Ack, Feed, FrameClass, Overflow, Route
from shared.exchanges.mexc import ADAPTER
from shared.exchanges.mexc.push_pb2 import PushDataV3ApiWrapper
from tests.unit.exchanges.mexc.frames import deal, deals, depth, futures


def spot_route(data: bytes, *, binary: bool = True) -> Route:
    return ADAPTER.classify("spot", data, binary)


def test_channel_is_found_wherever_it_stands() -> None:
    wrapper = PushDataV3ApiWrapper.FromString(deals(deal("1X0_2X0")))
    channel = wrapper.channel.encode()
    wrapper.channel = ""
    rest = wrapper.SerializeToString()
    assert b"spot@" in rest, "the event type stands before the channel now"
    late = rest + b"\x0a" + bytes([len(channel)]) + channel
    assert spot_route(late) == Route(FrameClass.DATA, Feed.TRADE, "BTCUSDT", Overflow.SHED)


@pytest.mark.parametrize(
    "channel",
    [
        "spot@",
        "spot@x",
        "spot@public.deals.v3.api.pb@BTCUSDT",
        "spot@private.orders.v3.api.pb",
        "other",
        "spot@" + "x" * 200,
    ],
)
def test_unknown_channels_are_left_to_the_parser(channel: str) -> None:
    assert spot_route(PushDataV3ApiWrapper(channel=channel).SerializeToString()) == DATA


def test_channel_without_its_symbol_still_names_the_feed() -> None:
    wrapper = PushDataV3ApiWrapper(channel="spot@public.aggre.depth.v3.api.pb")
    assert spot_route(wrapper.SerializeToString()) == Route(FrameClass.DATA, Feed.BOOK, None, Overflow.RESYNC)


def test_answer_is_known_by_its_first_byte() -> None:
    for binary in (True, False):
        assert spot_route(b'{"id":0,"code":0,"msg":"PONG"}', binary=binary).frame_class is FrameClass.HEARTBEAT
    assert spot_route(depth(1, 2), binary=False) == DATA
    assert spot_route(b"Invalid listen key", binary=False) == DATA


def test_refusals_of_several_kinds_in_one_answer() -> None:
    message = (
        "Subscribed successful! [spot@a, spot@b]. Not Subscribed successfully! [spot@c,spot@d].  Reason\uff1a Blocked! "
        "Not Subscribed successfully! [spot@e]. Reason: too many"
    )
    route = spot_route(f'{{"id":"9","code":0,"msg":"{message}"}}'.encode(), binary=False)
    assert route.ack == Ack(
        "9",
        ("spot@a", "spot@b"),
        (("spot@c", "Blocked!"), ("spot@d", "Blocked!"), ("spot@e", "too many")),
    )


def test_refusal_without_a_reason() -> None:
    route = spot_route(b'{"id":1,"code":0,"msg":"Not Subscribed successfully! [spot@a]"}', binary=False)
    assert route.ack == Ack("1", (), (("spot@a", "no reason given"),))


@pytest.mark.parametrize("symbol", ["BTC_USDT", "月光_USDT"])
def test_futures_channel_and_symbol_in_any_order(symbol: str) -> None:
    expected = Route(FrameClass.DATA, Feed.FUNDING, symbol, Overflow.CONFLATE)
    first = futures("push.funding.rate", f'{{"symbol":"{symbol}","rate":1}}', symbol)
    last = f'{{"channel":"push.funding.rate","data":{{"rate":1}},"symbol":"{symbol}","ts":1}}'.encode()
    assert ADAPTER.classify("futures", first, binary=False) == expected
    assert ADAPTER.classify("futures", last, binary=False) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b'{"channel":"',
        b'{"channel":"push.personal.order","data":{}}',
        b'{"channel":"push.deal' + b"x" * 100 + b'"}',
        b'{"channel":"rs.error","data":"cut',
        b'{"channel":"other","data":1}',
        b'{"method":"sub.deal","param":{"symbol":"BTC_USDT"}}',
    ],
)
def test_unknown_futures_frames_are_left_to_the_parser(data: bytes) -> None:
    assert ADAPTER.classify("futures", data, binary=False) == DATA


def test_farewell_of_futures() -> None:
    said = "more than 60 seconds no response, close the channel"
    route = ADAPTER.classify("futures", f'{{"channel":"rs.error","data":"{said}","ts":1}}'.encode(), binary=False)
    assert route == Route(FrameClass.CLOSING, detail=said)


def test_frames_too_long_to_be_remembered_are_not() -> None:
    route = ADAPTER.classify("futures", b'{"channel":"push.deal","symbol":"' + b"x" * 100 + b'"}', binary=False)
    assert route == Route(FrameClass.DATA, Feed.TRADE, None, Overflow.SHED)
