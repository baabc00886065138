"""What an adapter remembers of earlier frames changes nothing in how it classifies the next."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.exchanges.base import Adapter, Route
from shared.exchanges.binance.adapter import BinanceAdapter
from shared.exchanges.bybit.adapter import BybitAdapter
from shared.exchanges.mexc.adapter import Mexc
from tests.contract.samples import Sample
from tests.unit.exchanges.binance.samples import SAMPLES as BINANCE
from tests.unit.exchanges.bybit.samples import SAMPLES as BYBIT
from tests.unit.exchanges.mexc.samples import SAMPLES as MEXC

QUOTE = 0x22
VENUES = pytest.mark.parametrize(
    ("fresh", "samples"),
    [(BinanceAdapter, BINANCE), (BybitAdapter, BYBIT), (Mexc, MEXC)],
    ids=["binance", "bybit", "mexc"],
)


@st.composite
def changed(draw: st.DrawFn, samples: Sequence[Sample]) -> tuple[str, bytes, bool]:
    """Product, bytes, kind: a sample cut short or with some bytes of its beginning replaced, for any product."""
    sample = draw(st.sampled_from(samples))
    quotes = [at for at, byte in enumerate(sample.data[:160]) if byte == QUOTE]
    end = draw(st.integers(0, 80) | st.sampled_from([*quotes, len(sample.data)]))
    data = sample.data[:end] + draw(st.binary(max_size=1))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, min(len(data), 60)))
        data = data[:at] + draw(st.binary(max_size=2) | st.sampled_from([b'"', b"\\", b"@"])) + data[at + 1 :]
    product = draw(st.sampled_from(sorted({one.product for one in samples})))
    return product, data, draw(st.booleans())


@VENUES
@settings(deadline=None)
@given(draw=st.data())
def test_memory_of_an_adapter_does_not_show(
    fresh: Callable[[], Adapter], samples: Sequence[Sample], draw: st.DataObject
) -> None:
    seasoned = fresh()
    for sample in samples:
        seasoned.classify(sample.product, sample.data, sample.binary)
    for product, data, binary in draw.draw(st.lists(changed(samples), min_size=1, max_size=8)):
        assert seasoned.classify(product, data, binary) == fresh().classify(product, data, binary)


@VENUES
def test_what_is_seen_again_has_the_same_route(fresh: Callable[[], Adapter], samples: Sequence[Sample]) -> None:
    """Cut to every length, also with a wrong byte behind the cut, before and after the whole frame was seen."""
    adapter = fresh()

    def routes() -> list[Route]:
        return [
            adapter.classify(sample.product, sample.data[:length] + end, sample.binary)
            for sample in samples
            for length in range(min(len(sample.data), 120) + 1)
            for end in (b"", b"x")
        ]

    first = routes()
    assert any(route.feed is not None for route in first)
    assert routes() == first
