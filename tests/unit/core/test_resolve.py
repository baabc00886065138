"""Which instruments the settings mean."""

from msgspec.structs import replace

from services.ingest.listing import resolve
from tests.unit.core.making import BTC, ETH

HALTED = replace(BTC, symbol="OLD/USDT", native_symbol="OLDUSDT", active=False)
LISTED = [BTC, ETH, HALTED]


def test_unified_and_native_symbols() -> None:
    """Both name an instrument, which is meant once; the order is that of the settings."""
    assert resolve(["ETHUSDT", "BTC/USDT", "ETH/USDT"], LISTED) == ([ETH, BTC], [])


def test_star_means_everything_that_trades() -> None:
    """Beside names, too."""
    assert resolve(["*"], LISTED) == ([BTC, ETH], [])
    assert resolve(["BTC/USDT", "*"], LISTED) == ([BTC, ETH], [])


def test_problems_name_the_symbol() -> None:
    """A typo and a halted instrument cost the others nothing."""
    assert resolve(["XRPXRP", "OLD/USDT", "BTC/USDT"], LISTED) == (
        [BTC],
        [("XRPXRP", "is not listed"), ("OLD/USDT", "is listed but not trading")],
    )


def test_case_matters() -> None:
    """Venues list symbols that differ in nothing else."""
    assert resolve(["btc/usdt"], LISTED) == ([], [("btc/usdt", "is not listed")])


def test_nothing_asked_for() -> None:
    """Nothing found, nothing wrong."""
    assert resolve([], LISTED) == ([], [])
