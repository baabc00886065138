from base64 import b64decode
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec import json

from shared.envelope import Frame
from shared.exchanges.base import FrameClass
from shared.exchanges.mexc import ADAPTER
from shared.instruments import Instrument
from shared.messages import BookSnapshot, Candle, StreamStatus, Ticker, Trade
from tests.contract.conformance import check_messages
from tests.contract.driving import Driver, Replica, binary, rest, text
from tests.support.paths import SHARED, needs_shared
from tests.unit.exchanges.mexc.frames import contract, futures_url, spot, spot_url

pytestmark = needs_shared

FRAMES = SHARED / "frames" / "mexc"
SYNTHETIC = FRAMES / "synthetic"

QUIET = "nothing"
"""No message and no rejection: an answer, a pong, an update of a book without a seed, a quote that is told already."""

LISTED: dict[str, tuple[Instrument, ...]] = {
    "spot": (spot("BTCUSDT"), spot("MXUSDT"), spot("EXAMPLEUSDT")),
    "futures": (
        contract("BTC_USDT", "0.0001"),
        contract("BTC_USD", "100"),
        contract("ETH_USDT", "0.01"),
        contract("BSV_USDT", "0.1"),
        contract("BCH_USDT", "0.01"),
    ),
}

# What gives no message, line by line; every other line gives at least one.
EXPECTED = {
    "futures_depth_exponent_20250519.real.jsonl": {1: QUIET},
    # 2 to 6 are private pushes, which a public stream never has.
    "futures_private_docs_examples.jsonl": {1: QUIET} | dict.fromkeys(range(2, 7), "unknown_event"),
    # A pong, an unseeded update, an index price before any fair price, an answer, an error.
    "futures_public_docs_examples.jsonl": dict.fromkeys((1, 5, 8, 10, 11), QUIET),
    "futures_singles_2022.real.jsonl": dict.fromkeys((3, 4, 9, 10), QUIET),
    "private_samples_ccxt.jsonl": {1: "unknown_event"},
    # 1 an unseeded update, 3 an index price, 7 a listed contract; 8 was edited by its author: the frame is of
    # BTC_USDT, its data of ETH_USDT.
    "public_fixtures_jkorf.jsonl": dict.fromkeys((1, 3, 7), QUIET) | {8: "unknown_instrument"},
    "public_samples_ccxt.jsonl": {4: QUIET},
    "spot_control_text.jsonl": dict.fromkeys(range(1, 8), QUIET),
    "spot_private.doc_examples_synth.b64": dict.fromkeys((1, 2, 3), "unknown_event"),
    "spot_private.reencoded_from_real_values.b64": dict.fromkeys((1, 2), "unknown_event"),
    # 3 an unseeded update, 4 the batch of increments that nobody can subscribe to any more, 5 the top of a book that
    # is kept from its updates.
    "spot_public.doc_examples_synth.b64": {3: QUIET, 4: "unknown_event", 5: QUIET},
    "spot_public.reencoded_from_real_values.b64": dict.fromkeys((3, 7), QUIET),
    "synthetic/futures_private_lifecycle.synthetic.jsonl": dict.fromkeys((1, 2, 11, 12), QUIET)
    | dict.fromkeys(range(3, 11), "unknown_event"),
    "synthetic/spot_private_lifecycle.synthetic.b64": dict.fromkeys(range(1, 14), "unknown_event"),
}
REPLAYED = {
    "synthetic/futures_depth_merged_deals.synthetic.jsonl",
    "synthetic/spot_depth_deals_bookticker.synthetic.b64",
}


def frames_of(path: Path) -> list[Frame]:
    lines = path.read_bytes().splitlines()
    return [binary(b64decode(line)) for line in lines] if path.suffix == ".b64" else [text(line) for line in lines]


def replay(product: str, frames: Iterable[Frame]) -> Driver:
    driver = Driver(ADAPTER, product, LISTED[product])
    for frame in frames:
        driver.send(frame)
    for output in driver.outputs:
        check_messages(output)
    return driver


def product_of(name: str) -> str:
    return "spot" if Path(name).name.startswith("spot") else "futures"


@pytest.mark.parametrize("name", EXPECTED)
def test_each_line_gives_messages_or_the_right_rejection(name: str) -> None:
    driver = replay(product_of(name), frames_of(FRAMES / name))
    found = {}
    for line, output in enumerate(driver.outputs, start=1):
        if output.rejections:
            assert output.messages == []
            found[line] = ",".join(sorted({rejection.code for rejection in output.rejections}))
        elif not output.messages:
            found[line] = QUIET
    assert found == EXPECTED[name]


def test_every_file_is_looked_at() -> None:
    files = [*FRAMES.glob("**/*.b64"), *FRAMES.glob("**/*.jsonl")]
    names = {str(path.relative_to(FRAMES)) for path in files if not path.name.endswith(".decoded.jsonl")}
    assert names == set(EXPECTED) | REPLAYED


def test_what_gives_a_message_is_data_to_ingest() -> None:
    for name in {*EXPECTED, *REPLAYED}:
        product = product_of(name)
        for output, frame in zip(
            replay(product, frames_of(FRAMES / name)).outputs, frames_of(FRAMES / name), strict=True
        ):
            route = ADAPTER.classify(product, frame.data, binary=name.endswith(".b64"))
            assert route.frame_class is FrameClass.DATA or not output.messages
            for message in output.messages:
                assert route.native_symbol in {None, message.native_symbol}


def test_messages_hold_what_the_protobuf_frames_hold() -> None:
    for name in ("spot_public.doc_examples_synth", "spot_public.reencoded_from_real_values"):
        driver = replay("spot", frames_of(FRAMES / f"{name}.b64"))
        wanted = [json.decode(line) for line in (FRAMES / f"{name}.decoded.jsonl").read_bytes().splitlines()]
        deals = [deal for push in wanted for deal in push.get("publicAggreDeals", {}).get("deals", [])]
        trades = [message for message in driver.messages if isinstance(message, Trade)]
        assert [(one.price, one.size, one.trade_id) for one in trades] == [
            (deal["price"], deal["quantity"], deal.get("tradeId")) for deal in deals
        ]
        assert [one.side for one in trades] == ["buy" if deal["tradeType"] == 1 else "sell" for deal in deals]
        assert [one.ts_exchange for one in trades] == [int(deal["time"]) * 1_000_000 for deal in deals]
        bars = [push["publicSpotKline"] for push in wanted if "publicSpotKline" in push]
        candles = [message for message in driver.messages if isinstance(message, Candle)]
        assert [(one.open, one.close, one.volume, one.turnover, one.ts_open) for one in candles] == [
            (bar["openingPrice"], bar["closingPrice"], bar["volume"], bar["amount"], int(bar["windowStart"]) * 10**9)
            for bar in bars
        ]


def test_price_in_exponent_form_leaves_plain() -> None:
    update = frames_of(FRAMES / "futures_depth_exponent_20250519.real.jsonl")[0]
    body = b'{"success":true,"code":0,"data":{"asks":[],"bids":[],"version":25133684084,"timestamp":1747645131000}}'
    driver = replay("futures", [rest(futures_url(), body), update])
    encoded = json.encode(driver.messages)
    assert [message.feed for message in driver.messages] == ["book_snapshot", "book_delta"]
    assert b'["97500","2.5329"]' in encoded
    assert b'"25329.000000000000000000000000000000"' in encoded


def test_inverse_volumes_are_the_venues_own_base_figures() -> None:
    driver = replay("futures", frames_of(FRAMES / "futures_singles_2022.real.jsonl"))
    inverse = [message for message in driver.messages if message.symbol == "BTC/USD:BTC"]
    candle = next(message for message in inverse if isinstance(message, Candle))
    assert (candle.volume, candle.turnover, candle.volume_native) == ("8.0759087605568165", "253900", "2539")
    ticker = next(message for message in inverse if isinstance(message, Ticker))
    assert (ticker.volume, ticker.turnover) == ("69402.4579798127137243", "2103074000")


@pytest.mark.parametrize(
    ("product", "stem", "url"),
    [
        ("spot", "spot_depth", spot_url()),
        ("futures", "futures_depth", futures_url()),
    ],
)
def test_books_end_as_expected(product: str, stem: str, url: str) -> None:
    path = next(path for path in SYNTHETIC.glob(f"{stem}_*.synthetic.*"))
    expected = json.decode(next(SYNTHETIC.glob(f"{stem}_*.expected.json")).read_bytes())
    frames = frames_of(path)
    seed = rest(url, next(SYNTHETIC.glob(f"{stem}_seed.rest.json")).read_bytes())
    driver = replay(product, [*frames[:4], seed, *frames[4:]])
    assert driver.codes == []
    assert not any(isinstance(message, StreamStatus) for message in driver.messages)
    assert len([message for message in driver.messages if isinstance(message, BookSnapshot)]) == 1
    replica = Replica()
    replica.apply(driver.messages)
    symbol = LISTED[product][0].symbol
    assert replica.crossed() == []
    assert replica.sequence[symbol] == expected.get("version", expected.get("toVersion"))
    for side, levels in (("bids", replica.bids(symbol)), ("asks", replica.asks(symbol))):
        assert levels[: len(expected[side])] == [as_told(product, *level) for level in expected[side]]


def as_told(product: str, price: str, size: str | int) -> tuple[str, str]:
    """An expected level as canonical messages have it: contracts of 0.0001 as base units."""
    if product == "spot":
        return price, str(size)
    whole, parts = divmod(int(size), 10_000)
    return price, f"{whole}.{parts:04d}".rstrip("0").rstrip(".")


def test_synthetic_trades_all_come_out_once() -> None:
    path = SYNTHETIC / "futures_depth_merged_deals.synthetic.jsonl"
    rows = [json.decode(line) for line in path.read_bytes().splitlines()]
    wanted = [deal["i"] for row in rows if row["channel"] == "push.deal" for deal in row["data"]]
    driver = replay("futures", frames_of(path))
    assert [message.trade_id for message in driver.messages if isinstance(message, Trade)] == wanted
    driver.connect()
    driver.send(*[frame for frame in frames_of(path) if b"push.deal" in frame.data][-50:])
    assert len([message for message in driver.messages if isinstance(message, Trade)]) == len(wanted)
