"""No bytes whatsoever make the parser raise anything but a ParseError, or the classifier raise at all."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json

from shared.envelope import Frame, FrameKind, RestReply
from shared.errors import PARSE_CODES, ParseError
from shared.exchanges.base import Origin, Output, Route
from shared.exchanges.binance import ADAPTER
from shared.instruments import InstrumentTable
from tests.unit.exchanges.binance import frames as f

VALID: Sequence[bytes] = (
    f.wrapped("ethusdt@trade", f.trade()),
    f.wrapped("ethusdt@aggTrade", f.agg_trade()),
    f.wrapped("ethusdt@bookTicker", f.book_ticker()),
    f.wrapped("ethusdt@depth@100ms", f.depth(11, 14)),
    f.wrapped("ethusdt@depth@100ms", f.depth(11, 14, 8)),
    f.wrapped("ethusdt@depth5", {"lastUpdateId": 5, "bids": [["3", "1"]], "asks": []}),
    f.wrapped("ethusdt@ticker", f.spot_ticker()),
    f.wrapped("ethusdt@markPrice@1s", f.mark_price()),
    f.wrapped("ethusdt@forceOrder", f.force_order()),
    f.wrapped("ethusdt@kline_1m", f.kline()),
    f.wrapped("!ticker@arr", [f.usdm_ticker(), f.usdm_ticker(s="ETHUSDT_270326")]),
    f.bare(f.trade()),
    f.bare(f.book_ticker()),
    b'{"lastUpdateId":12,"bids":[["3","1"]],"asks":[["4","1"]]}',
    b'{"result":null,"id":1}',
    b'{"error":{"code":2,"msg":"x"},"id":1}',
)
URLS = (
    "https://api.binance.com/api/v3/depth?symbol=ETHUSDT&limit=1000",
    "https://api.binance.com/api/v3/exchangeInfo",
    "https://fapi.binance.com/fapi/v1/depth?symbol=ETHUSDT&limit=1000",
    "https://fapi.binance.com/fapi/v1/openInterest?symbol=ETHUSDT",
)
PRODUCTS = pytest.mark.parametrize("product", ["spot", "usdm"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner))


def parse(product: str, *frames: bytes) -> Route:
    """Feed frames to one parser; the route of the last."""
    parser = ADAPTER.parser(product, InstrumentTable((f.SPOT, f.PERPETUAL, f.DATED)))
    origin = Origin("binance", f"binance.{product}.0")
    route = ADAPTER.classify(product, b"", binary=False)
    for data in frames:
        output = Output()
        try:
            parser.data(origin, Frame(FrameKind.TEXT, 0, data), output)
        except ParseError as error:
            output.reject(error)
        assert [message.part for message in output.messages] == list(range(output.parts))
        assert {rejection.code for rejection in output.rejections} <= PARSE_CODES
        route = ADAPTER.classify(product, data, binary=False)
    return route


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A valid frame with some bytes replaced, removed or put in."""
    data = bytearray(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(data)


@st.composite
def refilled(draw: st.DrawFn) -> bytes:
    """A valid frame with one value replaced by any other."""
    document = json.decode(draw(st.sampled_from(VALID)))
    holder = document
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            break
        key = draw(st.sampled_from(keys))
        if isinstance(holder[key], dict | list) and draw(st.booleans()):
            holder = holder[key]
            continue
        holder[key] = draw(JSON)
        break
    return json.encode(document)


@PRODUCTS
@given(data=st.binary(max_size=200))
def test_any_bytes(product: str, data: bytes) -> None:
    assert isinstance(parse(product, data), Route)


@PRODUCTS
@given(head=st.sampled_from([b'{"stream":"', b'{"e":"', b'{"u":', b"[", b'{"result":', b'{"id":']), tail=st.binary())
def test_any_bytes_after_a_known_beginning(product: str, head: bytes, tail: bytes) -> None:
    assert isinstance(parse(product, head + tail), Route)


@PRODUCTS
@settings(max_examples=200)
@given(frames=st.lists(mutated() | st.sampled_from(VALID), min_size=1, max_size=6))
def test_mutated_frames(product: str, frames: list[bytes]) -> None:
    assert isinstance(parse(product, *frames), Route)


@PRODUCTS
@settings(max_examples=200)
@given(data=refilled())
def test_frames_with_another_value(product: str, data: bytes) -> None:
    assert isinstance(parse(product, data), Route)


@PRODUCTS
@given(url=st.sampled_from(URLS) | st.text(), body=st.binary() | JSON.map(json.encode), status=st.integers(100, 599))
def test_any_reply(product: str, url: str, body: bytes, status: int) -> None:
    parser = ADAPTER.parser(product, InstrumentTable((f.SPOT,)))
    output = Output()
    try:
        parser.reply(Origin("binance", "binance.spot.0"), RestReply(url, status, body), output)
    except ParseError as error:
        output.reject(error)
    assert {rejection.code for rejection in output.rejections} <= PARSE_CODES
    assert not (output.rejections and output.messages)


@given(native=st.text(max_size=20))
def test_rule_names_only_what_it_can_spell(native: str) -> None:
    for product in ("spot", "usdm"):
        one = ADAPTER.named(product, native)
        if one is not None:
            suffix = "" if one.expiry is None else f"_{one.expiry}"
            assert f"{one.base}{one.quote}{suffix}" == native == one.native_symbol
