"""Futures: trades, quotes and statistics of one contract, frame by frame, and what is remembered of them."""

from collections.abc import Iterable
from decimal import Decimal

from msgspec import Raw

from shared.errors import ParseError
from shared.exchanges.base import Group, Origin, Output
from shared.exchanges.levels import base_size, number
from shared.exchanges.mexc.futures_levels import Sizes, WholeSizes, levels_of
from shared.exchanges.mexc.futures_wire import Deal, Depth
from shared.exchanges.mexc.market import SIDES
from shared.exchanges.mexc.wire import nanoseconds, text
from shared.instruments import Instrument
from shared.messages import Level, OpenInterest, Quote, Ticker, Trade
from shared.numbers import is_zero
from shared.sequencing import DuplicateWindow

__all__ = ["Contract"]

_Sides = tuple[str | None, str | None, str | None, str | None]


class Contract:
    """One contract; ``window`` knows the trades that were told."""

    def __init__(self, exchange: str, instrument: Instrument, window: DuplicateWindow) -> None:
        self.instrument = instrument
        self.sizes = Sizes(instrument)
        self.whole = WholeSizes(instrument)
        self.symbol = instrument.symbol
        self.native = instrument.native_symbol
        self.counted = instrument.contract_size != "1"
        self.window = window
        self.trades = Group("trade", exchange, instrument.symbol)
        self.quotes = Group("quote", exchange, instrument.symbol)
        self.tickers = Group("ticker", exchange, instrument.symbol)
        self.interests = Group("open_interest", exchange, instrument.symbol)
        self.told: _Sides | None = None
        """Prices and the venue's sizes of the last quote."""
        self.held: str | None = None
        """Contracts of the last open interest."""
        self.rate = Raw()
        self.rate_text = ""
        """The last funding rate that was proved plain, as JSON and as text."""

    def forget(self, feed: str | None) -> None:
        """The next quote and open interest are told, whatever they are; None: both."""
        if feed in {None, "quote"}:
            self.told = None
        if feed in {None, "open_interest"}:
            self.held = None

    def deals(self, origin: Origin, deals: Iterable[Deal], sent: int | None, output: Output) -> None:
        """``push.deal``: one that can't be read is rejected alone."""
        for deal in deals:
            try:
                self._deal(origin, deal, sent, output)
            except ParseError as error:
                output.reject(error)

    def _deal(self, origin: Origin, deal: Deal, sent: int | None, output: Output) -> None:
        """A deal; one without an id (before 2025) is always new."""
        instrument = self.instrument
        price, contracts = number(text(deal.price), "p"), number(text(deal.contracts), "v")
        size = base_size(instrument, contracts, price)
        ts_exchange = nanoseconds(deal.time) or sent
        trade_id = None if deal.trade_id is None else str(deal.trade_id)
        if trade_id and self.window.seen(trade_id):
            output.duplicates += 1
            return
        head, side = origin.head(instrument, ts_exchange), SIDES.get(deal.taker, "unknown")
        native = contracts if self.counted or instrument.inverse else None
        self.trades.put(Trade(*head, output.parts, trade_id or None, price, size, side, native), output)

    def quote(self, origin: Origin, top: Depth, sent: int | None, output: Output) -> None:
        """``push.depth.full``: its best levels, told when they change."""
        levels = levels_of(self.instrument, self.sizes, top.bids, top.asks)
        bid, bid_size, bid_native = _best(levels.bids, levels.bid_sizes_native, highest=True)
        ask, ask_size, ask_native = _best(levels.asks, levels.ask_sizes_native, highest=False)
        sides = bid, bid_native or bid_size, ask, ask_native or ask_size
        if sides == self.told:
            output.duplicates += 1
            return
        self.told = sides
        head = origin.head(self.instrument, sent)
        prices = bid, bid_size, ask, ask_size
        self.quotes.put(Quote(*head, output.parts, *prices, top.version, bid_native, ask_native), output)

    def statistics(self, message: Ticker, interest: OpenInterest | None, output: Output) -> None:
        """Tell a ticker, and the open interest where it changed."""
        self.tickers.put(message, output)
        if interest is None:
            return
        held = interest.open_interest_native or interest.open_interest
        if held != self.held:
            self.held = held
            self.interests.put(interest, output)


def _best(levels: list[Level], native: list[str] | None, *, highest: bool) -> tuple[str | None, str | None, str | None]:
    """Price, size in base units, contracts (None where these are the same) of the best level that is not empty."""
    sizes = [size for _, size in levels] if native is None else native
    there = [index for index, size in enumerate(sizes) if not is_zero(size)]
    if not there:
        return None, None, None
    best = max if highest else min
    index = best(there, key=lambda one: Decimal(levels[one][0]))
    price, size = levels[index]
    return price, size, None if native is None else native[index]
