"""What a derivative has besides its book: index, mark, funding, open interest."""

from random import Random

from services.simulator.instruments import Instrument

__all__ = ["Derivatives"]

FUNDING_PERIOD_MS = 8 * 3_600_000
RATE_SCALE = 8
RATE_LIMIT = 5 * 10**5
"""0.5 % in units of 1e-8."""

BASE_RATE = 10_000
"""0.01 %, what longs pay when mark and index agree."""

MARK_DIVISIONS = 10
"""Mark and index move in tenths of a tick."""


class Derivatives:
    """Index and mark in tenths of a tick, the funding rate in 1e-8, open interest in lots."""

    def __init__(self, instrument: Instrument, rng: Random, now_ms: int) -> None:
        self.instrument = instrument
        self.index = self.mark = instrument.start_tick * MARK_DIVISIONS
        self.premium = 0.0
        self.rate = BASE_RATE
        self.open_interest = instrument.typical_lots * rng.randint(20_000, 60_000)
        self.next_funding_ms = now_ms // FUNDING_PERIOD_MS * FUNDING_PERIOD_MS + FUNDING_PERIOD_MS
        self._rng = rng

    @property
    def funded(self) -> bool:
        """Perpetuals pay funding, dated futures don't."""
        return self.instrument.delivery_ms == 0

    def step(self, now_ms: int, reference: float, mid: float) -> None:
        """Follow the market: the index is the reference, the mark is pulled towards the book."""
        self.index = int(reference * MARK_DIVISIONS)
        self.premium += 0.05 * ((mid - reference) - self.premium)
        self.mark = int((reference + self.premium) * MARK_DIVISIONS)
        relative = (self.mark - self.index) / self.index * 10**RATE_SCALE if self.index else 0.0
        self.rate = max(-RATE_LIMIT, min(RATE_LIMIT, BASE_RATE + int(relative) // 100 * 100))
        if now_ms >= self.next_funding_ms:
            self.next_funding_ms += FUNDING_PERIOD_MS

    def traded(self, lots: int, *, closing: bool) -> None:
        """A trade opens or closes positions; a liquidation only closes."""
        change = -lots if closing else self._rng.choice((-lots, 0, lots))
        self.open_interest = max(lots, self.open_interest + change)
