from hypothesis import given, settings
from hypothesis import strategies as st

from shared.exchanges.base import FrameClass, Output, Route
from shared.exchanges.bybit import ADAPTER
from tests.contract.conformance import check_messages
from tests.contract.driving import Driver, binary, rest, text
from tests.unit.exchanges.bybit.samples import ACKS, HEARTBEATS, LISTED, LISTINGS, SAMPLES

VALID = sorted({sample.data for sample in SAMPLES} | {ack.data for ack in ACKS} | {data for _, data in HEARTBEATS})
PRODUCTS = st.sampled_from(sorted(ADAPTER.products))
TOKENS = [b"null", b"NaN", b"-1", b"1e999", b'""', b"[]", b"{}", b"true", b"9" * 40, b'"\\ud800"', b"\xff", b"\\u0000"]


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


def survives(product: str, data: bytes) -> Output:
    route = ADAPTER.classify(product, data, binary=False)
    assert isinstance(route, Route)
    driver = Driver(ADAPTER, product, LISTED[product])
    output = driver.send(text(data))
    check_messages(output)
    if route.frame_class is not FrameClass.DATA:
        assert output.messages == []
    again = driver.send(binary(data))
    check_messages(again)
    return output


@settings(deadline=None)
@given(PRODUCTS, st.binary(max_size=300))
def test_arbitrary_bytes(product: str, data: bytes) -> None:
    assert survives(product, data).messages == []


@settings(deadline=None)
@given(PRODUCTS, st.text(max_size=40), st.binary(max_size=80))
def test_arbitrary_topics(product: str, topic: str, rest: bytes) -> None:
    survives(product, b'{"topic":"' + topic.encode() + b'","type":"snapshot","data":' + rest + b"}")


@settings(deadline=None, max_examples=300)
@given(PRODUCTS, mutated())
def test_mutated_frames(product: str, data: bytes) -> None:
    survives(product, data)


@settings(deadline=None)
@given(PRODUCTS, st.one_of(st.binary(max_size=200), st.sampled_from([listing.body for listing in LISTINGS])))
def test_arbitrary_instrument_lists(product: str, body: bytes) -> None:
    driver = Driver(ADAPTER, product)
    for cut in {len(body), len(body) // 2}:
        from_venue = driver.send(rest(f"https://venue.test/v5/market/instruments-info?category={product}", body[:cut]))
        check_messages(from_venue)
        assert from_venue.messages == []
