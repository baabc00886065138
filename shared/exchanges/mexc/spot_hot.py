"""Spot: trades and quotes of one instrument each, which come by the thousand.

A number that was proved before is not looked at again. Every method raises ParseError before it has changed anything.
"""

from collections.abc import Iterable
from typing import Final

from shared.errors import ParseError
from shared.exchanges.base import Group, Origin, Output
from shared.exchanges.levels import number
from shared.exchanges.mexc.market import SIDES
from shared.exchanges.mexc.push_pb2 import (
    PublicAggreBookTickerV3Api,
    PublicAggreDealsV3ApiItem,
    PublicBookTickerV3Api,
)
from shared.exchanges.mexc.wire import LAST_MS, MILLISECOND, nanoseconds
from shared.instruments import Instrument
from shared.messages import Quote, Trade
from shared.numbers import PROVED, is_zero, proves
from shared.sequencing import DuplicateWindow

__all__ = ["Quotes", "Trades"]

_NOTHING: Final = ""
"""The size of no quote."""


class Trades:
    """Trades, each once. ``tradeId`` is two order ids joined, absent before 2026-07; all of it identifies the trade."""

    __slots__ = ("_group", "_native", "_symbol", "_window")

    def __init__(self, exchange: str, instrument: Instrument, window: DuplicateWindow) -> None:
        self._symbol = instrument.symbol
        self._native = instrument.native_symbol
        self._group = Group("trade", exchange, instrument.symbol)
        self._window = window

    def take(
        self, origin: Origin, deals: Iterable[PublicAggreDealsV3ApiItem], sent: int | None, output: Output
    ) -> None:
        """``aggre.deals``: one that can't be read is rejected alone."""
        group, window = self._group, self._window
        if group.segment is not output.segment:
            group.open(output)
        for deal in deals:
            price, size, ts, trade_id = deal.price, deal.quantity, deal.time, deal.tradeId
            try:
                if price not in PROVED and not proves(price):
                    price = number(price, "price")
                if size not in PROVED and not proves(size):
                    size = number(size, "quantity")
                ts_exchange = ts * MILLISECOND if 0 < ts <= LAST_MS else nanoseconds(ts) or sent
            except ParseError as error:
                output.reject(error)
                continue
            if trade_id:
                if trade_id in window.new or trade_id in window.old:
                    output.duplicates += 1
                    continue
                window.new.add(trade_id)
            group.messages.append(
                Trade(
                    origin.exchange,
                    self._symbol,
                    self._native,
                    ts_exchange,
                    origin.ts_received,
                    origin.ts_normalized,
                    origin.stream,
                    origin.epoch,
                    origin.frame,
                    output.parts,
                    trade_id or None,
                    price,
                    size,
                    SIDES.get(deal.tradeType, "unknown"),
                )
            )
            output.parts += 1
        window.turn()


class Quotes:
    """Best bid and offer, told when it changes."""

    __slots__ = ("_ask", "_ask_size", "_bid", "_bid_size", "_group", "_native", "_symbol")

    def __init__(self, exchange: str, instrument: Instrument) -> None:
        self._symbol = instrument.symbol
        self._native = instrument.native_symbol
        self._group = Group("quote", exchange, instrument.symbol)
        self._bid: str | None = None
        self._bid_size: str | None = _NOTHING
        self._ask: str | None = None
        self._ask_size: str | None = None

    def take(
        self,
        origin: Origin,
        body: PublicAggreBookTickerV3Api | PublicBookTickerV3Api,
        sequence: int | None,
        sent: int | None,
        output: Output,
    ) -> None:
        """``aggre.bookTicker``: an empty side has neither price nor quantity."""
        bid, bid_size, ask, ask_size = body.bidPrice, body.bidQuantity, body.askPrice, body.askQuantity
        if not (bid in PROVED or proves(bid)) or not (bid_size in PROVED or proves(bid_size)):
            bid, bid_size = _side(bid, bid_size, "bid")  # type: ignore[assignment]
        if not (ask in PROVED or proves(ask)) or not (ask_size in PROVED or proves(ask_size)):
            ask, ask_size = _side(ask, ask_size, "ask")  # type: ignore[assignment]
        if bid_size == self._bid_size and ask_size == self._ask_size and bid == self._bid and ask == self._ask:
            output.duplicates += 1
            return
        self._bid, self._bid_size, self._ask, self._ask_size = bid, bid_size, ask, ask_size
        group, part = self._group, output.parts
        if group.segment is not output.segment:
            group.open(output)
        group.messages.append(
            Quote(
                origin.exchange,
                self._symbol,
                self._native,
                sent,
                origin.ts_received,
                origin.ts_normalized,
                origin.stream,
                origin.epoch,
                origin.frame,
                part,
                bid,
                bid_size,
                ask,
                ask_size,
                sequence,
            )
        )
        output.parts = part + 1

    def forget(self) -> None:
        """The next quote is told, whatever it is."""
        self._bid_size = _NOTHING


def _side(price: str, size: str, name: str) -> tuple[str | None, str | None]:
    if not price and not size:
        return None, None
    price, size = number(price, f"{name} price"), number(size, f"{name} quantity")
    return (None, None) if is_zero(size) else (price, size)
