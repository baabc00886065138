"""Made-up markets whose numbers repeat as real ones do: prices walk in ticks, sizes are often round."""

from collections.abc import Sequence
from random import Random
from typing import Final

from shared.instruments import Instrument, InstrumentKind, unified_symbol

__all__ = ["START_MS", "Asset", "assets"]

START_MS: Final = 1_760_000_000_000

_COINS: Final = (("BTC", 1, 3, 642_310, "0.0001"), ("ETH", 2, 2, 251_844, "0.01"), ("SOL", 2, 1, 14_873, "0.1"))
"""Coin, decimal places of prices and of sizes, price in ticks, contract size where sizes are contracts."""

_ROUND: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)


class Asset:
    """One instrument's market. ``written`` numbers were made so far, ``texts`` are the different ones."""

    def __init__(self, instrument: Instrument, price_places: int, size_places: int, ticks: int, random: Random) -> None:
        self.instrument = instrument
        self.native = instrument.native_symbol
        self.random = random
        self.ticks = ticks
        self.sequence = random.randrange(10**9, 10**10)
        self.ms = START_MS
        self.texts: set[str] = set()
        self.written = 0
        self._price_places = price_places
        self._size_places = size_places

    def step(self) -> None:
        """Time goes on, and the price by up to two ticks."""
        self.ms += self.random.randrange(1, 20)
        self.ticks = max(1_000, self.ticks + self.random.choice((-2, -1, -1, 0, 0, 0, 0, 1, 1, 2)))

    def price(self, offset: int = 0) -> str:
        """A price so many ticks from the last one."""
        return self.fixed(self.ticks + offset, self._price_places)

    def size(self) -> str:
        """A size: half of them round, half of them anything."""
        return self.fixed(self._steps(), self._size_places)

    def contracts(self) -> str:
        """A size as a whole number."""
        return self.fixed(self._steps(), 0)

    def fixed(self, value: int, places: int) -> str:
        """``value`` with its last so many digits after the point."""
        digits = f"{value:0{places + 1}d}"
        text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
        self.written += 1
        self.texts.add(text)
        return text

    def levels(self, side: int, most: int) -> list[tuple[str, str]]:
        """1 to ``most`` changed levels of one side (-1 bids, 1 asks); a quarter of them is deleted."""
        random = self.random
        offsets = sorted(random.sample(range(1, 60), random.randrange(1, most + 1)))
        return [(self.price(side * offset), "0" if random.random() < 0.25 else self.size()) for offset in offsets]

    def _steps(self) -> int:
        random = self.random
        return random.choice(_ROUND) if random.random() < 0.5 else int(random.paretovariate(0.9) * 7) % 50_000 + 1


def assets(exchange: str, product: str, seed: int) -> Sequence[Asset]:
    """The markets of one stream, always the same for a seed."""
    return [
        Asset(_instrument(exchange, product, coin, contract), price_places, size_places, ticks, Random(f"{seed}{coin}"))
        for coin, price_places, size_places, ticks, contract in _COINS
    ]


def _instrument(exchange: str, product: str, coin: str, contract: str) -> Instrument:
    spot = product == "spot"
    return Instrument(
        exchange,
        product,
        unified_symbol(coin, "USDT", None if spot else "USDT"),
        f"{coin}_USDT" if product == "futures" else f"{coin}USDT",
        coin,
        "USDT",
        None if spot else "USDT",
        InstrumentKind.SPOT if spot else InstrumentKind.PERPETUAL,
        contract if product == "futures" else "1",
    )
