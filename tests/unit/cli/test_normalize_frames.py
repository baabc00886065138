"""Every recorded file of the venues through ``tidegate normalize``."""

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw, json

from shared.errors import PARSE_CODES
from tests.support.consumer import CheckingConsumer
from tests.support.paths import SHARED, needs_shared
from tests.unit.cli.running import Ran, Tidegate

pytestmark = needs_shared

FRAMES = SHARED / "frames"
VENUES = {"bybit": ("linear", "spot", "inverse"), "mexc": ("spot", "futures"), "binance": ("spot", "usdm")}
FILES = [
    (venue, path)
    for venue in VENUES
    for pattern in ("**/*.jsonl", "**/*.b64")
    for path in sorted((FRAMES / venue).glob(pattern))
    if not path.name.endswith((".rest.jsonl", ".decoded.jsonl", ".client_sent.jsonl"))
]

QUIET = {
    "futures_depth_exponent_20250519.real.jsonl",  # one update of a book that has no snapshot
    "spot_control_text.jsonl",
    "auth_replies.real.jsonl",
}


def product_of(venue: str, path: Path) -> str:
    return next((product for product in VENUES[venue] if path.name.startswith(product)), VENUES[venue][0])


def run(tidegate: Tidegate, venue: str, path: Path, *more: object) -> Ran:
    binary = ["--base64"] if path.suffix == ".b64" else []
    return tidegate("normalize", "--exchange", venue, "--product", product_of(venue, path), *binary, *more, path)


def consumed(ran: Ran) -> CheckingConsumer:
    consumer = CheckingConsumer()
    for line in ran.out.splitlines():
        consumer.take(b"[" + line + b"]")
    return consumer


@pytest.mark.parametrize(("venue", "path"), FILES, ids=[f"{venue}-{path.name}" for venue, path in FILES])
def test_every_line_gives_messages_or_a_counted_rejection(tidegate: Tidegate, venue: str, path: Path) -> None:
    ran = run(tidegate, venue, path)
    lines = len(path.read_bytes().splitlines())
    assert ran.status == (3 if ran.rejected else 0)
    assert {each["code"] for each in ran.rejected} <= PARSE_CODES - {"internal"}
    assert all(1 <= each["line"] <= lines for each in ran.rejected)
    consumer = consumed(ran)
    assert consumer.duplicates == 0
    assert consumer.inversions == []
    assert consumer.broken_chains == 0
    if path.name not in QUIET:
        assert consumer.messages or ran.rejected


CAPTURES = [
    path for venue, path in FILES if venue == "binance" and "_20" in path.name and path.stat().st_size > 100_000
]


@pytest.mark.parametrize("path", CAPTURES, ids=[path.name for path in CAPTURES])
def test_binance_captures_replay_without_a_gap(tidegate: Tidegate, path: Path) -> None:
    replies = path.with_name(path.name.replace(".real.jsonl", ".rest.jsonl"))
    ran = run(tidegate, "binance", path, *(["--rest", replies] if replies.exists() else []))
    assert (ran.status, ran.error) == (0, "")
    consumer = consumed(ran)
    assert consumer.statuses == {}
    assert consumer.crossed == []
    assert consumer.feeds["book_delta"] > 400
    assert consumer.feeds["book_snapshot"] == len(consumer.books) >= 1


def test_there_are_captures() -> None:
    assert len(CAPTURES) >= 4


def levels(expected: list[list[Any]], scale: str) -> list[tuple[Decimal, Decimal]]:
    return [(Decimal(str(price)), Decimal(str(size)) * Decimal(scale)) for price, size, *_ in expected]


def check(consumer: CheckingConsumer, expected: dict[str, Any], scale: str = "1") -> None:
    (book,) = consumer.books.values()
    bids, asks = expected.get("bids", expected.get("b", [])), expected.get("asks", expected.get("a", []))
    depth = len(bids)
    assert depth >= 10
    assert book.top(depth) == (levels(bids, scale), levels(asks, scale))
    assert book.sequence == next(expected[name] for name in ("version", "toVersion", "u") if name in expected)
    assert consumer.crossed == []
    assert consumer.statuses.get("gap", 0) == expected["gaps"]


@pytest.mark.parametrize("name", ["linear_book50_trades_tickers", "linear_book50_restart_u1"])
def test_bybit_sequences_end_in_the_expected_book(tidegate: Tidegate, name: str) -> None:
    folder = FRAMES / "bybit" / "synthetic"
    ran = run(tidegate, "bybit", folder / f"{name}.synthetic.jsonl")
    assert ran.error == ""
    check(consumed(ran), json.decode((folder / f"{name}.expected.json").read_bytes()))


def test_a_gap_of_bybit_is_told_and_nothing_follows_without_a_snapshot(tidegate: Tidegate) -> None:
    ran = run(tidegate, "bybit", FRAMES / "bybit" / "synthetic" / "linear_book50_gap.synthetic.jsonl")
    statuses = Counter(message["status"] for message in ran.messages if message["feed"] == "stream_status")
    assert statuses["gap"] == statuses["resync"] == 1
    after = ran.messages[[message.get("status") for message in ran.messages].index("gap") :]
    assert not [message for message in after if message["feed"] == "book_delta"]


SEEDED = (
    ("futures_depth_merged_deals.synthetic.jsonl", "futures_depth_seed", "/api/v1/contract/depth/BTC_USDT", "0.0001"),
    ("spot_depth_deals_bookticker.synthetic.b64", "spot_depth_seed", "/api/v3/depth?symbol=BTCUSDT&limit=5000", "1"),
)


@pytest.mark.parametrize(("name", "seed", "url", "scale"), SEEDED, ids=[each[1] for each in SEEDED])
def test_mexc_sequences_end_in_the_expected_book(
    tidegate: Tidegate, tmp_path: Path, name: str, seed: str, url: str, scale: str
) -> None:
    folder = FRAMES / "mexc" / "synthetic"
    body = (folder / f"{seed}.rest.json").read_bytes().strip()
    replies = tmp_path / "replies.jsonl"
    replies.write_bytes(json.encode({"url": f"https://api.mexc.com{url}", "body": Raw(body)}) + b"\n")
    ran = run(tidegate, "mexc", folder / name, "--rest", replies)
    assert ran.error == ""
    expected = json.decode((folder / f"{name.partition('.')[0]}.expected.json").read_bytes())
    check(consumed(ran), expected, scale)
