"""Trades, quotes and tickers of one topic each, a pile of frames in one go.

The topic tells the instrument, so that it is looked up once. An event that says to be of another one is not taken, nor
one of COIN-M, one that did not come from the order book, and one with a number that is not plain and above zero.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from shared.exchanges.base import Origin, Output
from shared.exchanges.binance import wire
from shared.exchanges.binance.endpoints import SPOT
from shared.exchanges.binance.market import Market
from shared.exchanges.binance.topics import Kind, Topic
from shared.exchanges.binance.trading import Quotes, Tickers, Trades
from shared.exchanges.lanes import Lane, Pile, Read
from shared.messages import Quote, Ticker, Trade
from shared.numbers import PROVED, are_plain, proves

__all__ = ["Piles"]

PlainTicker = wire.PlainSpotTicker | wire.PlainUsdmTicker
EventT = TypeVar("EventT")

Decode = Callable[[bytes], wire.Combined[EventT]]
DecodeQuote = Decode[wire.PlainSpotQuote] | Decode[wire.PlainUsdmQuote]
DecodeTicker = Decode[wire.PlainSpotTicker] | Decode[wire.PlainUsdmTicker]


class Piles:
    """The piles of one stream, and the lanes that lead to them."""

    def __init__(self, product: str, market: Market) -> None:
        self._market = market
        spot = product == SPOT
        self._trades = TradePile()
        self._quotes = QuotePile(_decode_spot_quote if spot else _decode_usdm_quote)
        self._tickers = TickerPile(_decode_spot_ticker if spot else _decode_usdm_ticker)
        self.all = (self._trades, self._quotes, self._tickers)

    def lane(self, topic: Topic, read: Read, origin: Origin, output: Output) -> Lane | None:
        """The lane of a topic of a known instrument.

        None where messages of the same routing key come of a pile: their order is kept by reading what has no lane when
        everything before it was read.
        """
        market, symbol = self._market, topic.native_symbol or ""
        match topic.kind:
            case Kind.TRADE | Kind.AGGREGATE_TRADE as kind:
                aggregate = kind is Kind.AGGREGATE_TRADE
                return self._trades.lane(market.trades(origin, symbol, output, aggregate=aggregate), read)
            case Kind.BOOK_TICKER:
                return self._quotes.lane(market.quotes(origin, symbol, output), read)
            case Kind.TICKER:
                return self._tickers.lane(market.tickers(origin, symbol, output), read)
            case Kind.MINI_TICKER:
                return None
            case _:
                return Lane(read)


class TradePile(Pile[Trades]):
    """``@trade`` and ``@aggTrade``, which have one routing key."""

    def take(self, origin: Origin, output: Output) -> int:
        """See :class:`Pile`."""
        exchange, ts_normalized, stream, epoch = origin.exchange, origin.ts_normalized, origin.stream, origin.epoch
        proved, segment = PROVED, output.segment
        for lane, frame, ts_received, data in self.frames:
            trades = lane.state
            try:
                event = trades.decode(data).data
            except wire.UNREADABLE:
                return self.position(frame)
            price = event.price
            size = event.size
            if (price not in proved and not proves(price)) or (size not in proved and not proves(size)):
                return self.position(frame)
            if event.symbol != trades.native:
                return self.position(frame)
            trade_id, ids = event.trade_id, trades.ids
            if trade_id == ids.expected:
                ids.expected = trade_id + 1
            elif ids.seen(trade_id):
                output.duplicates += 1
                continue
            group = trades.group
            if group.segment is not segment:
                group.open(output)
            group.messages.append(
                Trade(
                    exchange,
                    trades.symbol,
                    trades.native,
                    event.ts_trade * 1_000_000,
                    ts_received,
                    ts_normalized,
                    stream,
                    epoch,
                    frame,
                    0,
                    str(trade_id),
                    price,
                    size,
                    "sell" if event.buyer_is_maker else "buy",
                )
            )
        return len(self.frames)


class QuotePile(Pile[Quotes]):
    """``@bookTicker``."""

    def __init__(self, decode: DecodeQuote) -> None:
        super().__init__()
        self._decode = decode

    def take(self, origin: Origin, output: Output) -> int:
        """See :class:`Pile`."""
        exchange, ts_normalized, stream, epoch = origin.exchange, origin.ts_normalized, origin.stream, origin.epoch
        decode, proved, segment = self._decode, PROVED, output.segment
        for lane, frame, ts_received, data in self.frames:
            try:
                event = decode(data).data
            except wire.UNREADABLE:
                return self.position(frame)
            quotes = lane.state
            bid = event.bid_price
            bid_size = event.bid_size
            ask = event.ask_price
            ask_size = event.ask_size
            if (
                (bid not in proved and not proves(bid))
                or (bid_size not in proved and not proves(bid_size))
                or (ask not in proved and not proves(ask))
                or (ask_size not in proved and not proves(ask_size))
            ):
                return self.position(frame)
            if event.symbol != quotes.native:
                return self.position(frame)
            last = quotes.last
            if (
                bid_size == last.bid_size
                and ask_size == last.ask_size
                and bid == last.bid_price
                and ask == last.ask_price
            ):
                output.duplicates += 1
                continue
            quotes.last = event
            ts = event.ts_transaction
            if quotes.segment is not segment:
                quotes.open(output)
            quotes.messages.append(
                Quote(
                    exchange,
                    quotes.symbol,
                    quotes.native,
                    ts and ts * 1_000_000,
                    ts_received,
                    ts_normalized,
                    stream,
                    epoch,
                    frame,
                    0,
                    bid,
                    bid_size,
                    ask,
                    ask_size,
                    event.update_id,
                )
            )
        return len(self.frames)


class TickerPile(Pile[Tickers]):
    """``@ticker``."""

    def __init__(self, decode: DecodeTicker) -> None:
        super().__init__()
        self._decode = decode

    def take(self, origin: Origin, output: Output) -> int:
        """See :class:`Pile`."""
        exchange, ts_normalized, stream, epoch = origin.exchange, origin.ts_normalized, origin.stream, origin.epoch
        segment = output.segment
        events = self._events()
        for (lane, frame, ts_received, _), event in zip(self.frames, events):  # noqa: B905 - up to the first unusual one
            tickers = lane.state
            if event.symbol != tickers.native:
                return self.position(frame)
            if tickers.segment is not segment:
                tickers.open(output)
            tickers.messages.append(
                Ticker(
                    exchange,
                    tickers.symbol,
                    tickers.native,
                    event.ts_event * 1_000_000,
                    ts_received,
                    ts_normalized,
                    stream,
                    epoch,
                    frame,
                    0,
                    event.last_price,
                    event.bid_price,
                    event.bid_size,
                    event.ask_price,
                    event.ask_size,
                    event.open_price,
                    event.high_price,
                    event.low_price,
                    event.volume,
                    event.turnover,
                )
            )
        return len(events)

    def _events(self) -> list[PlainTicker]:
        """What the frames are, up to the first whose numbers are not plain and above zero (volumes may be zero)."""
        decode, proved = self._decode, PROVED
        events: list[PlainTicker] = []
        volumes: list[str] = []
        for frame in self.frames:
            try:
                event = decode(frame[3]).data
            except wire.UNREADABLE:
                break
            last = event.last_price
            opened = event.open_price
            high = event.high_price
            low = event.low_price
            if (
                (last not in proved and not proves(last))
                or (opened not in proved and not proves(opened))
                or (high not in proved and not proves(high))
                or (low not in proved and not proves(low))
            ):
                break
            bid = event.bid_price
            if bid is not None:
                bid_size = event.bid_size
                ask = event.ask_price
                ask_size = event.ask_size
                if (
                    (bid not in proved and not proves(bid))
                    or (bid_size not in proved and not proves(bid_size))  # type: ignore[arg-type] # all four or none
                    or (ask not in proved and not proves(ask))  # type: ignore[arg-type]
                    or (ask_size not in proved and not proves(ask_size))  # type: ignore[arg-type]
                ):
                    break
            # Volumes are new each time: to remember them would cost more than to look at them, all together.
            volumes += (event.volume, event.turnover)
            events.append(event)
        if not are_plain(volumes):
            plain = [are_plain((event.volume, event.turnover)) for event in events]
            del events[plain.index(False) :]
        return events


_decode_spot_quote: Final = wire.decoders(wire.PlainSpotQuote)[1]
_decode_usdm_quote: Final = wire.decoders(wire.PlainUsdmQuote)[1]
_decode_spot_ticker: Final = wire.decoders(wire.PlainSpotTicker)[1]
_decode_usdm_ticker: Final = wire.decoders(wire.PlainUsdmTicker)[1]
