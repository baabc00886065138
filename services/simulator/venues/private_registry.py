"""Which class speaks of which wallet."""

from services.simulator.accounts.keyring import Keyring
from services.simulator.settings import SimulatorSettings
from services.simulator.venues.binance_spot_private import BinanceSpotPrivate
from services.simulator.venues.binance_usdm_private import BinanceUsdmPrivate
from services.simulator.venues.bybit_private import BybitPrivate
from services.simulator.venues.mexc_futures_private import MexcFuturesPrivate
from services.simulator.venues.mexc_spot_private import MexcSpotPrivate
from services.simulator.venues.private import Markets, PrivateVenue

__all__ = ["make_private_venues"]

PRIVATE_VENUES: tuple[type[PrivateVenue], ...] = (
    BybitPrivate,
    MexcSpotPrivate,
    MexcFuturesPrivate,
    BinanceSpotPrivate,
    BinanceUsdmPrivate,
)


def make_private_venues(
    exchange: str, keyring: Keyring, markets: Markets, settings: SimulatorSettings
) -> dict[tuple[str, str], PrivateVenue]:
    """By exchange and wallet."""
    return {
        (exchange, one.wallet): one(keyring, markets, settings) for one in PRIVATE_VENUES if one.exchange == exchange
    }
