"""Which class speaks for which product."""

from services.simulator.engine import Market
from services.simulator.settings import SimulatorSettings
from services.simulator.venues.base import Venue
from services.simulator.venues.binance_spot import BinanceSpot
from services.simulator.venues.binance_usdm import BinanceUsdm
from services.simulator.venues.bybit import Bybit
from services.simulator.venues.mexc_futures import MexcFutures
from services.simulator.venues.mexc_spot import MexcSpot

__all__ = ["make_venue"]

SINGLE_PRODUCTS: dict[tuple[str, str], type[Venue]] = {
    ("mexc", "spot"): MexcSpot,
    ("mexc", "futures"): MexcFutures,
    ("binance", "spot"): BinanceSpot,
    ("binance", "usdm"): BinanceUsdm,
}


def make_venue(exchange: str, product: str, markets: dict[str, Market], settings: SimulatorSettings) -> Venue:
    """The product's venue; KeyError where there is none."""
    if exchange == "bybit":
        return Bybit(product, markets, settings)
    return SINGLE_PRODUCTS[exchange, product](markets, settings)
