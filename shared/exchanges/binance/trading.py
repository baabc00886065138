"""Trades, quotes and tickers of one instrument each, event by event.

Every method takes an event that is of this instrument and of this venue's USD-M or spot, and raises ParseError before
it has changed anything.
"""

from typing import Final

from msgspec import Struct

from shared.exchanges.base import Group, Origin, Output
from shared.exchanges.binance.values import best, event_time, maybe, nanoseconds
from shared.exchanges.binance.wire import (
    AggregateTrade,
    BookTicker,
    PlainAggregateTrade,
    PlainQuote,
    PlainTrade,
    Ticker24h,
    TradeEvent,
    decoders,
)
from shared.exchanges.levels import number
from shared.exchanges.runs import IdRuns
from shared.instruments import Instrument
from shared.messages import Quote, Side, Ticker, Trade

__all__ = ["Quotes", "Tickers", "Trades"]


_decode_trade: Final = decoders(PlainTrade)[1]
_decode_aggregate: Final = decoders(PlainAggregateTrade)[1]


class Best(Struct, gc=False, frozen=True):
    """A quote as it was told: the same fields as those of events."""

    bid_price: str | None
    bid_size: str | None
    ask_price: str | None
    ask_size: str | None


_NOTHING: Final = Best("", "", "", "")


class Trades:
    """Trades, each once."""

    __slots__ = ("_instrument", "decode", "group", "ids", "native", "symbol")

    def __init__(self, instrument: Instrument, group: Group, ids: IdRuns, *, aggregate: bool) -> None:
        self._instrument = instrument
        self.decode = _decode_aggregate if aggregate else _decode_trade
        """Of a frame as it nearly always is."""
        self.symbol = instrument.symbol
        self.native = instrument.native_symbol
        self.ids = ids
        self.group = group

    def take(self, origin: Origin, event: TradeEvent | AggregateTrade, output: Output) -> None:
        """``@trade`` or ``@aggTrade``, which count for themselves."""
        price, size = number(event.price, "p"), number(event.size, "q")
        head = origin.head(self._instrument, nanoseconds(event.ts_trade, "T"))
        if self.ids.seen(event.trade_id):
            output.duplicates += 1
            return
        side: Side = "sell" if event.buyer_is_maker else "buy"
        self.group.put(Trade(*head, output.parts, str(event.trade_id), price, size, side), output)


class Quotes(Group):
    """Best bid and offer, told when it changes."""

    __slots__ = ("_instrument", "last", "native")

    def __init__(self, exchange: str, instrument: Instrument) -> None:
        super().__init__("quote", exchange, instrument.symbol)
        self._instrument = instrument
        self.native = instrument.native_symbol
        self.last: Best | PlainQuote = _NOTHING
        """What was told last."""

    def take(self, origin: Origin, event: BookTicker, output: Output) -> None:
        """``@bookTicker``; an empty side has size 0."""
        bid, bid_size = best(event.bid_price, event.bid_size, "b", "B")
        ask, ask_size = best(event.ask_price, event.ask_size, "a", "A")
        head = origin.head(self._instrument, event_time(event.ts_transaction, event.ts_event))
        last = self.last
        if (bid, bid_size, ask, ask_size) == (last.bid_price, last.bid_size, last.ask_price, last.ask_size):
            output.duplicates += 1
            return
        self.last = Best(bid, bid_size, ask, ask_size)
        self.put(Quote(*head, output.parts, bid, bid_size, ask, ask_size, event.update_id), output)

    def forget(self) -> None:
        """A new epoch: the next quote is told, whatever it is."""
        self.last = _NOTHING


class Tickers(Group):
    """24-hour statistics."""

    __slots__ = ("_instrument", "native")

    def __init__(self, exchange: str, instrument: Instrument) -> None:
        super().__init__("ticker", exchange, instrument.symbol)
        self._instrument = instrument
        self.native = instrument.native_symbol

    def take(self, origin: Origin, event: Ticker24h, output: Output) -> None:
        """``@ticker`` and ``@miniTicker``."""
        message = Ticker(
            *origin.head(self._instrument, nanoseconds(event.ts_event, "E")),
            output.parts,
            number(event.last_price, "c"),
            *best(event.bid_price, event.bid_size, "b", "B"),
            *best(event.ask_price, event.ask_size, "a", "A"),
            maybe(event.open_price, "o"),
            maybe(event.high_price, "h"),
            maybe(event.low_price, "l"),
            maybe(event.volume, "v"),
            maybe(event.turnover, "q"),
        )
        self.put(message, output)
