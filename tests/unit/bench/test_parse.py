import argparse
from pathlib import Path

import pytest
from msgspec import json

from services.bench import parse
from services.bench.case import Case
from services.bench.market import assets
from services.bench.race import Contest, race

NAMES = [f"{case.exchange}-{case.product}-{case.feed}" for case in parse.CASES]

UNMAPPED = {"symbol", "side"}
"""The floor leaves these as the venue writes them."""

CONTRACTS = {"size", "bid_size", "ask_size", "volume", "open_interest", "bids", "asks"}
"""Contracts, to the floor."""

MERGED = {"last_price", "open_price", "high_price", "low_price", "volume", "turnover", "mark_price", "index_price"}
"""What the floor, without state, takes from the snapshot where a delta leaves it out."""


def arguments(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parse.add_arguments(parser)
    return parser.parse_args(given)


def differing(case: Case) -> set[str]:
    if (case.exchange, case.product) == ("mexc", "futures"):
        return UNMAPPED | CONTRACTS
    return UNMAPPED | MERGED if (case.exchange, case.feed) == ("bybit", "ticker") else UNMAPPED


@pytest.mark.parametrize("case", parse.CASES, ids=NAMES)
def test_floor_and_product_say_the_same(case: Case) -> None:
    contest = Contest(case, assets(case.exchange, case.product, seed=3))
    frames = contest.frames(120)
    envelope = contest.runner.envelope(frames)
    ours = [json.decode(json.encode(message)) for message in contest.runner.messages(envelope)]
    floor = {(one["frame"], one["feed"]): one for one in json.decode(case.floor(frames, envelope.first))}
    assert contest.runner.rejected == 0
    assert len({one["frame"] for one in ours}) > 60  # the rest repeats what the one before said
    extra = {"funding"} if case.feed == "mark_price" else set()
    for message in ours:
        if message["feed"] in extra:
            continue
        # Of several trades in a frame the last is compared.
        one = floor[message["frame"], message["feed"]]
        assert one.keys() == message.keys()
        if one["part"] == message["part"]:
            same = message.keys() - differing(case)
            assert {key: one[key] for key in same} == {key: message[key] for key in same}


def test_results_have_what_they_are_read_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse.measure(arguments("--exchange", "bybit", "--rounds", "1", "--count", "60", "--json")) == 0
    lines = capsys.readouterr().out.splitlines()
    results = json.decode(lines[-1])["results"]
    assert [one["feed"] for one in results] == ["trade", "quote", "ticker", "book_delta"]
    for one in results:
        assert one["exchange"] == "bybit"
        assert one["frames_per_s"] > 0
        assert one["floor_frames_per_s"] > 0
        assert one["ratio"] == pytest.approx(one["frames_per_s"] / one["floor_frames_per_s"])
    assert lines[0].split()[:3] == ["exchange", "product", "feed"]
    assert len(lines) == 6


def test_every_exchange_is_measured_on_its_main_feeds() -> None:
    feeds = {(case.exchange, case.product, case.feed) for case in parse.CASES}
    for product in (
        ("bybit", "linear"),
        ("binance", "spot"),
        ("binance", "usdm"),
        ("mexc", "spot"),
        ("mexc", "futures"),
    ):
        assert {(*product, feed) for feed in ("trade", "quote", "ticker", "book_delta")} <= feeds


def test_one_result_a_case_in_their_order() -> None:
    cases = [case for case in parse.CASES if case.feed == "trade"]
    results = list(race(cases, rounds=1, frames=40))
    assert [(one.exchange, one.product) for one in results] == [(case.exchange, case.product) for case in cases]


@pytest.mark.parametrize(
    ("exchange", "product", "feed"), [("bybit", "linear", "trade"), ("binance", "usdm", "book_delta")]
)
def test_recorded_frames(
    exchange: str, product: str, feed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = next(one for one in parse.CASES if (one.exchange, one.product, one.feed) == (exchange, product, feed))
    contest = Contest(case, assets(exchange, product, seed=5))
    file = tmp_path / "frames.jsonl"
    file.write_bytes(b"\n".join(frame.data for frame in contest.frames(30)) + b'\n{"op":"pong"}\n\n')
    given = ("--frames", str(file), "--exchange", exchange, "--product", product, "--rounds", "1", "--json")
    assert parse.measure(arguments(*given)) == 0
    results = json.decode(capsys.readouterr().out.splitlines()[-1])["results"]
    assert [(one["exchange"], one["product"], one["feed"]) for one in results] == [(exchange, product, feed)]


def test_recorded_frames_need_to_be_somebodys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "frames.jsonl"
    file.write_bytes(b'{"op":"pong"}\n')
    assert parse.measure(arguments("--frames", str(file))) == 2
    assert "--exchange" in capsys.readouterr().err
    assert parse.measure(arguments("--frames", str(file), "--exchange", "bybit", "--product", "linear")) == 2
    assert "nothing to measure" in capsys.readouterr().err
