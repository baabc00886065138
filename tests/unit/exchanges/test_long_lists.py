"""Instrument lists as long as venues have them: read in slices, so that the loop's other work has its turn."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import pytest
from msgspec import json

from shared.envelope import SCHEMA_VERSION, Envelope, Frame, FrameKind, RestReply, encode_reply
from shared.exchanges import adapter
from shared.instruments import InstrumentTable
from shared.normalizing import Progress, StreamNormalizer
from tests.contract.driving import START

ENTRIES = 4_000


class Venue(NamedTuple):
    """A venue's list of an entry each, and a trade of the last one."""

    exchange: str
    product: str
    url: str
    body: Callable[[list[object]], object]
    entry: Callable[[str], object]
    trade: bytes


def _binance(coin: str) -> object:
    pair = {"symbol": f"{coin}USDT", "status": "TRADING", "baseAsset": coin, "quoteAsset": "USDT", "filters": []}
    return pair | {"marginAsset": "USDT", "contractType": "PERPETUAL"}


def _bybit(coin: str) -> object:
    pair = {"symbol": f"{coin}USDT", "baseCoin": coin, "quoteCoin": "USDT", "settleCoin": "USDT"}
    return pair | {"contractType": "LinearPerpetual", "status": "Trading"}


def _mexc_spot(coin: str) -> object:
    return {"symbol": f"{coin}USDT", "status": "1", "baseAsset": coin, "quoteAsset": "USDT"}


def _mexc_futures(coin: str) -> object:
    pair = {"symbol": f"{coin}_USDT", "baseCoin": coin, "quoteCoin": "USDT", "settleCoin": "USDT"}
    return pair | {"contractSize": 0.01, "state": 0}


LAST = f"COIN{ENTRIES - 1}"
VENUES = [
    Venue(
        "binance",
        "usdm",
        "https://fapi.binance.com/fapi/v1/exchangeInfo",
        lambda entries: {"symbols": entries},
        _binance,
        b'{"stream":"%b@aggTrade","data":{"e":"aggTrade","E":1790000000123,"a":5,"s":"%b","p":"1.5","q":"2","f":1,"l":2,'
        b'"T":1790000000120,"m":true}}' % (f"{LAST}usdt".lower().encode(), f"{LAST}USDT".encode()),
    ),
    Venue(
        "bybit",
        "linear",
        "https://api.bybit.com/v5/market/instruments-info?category=linear&limit=1000",
        lambda entries: {"retCode": 0, "result": {"category": "linear", "list": entries}},
        _bybit,
        b'{"topic":"publicTrade.%bUSDT","type":"snapshot","ts":1790000000123,"data":[{"T":1790000000120,"s":"%bUSDT",'
        b'"S":"Buy","v":"2","p":"1.5","i":"1"}]}' % (LAST.encode(), LAST.encode()),
    ),
    Venue(
        "mexc",
        "spot",
        "https://api.mexc.com/api/v3/exchangeInfo",
        lambda entries: {"symbols": entries},
        _mexc_spot,
        b"",
    ),
    Venue(
        "mexc",
        "futures",
        "https://api.mexc.com/api/v1/contract/detail",
        lambda entries: {"success": True, "code": 0, "data": entries},
        _mexc_futures,
        b'{"symbol":"%b_USDT","data":[{"p":1.5,"v":2,"T":1,"O":3,"M":1,"t":1790000000120,"i":"1"}],"channel":"push.deal",'
        b'"ts":1790000000123}' % LAST.encode(),
    ),
]


@pytest.mark.parametrize("venue", VENUES, ids=[f"{one.exchange}-{one.product}" for one in VENUES])
def test_a_long_list_is_read_in_slices(venue: Venue) -> None:
    table = InstrumentTable()
    normalizer = StreamNormalizer(adapter(venue.exchange), venue.product, "long.list.0", table)
    body = json.encode(venue.body([venue.entry(f"COIN{number}") for number in range(ENTRIES)]))
    frames = [Frame(FrameKind.REST, START, encode_reply(RestReply(venue.url, 200, body)))]
    if venue.trade:
        frames.append(Frame(FrameKind.TEXT, START + 1, venue.trade))
    envelope = Envelope(SCHEMA_VERSION, venue.exchange, venue.product, "market", "long.list.0", 1, 0, frames)
    progress, index, known = Progress(), 0, [0]
    while index == 0:
        index = normalizer.advance(envelope, index, START, progress, lambda: True)
        known.append(len(table))
    assert len(known) > 100
    assert max(after - before for before, after in pairwise(known)) == 1, "of a slice"
    while index < len(frames):
        index = normalizer.advance(envelope, index, START, progress, lambda: True)
    assert len(table) == ENTRIES
    assert progress.failures == []
    assert [one.native_symbol for one in progress.output.messages] == (
        [[*table][-1].native_symbol] if venue.trade else []
    )


def test_a_list_that_is_none_is_rejected_at_once() -> None:
    for venue in VENUES:
        normalizer = StreamNormalizer(adapter(venue.exchange), venue.product, "long.list.0", InstrumentTable())
        frame = Frame(FrameKind.REST, START, encode_reply(RestReply(venue.url, 200, b"{")))
        envelope = Envelope(SCHEMA_VERSION, venue.exchange, venue.product, "market", "long.list.0", 1, 0, [frame])
        progress = Progress()
        assert normalizer.advance(envelope, 0, START, progress, lambda: True) == 1
        assert [one.rejections[0].code for one in progress.failures] == ["invalid_json"], venue
