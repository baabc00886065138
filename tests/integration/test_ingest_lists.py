"""Instrument lists: read beside the event loop; and connections, counted by the host that they go to."""

import threading
from collections.abc import Sequence
from typing import Any, cast

import pytest
from msgspec import json

from services.ingest.listing import Listing
from shared.clock import SystemClock
from shared.envelope import FrameKind
from shared.errors import RequestFailed
from shared.exchanges import adapter
from shared.exchanges.base import Adapter, Endpoints, Feed
from shared.instruments import Instrument
from shared.settings import Target
from shared.transport.http import RestClient
from tests.support.eventually import eventually
from tests.support.ingesting import Numbered, fast, running
from tests.support.venue_server import Conversation, Reply, VenueServer, acknowledge, trade

pytestmark = pytest.mark.integration

LIST = "/v5/market/instruments-info"
COUNT = 3_000


def listed(count: int) -> bytes:
    rows = [
        {
            "symbol": f"COIN{index}USDT" if index else "BTCUSDT",
            "status": "Trading",
            "contractType": "LinearPerpetual",
            "baseCoin": f"COIN{index}" if index else "BTC",
            "quoteCoin": "USDT",
            "settleCoin": "USDT",
            "deliveryTime": "0",
            "priceFilter": {"tickSize": "0.1"},
            "lotSizeFilter": {"qtyStep": "0.001", "basePrecision": "0.001"},
        }
        for index in range(count)
    ]
    return json.encode({"retCode": 0, "retMsg": "OK", "result": {"list": rows, "nextPageCursor": ""}})


class Watched:
    """Bybit's adapter, with a note of who reads instrument lists."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(adapter("bybit"), name)

    def instruments(self, product: str, body: bytes) -> Sequence[Instrument]:
        self.threads.append(threading.get_ident())
        return adapter("bybit").instruments(product, body)


def failed(error: RequestFailed, _: float) -> None:
    pytest.fail(str(error))


async def test_a_long_list_is_read_in_a_thread() -> None:
    watched = Watched()
    async with VenueServer(replies={LIST: [Reply(listed(COUNT))]}) as venue:
        endpoints = Endpoints(venue.websocket, venue.rest)
        async with RestClient(adapter("bybit").limits("linear")) as client:
            venue_s = cast("Adapter", watched)
            listing = Listing(venue_s, "linear", endpoints, client, SystemClock(), failed)
            assert await listing.refresh(0)
    assert len(listing.instruments) == COUNT
    assert watched.threads
    assert threading.get_ident() not in watched.threads


async def trades(one: Conversation) -> None:
    await acknowledge(one)
    await one.send(trade())
    await one.until_gone()


def target(product: str, venue: VenueServer) -> Target:
    symbol = "BTC/USDT" if product == "spot" else "BTC/USDT:USDT"
    return Target("bybit", product, Endpoints(venue.websocket, venue.rest), (symbol,), frozenset({Feed.TRADE}), 1)


async def test_products_on_one_host_share_its_connection_limit() -> None:
    replies = {LIST: [Reply(listed(3))]}
    async with VenueServer(trades, replies) as venue, VenueServer(trades, replies) as other:
        async with running("bybit", [target("linear", venue), target("spot", venue)], fast()) as one:
            await one.connected()
            assert len(one.ingest._connects) == 1
        async with running("bybit", [target("linear", venue), target("spot", other)], fast()) as one:
            await one.connected()
            assert len(one.ingest._connects) == 2


def lists(frames: Sequence[Numbered]) -> list[int]:
    """When the stream got each list (ns)."""
    return [one.frame.ts_received for one in frames if one.frame.kind == FrameKind.REST]


async def test_a_new_list_goes_to_one_stream_after_the_other() -> None:
    replies = {LIST: [Reply(listed(3))]}
    settings = fast(instrument_refresh_s=0.5, idle_timeout_s=30.0)
    async with VenueServer(trades, replies) as venue:
        wanted = target("linear", venue)
        many = Target("bybit", "linear", wanted.endpoints, ("*",), wanted.feeds, 2)
        async with running("bybit", [many], settings) as one:
            streams = ["bybit.linear.0", "bybit.linear.1"]
            await eventually(
                lambda: all(len(one.raw.replies(stream)) >= 2 for stream in streams),
                "both have a second list",
                within=60,
            )
            second = [lists(one.raw.of(stream))[1] for stream in streams]
            assert abs(second[0] - second[1]) > 500_000_000
