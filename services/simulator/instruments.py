"""What can be traded here: integer ticks and lots inside, the venue's decimal text outside."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property

__all__ = ["Instrument", "decimal_text"]

CACHE_LIMIT = 20_000


def decimal_text(units: int, scale: int) -> str:
    """``units * 10**-scale`` with exactly ``scale`` places: ``decimal_text(-1250, 2) == "-12.50"``."""
    sign, digits = ("-", -units) if units < 0 else ("", units)
    if scale == 0:
        return f"{sign}{digits}"
    whole, fraction = divmod(digits, 10**scale)
    return f"{sign}{whole}.{fraction:0{scale}d}"


@dataclass(frozen=True)
class Instrument:
    """One instrument of one product.

    ``tick`` and ``lot`` are the smallest steps; ``price_scale`` and ``size_scale`` the places the venue prints.
    ``kind`` is spot, perpetual, inverse or future; ``contract_size`` what one lot unit means in base (inverse: quote).
    """

    exchange: str
    product: str
    native_symbol: str
    base: str
    quote: str
    start_price: str
    tick: str
    lot: str
    price_scale: int
    size_scale: int
    kind: str = "spot"
    settle: str = ""
    contract_size: str = "1"
    delivery_ms: int = 0
    consecutive_ids: bool = True

    @property
    def is_spot(self) -> bool:
        """Whether it is no derivative."""
        return self.kind == "spot"

    @cached_property
    def unified_symbol(self) -> str:
        """The name all venues share: ``BTC/USDT``, ``BTC/USDT:USDT``, ``BTC/USD:BTC``, ``BTC/USDT:USDT-270625``."""
        pair = f"{self.base}/{self.quote}"
        if self.is_spot:
            return pair
        if not self.delivery_ms:
            return f"{pair}:{self.settle}"
        return f"{pair}:{self.settle}-{datetime.fromtimestamp(self.delivery_ms // 1000, UTC):%y%m%d}"

    @cached_property
    def tick_units(self) -> int:
        """One tick in units of the last printed place of a price."""
        return int(Decimal(self.tick).scaleb(self.price_scale))

    @cached_property
    def lot_units(self) -> int:
        """One lot in units of the last printed place of a size."""
        return int(Decimal(self.lot).scaleb(self.size_scale))

    @cached_property
    def start_tick(self) -> int:
        """The first reference price, in ticks."""
        return int(Decimal(self.start_price) / Decimal(self.tick))

    @cached_property
    def typical_lots(self) -> int:
        """Lots of an ordinary order: about 2000 in quote currency."""
        unit = Decimal(self.lot) * Decimal(self.contract_size)
        value = unit if self.kind == "inverse" else unit * Decimal(self.start_price)
        return max(1, int(Decimal(2000) / value))

    @cached_property
    def _prices(self) -> dict[int, str]:
        return {}

    def price(self, tick: int) -> str:
        """A price in ticks as the venue prints it."""
        text = self._prices.get(tick)
        if text is None:
            if len(self._prices) >= CACHE_LIMIT:
                self._prices.clear()
            text = self._prices[tick] = decimal_text(tick * self.tick_units, self.price_scale)
        return text

    def size(self, lots: int) -> str:
        """A size in lots as the venue prints it."""
        return decimal_text(lots * self.lot_units, self.size_scale)

    def turnover(self, product: int) -> str:
        """A sum of ticks times lots as quote currency (for one contract unit)."""
        return decimal_text(product * self.tick_units * self.lot_units, self.price_scale + self.size_scale)
