"""A venue that names ever new instruments, or writes one topic in ever new ways."""

import gc
import tracemalloc
from collections.abc import Callable
from itertools import count

import pytest

from shared.exchanges import adapter
from shared.exchanges.base import MOST_ROUTES
from shared.exchanges.unlisted import MOST_UNLISTED, Unlisted
from shared.instruments import Instrument, InstrumentKind
from tests.contract.driving import Driver, text

TIME = 1_790_000_000_000
CACHED = 18_000
"""More than any cache of the adapters holds."""


def bybit(symbol: str, number: int) -> bytes:
    return (
        f'{{"topic":"publicTrade.{symbol}","type":"snapshot","ts":{TIME},"data":[{{"T":{TIME},"s":"{symbol}",'
        f'"S":"Buy","v":"1","p":"2","i":"t{number}"}}]}}'
    ).encode()


def binance(symbol: str, number: int) -> bytes:
    return (
        f'{{"stream":"{symbol.lower()}@trade","data":{{"e":"trade","E":{TIME},"s":"{symbol}","t":{number},"p":"2",'
        f'"q":"1","T":{TIME},"m":true}}}}'
    ).encode()


VENUES = [
    ("bybit", "spot", bybit),
    ("bybit", "linear", bybit),
    ("binance", "spot", binance),
    ("binance", "usdm", binance),
]
IDS = [f"{exchange}-{product}" for exchange, product, _ in VENUES]
Frame = Callable[[str, int], bytes]


@pytest.mark.parametrize(("exchange", "product", "frame"), VENUES, ids=IDS)
def test_made_up_instruments_are_named_up_to_a_bound_and_rejected_from_there_on(
    exchange: str, product: str, frame: Frame
) -> None:
    stream = Driver(adapter(exchange), product)
    numbers = count()
    for index in range(MOST_UNLISTED):
        stream.send(text(frame(f"COIN{index}USDT", next(numbers))))
    assert (len(stream.messages), stream.codes) == (MOST_UNLISTED, [])
    stream.send(text(frame("ONEMOREUSDT", next(numbers))))
    assert stream.codes == ["unknown_instrument"]
    stream.send(text(frame("COIN0USDT", next(numbers))))
    assert (len(stream.messages), stream.codes) == (MOST_UNLISTED + 1, ["unknown_instrument"])
    listed = adapter(exchange).named(product, "ONEMOREUSDT")
    assert listed is not None
    stream.table.update([listed])
    stream.send(text(frame("ONEMOREUSDT", next(numbers))))
    assert len(stream.messages) == MOST_UNLISTED + 2


@pytest.mark.parametrize(("exchange", "product", "frame"), VENUES, ids=IDS)
def test_memory_does_not_grow_with_them(exchange: str, product: str, frame: Frame) -> None:
    stream = Driver(adapter(exchange), product)

    def made_up(begin: int, end: int) -> int:
        for index in range(begin, end):
            stream.send(text(frame(f"COIN{index}USDT", index)))
            stream.outputs.clear()
            stream.messages.clear()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = made_up(0, CACHED)
        assert made_up(CACHED, CACHED + 3_000) - before < 100_000
    finally:
        tracemalloc.stop()


def kline(index: int) -> bytes:
    return (
        f'{{"stream":"btcusdt@kline_1m@{index}","data":{{"e":"kline","E":{TIME},"s":"BTCUSDT","k":{{"t":{TIME},'
        f'"T":{TIME},"i":"1m","o":"1","h":"1","l":"1","c":"1","v":"1","q":"1","n":{index},"x":false}}}}}}'
    ).encode()


def test_one_topic_in_ever_new_spellings_is_read_and_not_remembered_for_ever() -> None:
    stream = Driver(adapter("binance"), "spot")
    for index in range(MOST_ROUTES + 100):
        stream.send(text(kline(index)))
    assert stream.codes == []
    assert len(stream._normalizer._routes.lanes) == MOST_ROUTES


def test_a_rule_that_names_nothing_costs_nothing() -> None:
    instrument = Instrument("x", "spot", "A/B", "AB", "A", "B", None, InstrumentKind.SPOT)
    unlisted = Unlisted(lambda native_symbol: instrument if native_symbol == "AB" else None, most=1)
    assert [unlisted.get("CD") for _ in range(3)] == [None, None, None]
    assert not unlisted.full
    assert unlisted.get("AB") is unlisted.get("AB") is instrument
    assert unlisted.full
