from hypothesis import given, settings
from hypothesis import strategies as st

from shared.exchanges.base import FrameClass, Route
from shared.exchanges.mexc import ADAPTER
from tests.contract.conformance import check_messages
from tests.contract.driving import Driver, binary, rest, text
from tests.unit.exchanges.mexc.answers import ACKS, FUTURES_LIST, HEARTBEATS, SPOT_LIST
from tests.unit.exchanges.mexc.frames import futures_url, spot_url
from tests.unit.exchanges.mexc.samples import LISTED, SAMPLES

PRODUCTS = st.sampled_from(["spot", "futures"])
VALID = sorted({sample.data for sample in SAMPLES} | {ack.data for ack in ACKS} | {data for _, data in HEARTBEATS})
TOKENS = [
    b"null",
    b"NaN",
    b"-1",
    b"1e999",
    b'""',
    b"[]",
    b"{}",
    b"true",
    b"9" * 40,
    b'"\\ud800"',
    b"\xff",
    b"\x00",
    b"spot@",
    b'"channel":"',
    b'"symbol":"',
]
URLS = {
    "spot": [spot_url(), "https://api.mexc.com/api/v3/exchangeInfo", spot_url("NOPE"), "https://["],
    "futures": [futures_url(), "https://api.mexc.com/api/v1/contract/detail", futures_url("NOPE_USDT"), ""],
}


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A valid frame with some bytes cut, doubled, exchanged or replaced by a token."""
    data = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 12)))
        middle = draw(st.one_of(st.binary(max_size=6), st.sampled_from(TOKENS), st.just(data[start:end] * 2)))
        data = data[:start] + middle + data[end:]
    return data


def survives(product: str, data: bytes) -> int:
    """How many messages the bytes gave, as either kind of frame, from a stream that lives on."""
    driver = Driver(ADAPTER, product, LISTED[product])
    for is_binary, frame in ((True, binary(data)), (False, text(data))):
        route = ADAPTER.classify(product, data, is_binary)
        assert isinstance(route, Route)
        output = driver.send(frame)
        check_messages(output)
        if route.frame_class is not FrameClass.DATA:
            assert output.messages == []
    return len(driver.messages)


@given(PRODUCTS, st.binary(max_size=300))
def test_arbitrary_bytes(product: str, data: bytes) -> None:
    assert survives(product, data) == 0


@given(PRODUCTS, mutated())
@settings(max_examples=500)
def test_mutated_frames(product: str, data: bytes) -> None:
    survives(product, data)


@given(st.text(max_size=40), st.text(max_size=20), st.binary(max_size=80))
def test_arbitrary_futures_channels(channel: str, symbol: str, data: bytes) -> None:
    frame = b'{"symbol":"' + symbol.encode() + b'","channel":"push.' + channel.encode() + b'","data":' + data + b"}"
    survives("futures", frame)


@given(PRODUCTS, st.integers(0, 3), st.one_of(st.binary(max_size=200), st.sampled_from([SPOT_LIST, FUTURES_LIST])))
def test_arbitrary_replies(product: str, url: int, body: bytes) -> None:
    driver = Driver(ADAPTER, product, LISTED[product])
    for cut in (len(body), len(body) // 2):
        output = driver.send(rest(URLS[product][url], body[:cut]))
        check_messages(output)
        assert output.messages == []
