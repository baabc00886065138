"""Handlers of one topic each, for the events that come by the thousand.

The topic tells the instrument, so that it is looked up once. An event that says to be of another one goes the long way.
"""

from shared.exchanges.base import Handler, Origin, Output
from shared.exchanges.binance import wire
from shared.exchanges.binance.market import Market
from shared.exchanges.binance.topics import Kind, Topic

__all__ = ["hot"]


def hot(market: Market, topic: Topic, origin: Origin, output: Output) -> Handler | None:
    """The handler of a topic of a known instrument in its wrapper; None where the usual one does."""
    symbol = topic.native_symbol or ""
    match topic.kind:
        case Kind.TRADE:
            return _trades(market, symbol, origin, output)
        case Kind.AGGREGATE_TRADE:
            return _aggregate_trades(market, symbol, origin, output)
        case Kind.BOOK_TICKER:
            return _quotes(market, symbol, origin, output)
        case Kind.TICKER:
            return _tickers(market, symbol, origin, output)
        case _:
            return None


def _trades(market: Market, symbol: str, origin: Origin, output: Output) -> Handler:
    take = market.trades(origin, symbol, output, aggregate=False).take

    def handle(origin: Origin, data: bytes, output: Output) -> None:
        try:
            event = _decode_trade(data).data
        except wire.UNREADABLE as error:
            raise wire.parse_error(error) from error
        if event.symbol == symbol and event.stack is None and event.execution is None:
            take(origin, event, output)
        else:
            market.trade(origin, event, output)

    return handle


def _aggregate_trades(market: Market, symbol: str, origin: Origin, output: Output) -> Handler:
    take = market.trades(origin, symbol, output, aggregate=True).take

    def handle(origin: Origin, data: bytes, output: Output) -> None:
        try:
            event = _decode_aggregate(data).data
        except wire.UNREADABLE as error:
            raise wire.parse_error(error) from error
        if event.symbol == symbol and event.stack != wire.COIN_M:
            take(origin, event, output)
        else:
            market.aggregate_trade(origin, event, output)

    return handle


def _quotes(market: Market, symbol: str, origin: Origin, output: Output) -> Handler:
    take = market.quotes(origin, symbol, output).take

    def handle(origin: Origin, data: bytes, output: Output) -> None:
        try:
            event = _decode_quote(data).data
        except wire.UNREADABLE as error:
            raise wire.parse_error(error) from error
        if event.symbol == symbol and event.stack != wire.COIN_M:
            take(origin, event, output)
        else:
            market.quote(origin, event, output)

    return handle


def _tickers(market: Market, symbol: str, origin: Origin, output: Output) -> Handler:
    take = market.tickers(origin, symbol, output).take

    def handle(origin: Origin, data: bytes, output: Output) -> None:
        try:
            event = _decode_ticker(data).data
        except wire.UNREADABLE as error:
            raise wire.parse_error(error) from error
        if event.symbol == symbol and event.stack != wire.COIN_M:
            take(origin, event, output)
        else:
            market.ticker(origin, event, output)

    return handle


_decode_trade = wire.decoders(wire.TradeEvent)[1]
_decode_aggregate = wire.decoders(wire.AggregateTrade)[1]
_decode_quote = wire.decoders(wire.BookTicker)[1]
_decode_ticker = wire.decoders(wire.Ticker24h)[1]
