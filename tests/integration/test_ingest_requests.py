"""REST as ingest uses it: limits, retries, pauses, instrument lists in pages, requests that coalesce."""

import asyncio

import pytest

from services.ingest.listing import Listing
from services.ingest.requests import StreamRequests
from shared.backoff import Backoff
from shared.clock import SystemClock
from shared.envelope import Disconnected, RestReply
from shared.errors import RequestFailed
from shared.exchanges.base import Endpoints, Heartbeat, Limits, Request
from shared.exchanges.bybit.adapter import BybitAdapter
from shared.telemetry.tasks import TaskSet
from shared.transport import http
from shared.transport.http import RestClient
from tests.support.eventually import eventually
from tests.support.ingesting import held
from tests.support.plans import TRADES, QuickBybit, bybit
from tests.support.venue_server import Conversation, Reply, VenueServer, acknowledge

pytestmark = pytest.mark.integration

LIMITS = Limits(100, 100, 100.0, 1000, 1.0, 100, 1.0)
INSTRUMENTS = "/v5/market/instruments-info"


async def test_a_reply_is_what_came_whatever_its_status_but_those_that_ask_to_come_back() -> None:
    observed: list[float] = []
    replies = {"/a": [Reply(b"{}", 200), Reply(b"no", 404), Reply(b"later", 503)]}
    async with VenueServer(replies=replies) as venue, RestClient(LIMITS, observe=observed.append) as client:
        request = Request(f"{venue.rest}/a?x=1")
        assert await client.get(request) == RestReply(request.url, 200, b"{}")
        assert await client.get(request) == RestReply(request.url, 404, b"no")
        with pytest.raises(RequestFailed, match="503") as caught:
            await client.get(request)
    assert caught.value.status == 503
    assert len(observed) == 2
    assert all(seconds >= 0 for seconds in observed)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://[::1", "http://no-such-host.invalid/", "not a url"])
async def test_no_answer_is_a_failure_without_status(url: str) -> None:
    async with RestClient(LIMITS, timeout_s=2.0) as client:
        with pytest.raises(RequestFailed) as caught:
            await client.get(Request(url))
    assert caught.value.status is None


async def test_a_reply_that_never_comes_ends_at_the_timeout() -> None:
    async with VenueServer(replies={"/a": [Reply(delay=30)]}) as venue, RestClient(LIMITS, timeout_s=0.2) as client:
        with pytest.raises(RequestFailed, match="TimeoutError"):
            await client.get(Request(f"{venue.rest}/a"))


async def test_a_long_reply_comes_whole_and_one_over_the_bound_is_refused() -> None:
    long = b"x" * http.MAX_REPLY
    replies = {"/long": [Reply(long)], "/longer": [Reply(b"x" * (http.MAX_REPLY + 1))]}
    async with VenueServer(replies=replies) as venue, RestClient(LIMITS) as client:
        reply = await client.get(Request(f"{venue.rest}/long"))
        assert reply.body == long
        with pytest.raises(RequestFailed, match="more than"):
            await client.get(Request(f"{venue.rest}/longer"))


async def test_retry_after_holds_back_every_request_of_the_client() -> None:
    replies = {"/a": [Reply(status=429, retry_after="1"), Reply(b"a")], "/b": [Reply(b"b")]}
    async with VenueServer(replies=replies) as venue, RestClient(LIMITS) as client:
        loop = asyncio.get_running_loop()
        started = loop.time()
        with pytest.raises(RequestFailed):
            await client.get(Request(f"{venue.rest}/a"))
        assert (await client.get(Request(f"{venue.rest}/b"))).body == b"b"
        assert loop.time() - started >= 1.0


async def test_trying_until_there_is_a_reply_tells_of_each_failure() -> None:
    failures: list[tuple[int | None, float]] = []
    replies = {"/a": [Reply(status=500), Reply(status=502), Reply(b"ok")]}
    async with VenueServer(replies=replies) as venue, RestClient(LIMITS) as client:
        backoff = Backoff(0.02, 1.0)
        request = Request(f"{venue.rest}/a")
        reply = await client.get_until(request, backoff, lambda error, delay: failures.append((error.status, delay)))
    assert reply.body == b"ok"
    assert [status for status, _ in failures] == [500, 502]
    assert 0.01 <= failures[0][1] <= 0.02 <= failures[1][1] <= 0.04
    assert backoff.attempts == 0


def page(cursor: str, *symbols: str) -> Reply:
    listed = ",".join(
        f'{{"symbol":"{one}","contractType":"LinearPerpetual","status":"Trading","baseCoin":"{one[:-4]}",'
        f'"quoteCoin":"USDT","settleCoin":"USDT","launchTime":"1","deliveryTime":"0",'
        f'"priceFilter":{{"tickSize":"0.1"}},"lotSizeFilter":{{"qtyStep":"0.1","minOrderQty":"0.1"}}}}'
        for one in symbols
    )
    body = (
        f'{{"retCode":0,"retMsg":"OK","result":{{"category":"linear","nextPageCursor":"{cursor}","list":[{listed}]}}}}'
    )
    return Reply(body.encode())


def listing(venue: VenueServer, client: RestClient, failures: list[str]) -> Listing:
    endpoints = Endpoints(venue.websocket, venue.rest)
    return Listing(
        BybitAdapter(), "linear", endpoints, client, SystemClock(), lambda error, _: failures.append(str(error))
    )


async def test_an_instrument_list_is_all_its_pages_and_is_not_fetched_while_it_is_young() -> None:
    failures: list[str] = []
    pages = {INSTRUMENTS: [page("next", "BTCUSDT"), page("", "ETHUSDT", "SOLUSDT"), page("", "XRPUSDT")]}
    async with VenueServer(replies=pages) as venue, RestClient(LIMITS) as client:
        one = listing(venue, client, failures)
        assert [*await asyncio.gather(one.refresh(60), one.refresh(60))] == [True, False]
        assert [each.native_symbol for each in one.instruments] == ["BTCUSDT", "ETHUSDT", "SOLUSDT"]
        assert len(one.replies) == 2
        assert "cursor=next" in venue.requests[1]
        assert not await one.refresh(60)
        assert await one.refresh(0)
        assert [each.native_symbol for each in one.instruments] == ["XRPUSDT"]
    assert failures == []


async def test_garbage_and_empty_lists_are_asked_for_again_with_growing_delays() -> None:
    failures: list[str] = []
    replies = {INSTRUMENTS: [Reply(b"<html>"), page(""), page("", "BTCUSDT")]}
    async with VenueServer(replies=replies) as venue, RestClient(LIMITS) as client:
        loop = asyncio.get_running_loop()
        started = loop.time()
        one = listing(venue, client, failures)
        assert await one.refresh(60)
        assert loop.time() - started >= 1.4  # at least half of 1 s, and half of 2 s
    assert [each.native_symbol for each in one.instruments] == ["BTCUSDT"]
    assert len(failures) == 2
    assert "invalid_json" in failures[0]
    assert "empty" in failures[1]


async def test_pages_that_never_end_are_given_up() -> None:
    failures: list[str] = []
    pages = {INSTRUMENTS: [page(f"c{number}", "BTCUSDT") for number in range(150)]}
    async with VenueServer(replies=pages) as venue, RestClient(LIMITS) as client:
        refreshing = asyncio.create_task(listing(venue, client, failures).refresh(60))
        await eventually(lambda: failures, "it is a failure")
        refreshing.cancel()
        await asyncio.gather(refreshing, return_exceptions=True)
    assert "pages" in failures[0]
    assert len(venue.requests) == 100


async def test_the_same_request_is_made_once_more_when_it_was_asked_for_meanwhile() -> None:
    delivered: list[bytes] = []
    replies = {"/a": [Reply(b"1", delay=0.2), Reply(b"2"), Reply(b"3")], "/b": [Reply(b"b")]}
    async with VenueServer(replies=replies) as venue, RestClient(LIMITS) as client, TaskSet() as tasks:
        requests = StreamRequests(
            client, tasks, lambda reply: delivered.append(reply.body), lambda _error, _delay: None
        )
        requests.fetch(Request(f"{venue.rest}/a"))
        requests.fetch(Request(f"{venue.rest}/b"))
        await eventually(lambda: len(venue.requests) == 2, "they are under way")
        for _ in range(10):
            requests.fetch(Request(f"{venue.rest}/a"))
        await eventually(lambda: len(delivered) == 3, "ten are one more")
        await eventually(lambda: not len(tasks), "nothing is under way")
        assert sorted(delivered) == [b"1", b"2", b"b"]
        requests.fetch(Request(f"{venue.rest}/a"))
        await eventually(lambda: delivered[-1] == b"3", "and the next is one again")


class Defective(QuickBybit):
    def heartbeat(self, product: str) -> Heartbeat | None:
        raise LookupError(f"no heartbeat for {product}")


async def test_a_defect_in_a_task_of_a_connection_surfaces() -> None:
    async def script(one: Conversation) -> None:
        await acknowledge(one)
        await one.until_gone()

    async with VenueServer(script) as venue, held(bybit(venue.websocket, TRADES), adapter=Defective()) as stream:
        with pytest.raises(LookupError, match="no heartbeat for linear"):
            await asyncio.wait_for(stream.task, 60)
        assert stream.count("task_crashes_total", task="heartbeat") == 1
        await eventually(lambda: stream.raw.marks(Disconnected), "the stream says so")
    assert [mark.reason for mark in stream.raw.marks(Disconnected)] == ["crashed"]
