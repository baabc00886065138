"""Key sets of the simulator's frames against frames recorded at the venues."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from services.simulator import SimulatorSettings
from services.simulator.topics import Message
from services.simulator.venues.registry import make_venue
from tests.support.paths import SHARED, needs_shared
from tests.unit.simulator.client import Decoded, driven, market
from tests.unit.simulator.talk import ask, opened, replies, venue

pytestmark = needs_shared

FRAMES = SHARED / "frames"
WIRE_2026 = "bybit/linear_wire_singles_20260923.real_trimmed.jsonl"
SPOT_2024 = "binance/spot_btcusdt_depth100ms_bookTicker_trade_20240808.real.jsonl"
USDM_2024 = "binance/usdm_btcusdt_depth0ms_bookTicker_trade_20240808.real.jsonl"
MEXC_2022 = "mexc/futures_singles_2022.real.jsonl"


def lines(path: str) -> Iterator[Any]:
    for line in Path(FRAMES / path).read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def shape(value: object) -> object:
    """Keys in their order, with the first element standing for a list, and the kind of every leaf."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return "text" if isinstance(value, str) else "flag" if isinstance(value, bool) else "number"


def made(exchange: str, product: str, symbol: str, topic: str) -> list[Message]:
    """What subscribers of a topic get, as decoded JSON."""
    one = market(exchange, product, symbol, rate=200.0)
    venue = make_venue(exchange, product, {symbol: one}, SimulatorSettings())
    found = venue.find(topic)
    assert found is not None
    found.start(one.now_ns)
    messages = found.greet(one.now_ns)
    for _ in range(20):
        messages += found.poll(driven(one, 0.5))
    return [json.loads(found.encode(message)) for message in messages]


def merged(shapes: list[Any]) -> Decoded:
    """Recorded frames leave a side empty now and then: the fullest shape speaks for all."""
    return max(shapes, key=lambda one: len(json.dumps(one)))


CASES: list[tuple[str, str, str, str, str, Callable[[Any], Any]]] = [
    (
        "bybit",
        "linear",
        "BTCUSDT",
        "orderbook.50.BTCUSDT",
        WIRE_2026,
        lambda f: f if "orderbook" in f.get("topic", "") else None,
    ),
    ("binance", "spot", "BTCUSDT", "btcusdt@depth@100ms", SPOT_2024, lambda f: _stream(f, "btcusdt@depth@100ms")),
    ("binance", "spot", "BTCUSDT", "btcusdt@bookTicker", SPOT_2024, lambda f: _stream(f, "btcusdt@bookTicker")),
    ("binance", "spot", "BTCUSDT", "btcusdt@trade", SPOT_2024, lambda f: _stream(f, "btcusdt@trade")),
    ("mexc", "futures", "BTC_USDT", "ticker@BTC_USDT", MEXC_2022, lambda f: _push(f, "push.ticker")),
    ("mexc", "futures", "BTC_USDT", "kline.Min1@BTC_USDT", MEXC_2022, lambda f: _push(f, "push.kline")),
]


def _stream(frame: Decoded, name: str) -> Decoded:
    return frame["data"] if frame.get("stream") == name else None


def _push(frame: Decoded, channel: str) -> Decoded:
    return frame if frame["channel"] == channel else None


def unordered(value: object) -> Decoded:
    """JSON whose venue does not keep an order of keys."""
    return json.loads(json.dumps(value, sort_keys=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}-{case[3]}")
def test_frames_have_the_recorded_keys_and_kinds(case: tuple[str, str, str, str, str, Callable[[Any], Any]]) -> None:
    exchange, product, symbol, topic, path, chosen = case
    recorded = merged([shape(one) for one in map(chosen, lines(path)) if one is not None])
    simulated = merged([shape(one) for one in made(exchange, product, symbol, topic)])
    assert unordered(simulated) == unordered(recorded)
    if exchange != "mexc":
        assert json.dumps(simulated) == json.dumps(recorded)


@pytest.mark.parametrize(
    ("topic", "new"),
    [
        ("btcusdt@depth@0ms", {"ps", "st"}),
        ("btcusdt@bookTicker", {"ps", "st"}),
        ("btcusdt@trade", {"st"}),
    ],
)
def test_futures_frames_have_the_recorded_keys_and_those_of_the_shared_stack(topic: str, new: set[str]) -> None:
    recorded = merged([shape(one["data"]) for one in lines(USDM_2024) if one.get("stream") == topic])
    simulated = merged([shape(one) for one in made("binance", "usdm", "BTCUSDT", topic)])
    assert set(simulated) - set(recorded) == new
    assert {key: kind for key, kind in simulated.items() if key not in new} == recorded


def test_contract_depth_has_the_recorded_form_exponents_included() -> None:
    (recorded,) = [*lines("mexc/futures_depth_exponent_20250519.real.jsonl")]
    simulated = made("mexc", "futures", "BTC_USDT", "depth@BTC_USDT")
    assert set(recorded) == set(simulated[0])
    assert set(recorded["data"]) <= set(simulated[0]["data"])


@pytest.mark.parametrize(
    ("product", "symbol", "marker"),
    [("linear", "BTCUSDT", "fundingIntervalHour"), ("spot", "BTCUSDT", "usdIndexPrice")],
)
def test_tickers_know_only_documented_fields(product: str, symbol: str, marker: str) -> None:
    documented: set[str] = set()
    for frame in lines("bybit/docs_examples_public.jsonl"):
        if isinstance(frame, dict) and "tickers." in str(frame.get("topic")) and marker in frame["data"]:
            documented |= set(frame["data"])
    simulated = made("bybit", product, symbol, f"tickers.{symbol}")[0]["data"]
    since_june = {"singleOpenInterest", "singleOpenInterestValue"}
    assert set(simulated) <= documented | since_june
    assert documented - set(simulated) <= {"preOpenPrice", "preQty", "curPreListingPhase"}


def test_refusals_and_acknowledgements_have_the_recorded_keys() -> None:
    session = opened(venue("bybit", "linear", "BTCUSDT"), "/v5/public/linear")
    recorded = [frame for frame in lines(WIRE_2026) if "success" in frame]
    good = replies(ask(session, {"op": "subscribe", "req_id": "1", "args": ["tickers.BTCUSDT"]}))[0]
    bad = replies(ask(session, {"op": "subscribe", "req_id": "1", "args": ["tickers.NOPE"]}))[0]
    for reply in (good, bad):
        assert {tuple(one) for one in recorded} == {tuple(reply)}
    texts = [frame["msg"] for frame in lines("mexc/spot_control_text.jsonl")]
    spot = opened(venue("mexc", "spot", "BTCUSDT"), "/ws")
    for text in texts:
        names = [name for part in text.split("[")[1:] for name in part.split("]")[0].split(",")]
        if names:
            assert replies(ask(spot, {"method": "SUBSCRIPTION", "params": names}))[0] == {
                "id": 0,
                "code": 0,
                "msg": text,
            }
