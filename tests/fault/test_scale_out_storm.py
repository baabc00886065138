"""Eight streams of a venue taken over at once: each topic is asked for once, and no limit of the venue is met."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from services.cli.local_rabbit import free_ports
from shared.sequencing import ASK_AGAIN_NS
from tests.support.eventually import eventually, eventually_async
from tests.support.fleet import Witness, witness
from tests.support.processes import Stage, counter, fetch_json

pytestmark = pytest.mark.fault

STREAMS = 8
SETTINGS = """
[exchanges.{exchange}.products.{product}]
feeds = {feeds}
streams = 4
"""


class Venue:
    """A simulator and the ingest of one exchange, with four streams for each of two products."""

    def __init__(self, url: str, exchange: str, config: Path) -> None:
        port = free_ports(1)[0]
        self.exchange = exchange
        self.environment = {
            "AMQP_URL": url,
            "TIDEGATE_SIMULATOR__CONNECT": f"127.0.0.1:{port}",
            "TIDEGATE_CONFIG": str(config),
        }
        self.control = f"http://127.0.0.1:{port}/control"
        self.simulator = Stage("simulator", "--port", str(port), "--rate", "5", environment=self.environment)
        self.ingest = Stage("ingest", exchange, environment=self.environment)
        self.normalizers: list[Stage] = []

    async def normalizer(self) -> Stage:
        """One more; it owns all streams when this returns."""
        stage = Stage("normalizer", environment=self.environment)
        self.normalizers.append(stage)

        async def owns() -> bool:
            assert stage.running, stage.log()
            try:
                text = await asyncio.to_thread(stage.metrics)
            except OSError:
                return False
            return counter(text, "tidegate_streams_owned") == STREAMS

        await eventually_async(owns, "one normalizer owns every stream", within=90, interval=0.2)
        return stage

    async def asked(self, feed: str) -> int:
        """How often ingest was asked for a feed of an instrument, or for a stream's instruments."""
        return counter(await asyncio.to_thread(self.ingest.metrics), "tidegate_resyncs_total", feed=feed)

    async def troubles(self) -> dict[str, int]:
        """What a venue does to those who ask too much."""
        text = await asyncio.to_thread(self.ingest.metrics)
        state = await asyncio.to_thread(fetch_json, f"{self.control}/state")
        closed = [product["connections_closed"] for product in state["exchanges"][self.exchange].values()]
        rest = "tidegate_rest_requests_total"
        return {
            "closed": sum(sum(reasons.values()) for reasons in closed),
            "reconnects": counter(text, "tidegate_reconnects_total"),
            "refused": counter(text, rest) - counter(text, rest, outcome="ok"),
        }

    def close(self) -> None:
        """End everything."""
        for stage in [*self.normalizers, self.ingest, self.simulator]:
            stage.close()


@asynccontextmanager
async def venue(url: str, exchange: str, products: tuple[str, str], directory: Path) -> AsyncIterator[Venue]:
    config = directory / "tidegate.toml"
    feeds = ["trade", "book", *(["ticker"] if exchange == "bybit" else [])]
    text = "".join(SETTINGS.format(exchange=exchange, product=product, feeds=feeds) for product in products)
    await asyncio.to_thread(config.write_text, text)
    found = Venue(url, exchange, config)
    try:
        await asyncio.to_thread(found.ingest.wait_ready, 60)
        yield found
    finally:
        found.close()


def books(seen: Witness) -> set[tuple[str, str]]:
    """The instruments of which a snapshot came."""
    return {
        (each.stream.rpartition(".")[0], each.message["native_symbol"])
        for each in seen.seen
        if each.message["feed"] == "book_snapshot"
    }


def chains(seen: Witness) -> list[str]:
    """Deltas that continue nothing.

    Who looks first when a book is under way sees deltas of it: those of the owner that was there before don't count.
    """
    at: dict[tuple[str, str], int | None] = {}
    broken = []
    before = seen.seen[0].owner
    for each in seen.seen:
        message = each.message
        key = each.stream, message["native_symbol"]
        if message["feed"] == "book_snapshot":
            at[key] = message["sequence"]
        elif message["feed"] == "book_delta":
            if key not in at and each.owner == before:
                continue
            if key not in at or message["previous_sequence"] != at[key]:
                broken.append(f"{key}: {message['previous_sequence']} after {at.get(key)}")
            at[key] = message["sequence"]
    return broken


@pytest.mark.parametrize(
    ("exchange", "products"),
    [("bybit", ("spot", "linear")), ("binance", ("spot", "usdm")), ("mexc", ("spot", "futures"))],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_takeover_of_everything_asks_for_each_topic_once(
    rabbit_url: str, tmp_path: Path, exchange: str, products: tuple[str, str]
) -> None:
    async with venue(rabbit_url, exchange, products, tmp_path) as plane:
        async with witness(rabbit_url) as before:
            first = await plane.normalizer()
            await eventually(lambda: len(books(before)) == 10, "every book is there", within=60)
        asked = {feed: await plane.asked(feed) for feed in ("book", "instruments", "ticker")}
        troubles = await plane.troubles()
        async with witness(rabbit_url) as after:
            began = time.monotonic_ns()
            first.process.kill()
            second = await plane.normalizer()
            await eventually(lambda: len(books(after)) == 10, "every book is there again", within=60)
            assert chains(after) == []
        trades = [each for each in after.seen if each.message["feed"] == "trade"]
        assert trades
        more = {feed: await plane.asked(feed) - count for feed, count in asked.items()}
        tickers = 5 if exchange == "bybit" else 0  # only those of its derivatives are merged
        # Who has waited so long that a request may have been lost asks again: only a machine that is busy gets there.
        again = (time.monotonic_ns() - began) // ASK_AGAIN_NS
        assert more.pop("instruments") == STREAMS
        assert 10 <= more["book"] <= 10 * (1 + again)
        assert tickers <= more["ticker"] <= tickers * (1 + again)
        assert await plane.troubles() == troubles
        text = await asyncio.to_thread(second.metrics)
        assert counter(text, "tidegate_frames_rejected_total") == 0
        assert counter(text, "tidegate_takeover_seconds_count") == STREAMS
