from services.ingest.listing import resolve
from shared.instruments import Instrument, InstrumentKind


def instrument(base: str, *, active: bool = True) -> Instrument:
    return Instrument(
        exchange="bybit",
        product="spot",
        native_symbol=f"{base}USDT",
        symbol=f"{base}/USDT",
        kind=InstrumentKind.SPOT,
        base=base,
        quote="USDT",
        settle=None,
        active=active,
    )


LISTED = [instrument("BTC"), instrument("ETH"), instrument("OLD", active=False)]


def test_unified_and_native_names_mean_the_same_once() -> None:
    found, problems = resolve(["ETH/USDT", "BTCUSDT", "ETHUSDT"], LISTED)
    assert [one.symbol for one in found] == ["ETH/USDT", "BTC/USDT"]
    assert problems == []


def test_what_cannot_be_had_is_named_with_its_reason() -> None:
    found, problems = resolve(["XRPXRP", "BTC/USDT", "OLD/USDT"], LISTED)
    assert [one.symbol for one in found] == ["BTC/USDT"]
    assert problems == [("XRPXRP", "is not listed"), ("OLD/USDT", "is listed but not trading")]


def test_a_star_is_everything_that_trades() -> None:
    found, problems = resolve(["*"], LISTED)
    assert [one.symbol for one in found] == ["BTC/USDT", "ETH/USDT"]
    assert problems == []
