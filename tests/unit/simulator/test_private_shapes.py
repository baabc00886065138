"""Key sets of the simulator's private messages against the venues' documented examples."""

import json
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.simulator import protobuf
from tests.support.paths import SHARED, needs_shared
from tests.unit.simulator.accounts.offices import Office
from tests.unit.simulator.private import spot_frame

pytestmark = needs_shared

FRAMES = SHARED / "frames"
SYMBOLS = {"bybit": ("BTCUSDT", "BTCUSD"), "mexc": ("BTCUSDT", "BTC_USDT"), "binance": ("BTCUSDT", "ETHUSDT")}
Body = dict[str, Any]


def lines(path: str) -> list[Any]:
    return [json.loads(line) for line in Path(FRAMES / path).read_text(encoding="utf-8").splitlines()]


def said(exchange: str) -> list[tuple[str, Body]]:
    """Every message of a busy account, by name."""
    office = Office(exchange, *SYMBOLS[exchange])
    office.busy(events=600, rate=1000.0, seed=4)
    events = json.loads(
        json.dumps([json.loads(bytes(one)) for one in office.desk.reports[office.account()].events(0, 5000)])
    )
    return [(message["name"], message["body"]) for event in events for message in event["messages"]]


@pytest.fixture(scope="module")
def messages() -> dict[str, list[tuple[str, Body]]]:
    return {exchange: said(exchange) for exchange in SYMBOLS}


def kinds(one: Body) -> dict[str, str]:
    """Keys with the kind of their value."""
    named = {bool: "flag", str: "text", int: "number", float: "number"}
    return {key: named.get(type(value), "more") for key, value in one.items()}


BYBIT = ["order", "execution", "execution.fast", "position", "wallet"]


@pytest.mark.parametrize("topic", BYBIT)
def test_bybit_rows_have_every_documented_key_in_the_documented_kind(
    messages: dict[str, list[tuple[str, Body]]], topic: str
) -> None:
    (documented,) = (one for one in lines("bybit/docs_examples_private.jsonl") if one["topic"] == topic)
    rows = [body for name, body in messages["bybit"] if name == topic]
    assert len(rows) > 20
    for body in rows:
        assert set(body) == set(documented)
        wanted, had = kinds(documented["data"][0]), kinds(body["data"][0])
        assert {key: had.get(key) for key in wanted if key != "extraFees"} == {
            key: kind for key, kind in wanted.items() if key != "extraFees"
        }
        if topic == "wallet":
            coin, ours = documented["data"][0]["coin"][0], body["data"][0]["coin"][0]
            assert kinds(coin).items() <= kinds(ours).items()


CASES: list[tuple[str, str, Callable[[Body], Body | None], Callable[[str, Body], Body | None]]] = [
    (
        "binance",
        "binance/synthetic/spot_private_lifecycle.synthetic.jsonl",
        lambda one: one["event"] if one.get("event", {}).get("e") == "executionReport" else None,
        lambda name, body: body if name == "executionReport" else None,
    ),
    (
        "binance",
        "binance/usdm_private_fixtures_nautilus.jsonl",
        lambda one: one["o"] if one["e"] == "ORDER_TRADE_UPDATE" and one["o"]["x"] == "TRADE" else None,
        lambda name, body: body["o"] if name == "ORDER_TRADE_UPDATE" and body["o"]["x"] == "TRADE" else None,
    ),
    (
        "binance",
        "binance/usdm_private_fixtures_nautilus.jsonl",
        lambda one: one if one["e"] == "TRADE_LITE" else None,
        lambda name, body: body if name == "TRADE_LITE" else None,
    ),
    (
        "mexc",
        "mexc/synthetic/futures_private_lifecycle.synthetic.jsonl",
        lambda one: one["data"] if one["channel"] == "push.personal.order" else None,
        lambda name, body: body["data"] if name == "order" else None,
    ),
    (
        "mexc",
        "mexc/synthetic/futures_private_lifecycle.synthetic.jsonl",
        lambda one: one["data"] if one["channel"] == "push.personal.order.deal" else None,
        lambda name, body: body["data"] if name == "order.deal" else None,
    ),
    (
        "mexc",
        "mexc/futures_private_docs_examples.jsonl",
        lambda one: one["data"] if one["channel"] == "push.personal.position" else None,
        lambda name, body: body["data"] if name == "position" else None,
    ),
    (
        "mexc",
        "mexc/futures_private_docs_examples.jsonl",
        lambda one: one["data"] if one["channel"] == "push.personal.asset" else None,
        lambda name, body: body["data"] if name == "asset" else None,
    ),
]
LEFT_OUT = {"AP", "cr", "N"}
"""Of trailing orders alone; and an asset of a fee that is null where there is none."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[1].rpartition("/")[2])
def test_rows_have_every_example_s_keys_in_its_kinds(
    messages: dict[str, list[tuple[str, Body]]],
    case: tuple[str, str, Callable[[Body], Body | None], Callable[[str, Body], Body | None]],
) -> None:
    exchange, path, theirs, ours = case
    examples = [one for one in map(theirs, lines(path)) if one is not None]
    rows = [one for one in (ours(name, body) for name, body in messages[exchange]) if one is not None]
    assert examples
    assert len(rows) > 20
    for example in examples:
        wanted = {key: kind for key, kind in kinds(example).items() if key not in LEFT_OUT}
        for row in rows:
            assert wanted.items() <= kinds(row).items()


def test_spot_protobuf_reads_as_the_reference_frames_do(messages: dict[str, list[tuple[str, Body]]]) -> None:
    """The recorded frames tell how the hand-written reader must be; what we write reads back through it."""
    frames = [
        b64decode(line) for line in (FRAMES / "mexc/synthetic/spot_private_lifecycle.synthetic.b64").read_text().split()
    ]
    seen: dict[str, set[str]] = {}
    for frame in frames:
        read = spot_frame(frame)
        seen.setdefault(read.channel, set()).update(read.body)
    for name, body in messages["mexc"]:
        if name in seen:
            read = spot_frame(protobuf.encode(body))
            assert read.channel == name
            seen[name] -= set(read.body)
    assert set().union(*seen.values()) <= {"isSelfTrade"}
