from datetime import UTC, datetime

import pytest

from services.simulator.engine.candles import window
from services.simulator.frames import frame, ping, pong, unfinished
from services.simulator.instruments import decimal_text
from tests.unit.simulator.client import instrument

DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("units", "scale", "text"),
    [(0, 0, "0"), (5, 0, "5"), (5, 3, "0.005"), (-1250, 2, "-12.50"), (123456789, 8, "1.23456789"), (-1, 4, "-0.0001")],
)
def test_decimals_are_printed_with_all_their_places(units: int, scale: int, text: str) -> None:
    assert decimal_text(units, scale) == text


def test_prices_and_sizes_have_each_venues_form() -> None:
    bybit = instrument("bybit", "linear", "BTCUSDT")
    assert (bybit.price(867_201), bybit.size(194)) == ("86720.10", "0.194")
    spot = instrument("binance", "spot", "BTCUSDT")
    assert (spot.price(8_672_013), spot.size(7)) == ("86720.13000000", "0.00007000")
    inverse = instrument("bybit", "inverse", "BTCUSD")
    assert (inverse.price(173_441), inverse.size(2500)) == ("86720.50", "2500")


def test_turnover_is_exact() -> None:
    bybit = instrument("bybit", "linear", "BTCUSDT")
    assert bybit.turnover(867_201 * 3) == "260.16030"


@pytest.mark.parametrize("length", [0, 125, 126, 65_535, 65_536])
def test_frames_announce_the_length_that_follows(length: int) -> None:
    data = frame(b"x" * length, binary=length % 2 == 0)
    assert data[0] == (0x82 if length % 2 == 0 else 0x81)
    size = {126: 2, 127: 8}.get(data[1], 0)
    assert (int.from_bytes(data[2 : 2 + size], "big") if size else data[1]) == length
    assert len(data) == 2 + size + length


def test_a_ping_is_a_control_frame_and_an_unfinished_frame_lacks_bytes() -> None:
    assert (ping(b"17"), pong(b"17")) == (b"\x89\x0217", b"\x8a\x0217")
    assert unfinished(b'{"a', 65_536) == b"\x81\x7f" + (65_536).to_bytes(8, "big") + b'{"a'


def test_weeks_start_on_monday_and_months_on_the_first() -> None:
    now_ms = int(datetime(2027, 12, 15, 13, 5, tzinfo=UTC).timestamp()) * 1000
    week = window(7 * DAY_MS, now_ms)
    assert datetime.fromtimestamp(week[0] / 1000, UTC) == datetime(2027, 12, 13, tzinfo=UTC)
    month = window(0, now_ms)
    assert [datetime.fromtimestamp(at / 1000, UTC).isoformat()[:10] for at in month] == ["2027-12-01", "2028-01-01"]
