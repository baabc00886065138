"""Futures: which frame goes where, and what a stream must remember."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from shared.envelope import Frame, RestReply
from shared.errors import ParseError
from shared.exchanges.base import Origin, Output, Resync
from shared.exchanges.books import Books
from shared.exchanges.lanes import Lane, Read, Routes
from shared.exchanges.levels import number
from shared.exchanges.mexc import book, futures_market, futures_wire
from shared.exchanges.mexc.endpoints import FUTURES_INSTRUMENTS, depth_symbol, path_of
from shared.exchanges.mexc.futures_contract import Contract
from shared.exchanges.mexc.futures_hot import Piles, depth_of
from shared.exchanges.mexc.futures_levels import Sizes
from shared.exchanges.mexc.futures_wire import Push, Ticker
from shared.exchanges.mexc.parser import Latest, Listed, Windows
from shared.exchanges.mexc.symbols import futures_instrument, futures_listed
from shared.exchanges.mexc.wire import decoded, each, nanoseconds, text
from shared.instruments import Instrument, InstrumentTable
from shared.messages import MarkPrice
from shared.sequencing import CONTIGUOUS

__all__ = ["FuturesParser"]

Handler = Callable[[Origin, Push, Output], None]

_SYMBOL: Final = b'{"symbol":"'
"""How most frames begin."""


class FuturesParser:
    """One stream of futures."""

    def __init__(self, instruments: InstrumentTable) -> None:
        self._table = instruments
        self._listed = Listed(instruments)
        self._books = Books(CONTIGUOUS)
        self._windows = Windows()
        self._latest = Latest()
        self._contracts: dict[str, Contract] = {}
        self._fair: dict[str, str] = {}
        self._index: dict[str, str] = {}
        self._lanes: dict[bytes, Lane] = {}
        self._piles = Piles(self._index)
        self.routes = Routes(self._lanes, self._piles.all, b",")
        self._handlers: Final[dict[str, Handler]] = {
            "push.deal": self._deal,
            "push.depth": self._depth,
            "push.depth.full": self._depth_full,
            "push.ticker": self._ticker,
            "push.tickers": self._tickers,
            "push.funding.rate": self._funding_rate,
            "push.fair.price": self._fair_price,
            "push.index.price": self._index_price,
            "push.kline": self._kline,
        }

    def data(self, origin: Origin, frame: Frame, output: Output) -> None:
        """A JSON frame; answers and pongs give nothing."""
        lane = self._lanes.get(frame.data.partition(b",")[0])
        if lane is None:
            self._frame(origin, frame.data, output)
        else:
            lane.read(origin, frame.data, output)

    def _frame(self, origin: Origin, data: bytes, output: Output) -> None:
        push = decoded(futures_wire.push, data)
        handler = self._handlers.get(push.channel)
        if handler is not None:
            handler(origin, push, output)
        elif push.channel == "push.contract":
            deque(self._learn([futures_instrument(push.data)]), maxlen=0)
        elif push.channel != "pong" and not push.channel.startswith("rs."):
            raise ParseError("unknown_event", f"channel {push.channel[:80]!r}")

    def reply(self, origin: Origin, reply: RestReply, output: Output) -> Iterator[None] | None:
        """The contract list, or the book that seeds a contract's deltas."""
        path = path_of(reply.url)
        if reply.status != 200:
            raise ParseError("unknown_event", f"{path} was answered with HTTP status {reply.status}")
        symbol = depth_symbol(reply.url)
        if path.endswith(FUTURES_INSTRUMENTS):
            return self._learn(futures_listed(reply.body))
        if symbol is not None:
            depth = decoded(futures_wire.depth_reply, reply.body).data
            instrument = self._listed.find(origin, symbol, output)
            book.futures_seed(origin, instrument, Sizes(instrument), self._books, depth, output)
        else:
            raise ParseError("unknown_event", f"a reply of {path}")
        return None

    def interrupted(
        self, origin: Origin, feed: str | None, native_symbol: str | None, reason: str, output: Output
    ) -> None:
        """Books start anew or ask for a snapshot; of everything else the next value is told, whatever it is."""
        if reason == "started":
            output.resyncs.append(Resync("instruments", None, reason))
        if feed in {None, "book"}:
            self._books.interrupted(origin, native_symbol, reason, output)
        self._latest.forget(feed, native_symbol)
        for symbol, contract in self._contracts.items():
            if native_symbol in {None, symbol}:
                contract.forget(feed)
        if feed in {None, "mark_price"}:
            for prices in (self._fair, self._index):
                if native_symbol is None:
                    prices.clear()
                else:
                    prices.pop(native_symbol, None)

    def _learn(self, instruments: Iterable[Instrument]) -> Iterator[None]:
        yield from self._table.learn(instruments)
        self._lanes.clear()
        self._contracts.clear()

    def _instrument(self, origin: Origin, push: Push, output: Output, inner: str | None = None) -> Instrument:
        """The contract of a frame; where its data names one too, it must be the same."""
        symbol = push.symbol
        if symbol is None:
            symbol = inner or ""
        elif inner is not None and inner != symbol:
            raise ParseError("unknown_instrument", f"a frame of {symbol[:40]} had data of {inner[:40]}")
        return self._listed.find(origin, symbol, output)

    def _contract(self, origin: Origin, push: Push, output: Output, inner: str | None = None) -> Contract:
        """The contract of a frame with what is remembered of it."""
        instrument = self._instrument(origin, push, output, inner)
        native = instrument.native_symbol
        found = self._contracts.get(native)
        if found is None:
            contract = Contract(origin.exchange, instrument, self._windows.of(native))
            found = self._contracts[native] = contract
            self._lanes[_SYMBOL + native.encode() + b'"'] = self._piles.lane(contract, self._reader(contract))
        return found

    def _reader(self, contract: Contract) -> Read:
        """What reads a frame that begins with a contract: mostly an update of its book."""

        def read(origin: Origin, data: bytes, output: Output) -> None:
            depth = depth_of(contract.native, data)
            if depth is None:
                self._frame(origin, data, output)
            else:
                update, sent = depth
                book.futures_delta(origin, contract.instrument, contract.sizes, self._books, update, sent, output)

        return read

    def _deal(self, origin: Origin, push: Push, output: Output) -> None:
        contract = self._contract(origin, push, output)
        if bytes(push.data)[:1] == b"[":
            deals = each(push.data, futures_wire.deals, futures_wire.raws, futures_wire.deal, output)
        else:  # one trade per frame, as it was until 2025
            deals = [decoded(futures_wire.deal, push.data)]
        contract.deals(origin, deals, _sent(push), output)

    def _depth(self, origin: Origin, push: Push, output: Output) -> None:
        contract = self._contract(origin, push, output)
        update = decoded(futures_wire.depth, push.data)
        book.futures_delta(origin, contract.instrument, contract.sizes, self._books, update, _sent(push), output)

    def _depth_full(self, origin: Origin, push: Push, output: Output) -> None:
        contract = self._contract(origin, push, output)
        contract.quote(origin, decoded(futures_wire.depth, push.data), _sent(push), output)

    def _ticker(self, origin: Origin, push: Push, output: Output) -> None:
        self._statistics(origin, push, decoded(futures_wire.ticker, push.data), output)

    def _tickers(self, origin: Origin, push: Push, output: Output) -> None:
        for data in each(push.data, futures_wire.tickers, futures_wire.raws, futures_wire.ticker, output):
            try:
                self._statistics(origin, push, data, output)
            except ParseError as error:
                output.reject(error)

    def _statistics(self, origin: Origin, push: Push, data: Ticker, output: Output) -> None:
        contract = self._contract(origin, push, output, data.symbol)
        self._told(origin, contract, data, _sent(push), output)

    def _told(self, origin: Origin, contract: Contract, data: Ticker, sent: int | None, output: Output) -> None:
        message, interest = futures_market.ticker(origin, contract.instrument, data, sent, output.parts)
        contract.statistics(message, interest, output)
        if message.index_price is not None:
            self._index[contract.instrument.native_symbol] = message.index_price

    def _funding_rate(self, origin: Origin, push: Push, output: Output) -> None:
        data = decoded(futures_wire.funding_rate, push.data)
        instrument = self._instrument(origin, push, output, data.symbol)
        message = futures_market.funding(origin, instrument, data, _sent(push), output)
        if self._latest.changed("funding", instrument.native_symbol, (message.rate, message.ts_next_funding)):
            output.add(message)
        else:
            output.duplicates += 1

    def _fair_price(self, origin: Origin, push: Push, output: Output) -> None:
        self._mark(origin, push, self._fair, output)

    def _index_price(self, origin: Origin, push: Push, output: Output) -> None:
        self._mark(origin, push, self._index, output)

    def _mark(self, origin: Origin, push: Push, prices: dict[str, str], output: Output) -> None:
        """A mark price is told with the last known index price, once there is a mark price."""
        data = decoded(futures_wire.price, push.data)
        instrument = self._instrument(origin, push, output, data.symbol)
        native, sent = instrument.native_symbol, _sent(push)
        prices[native] = number(text(data.price), "price")
        fair, index = self._fair.get(native), self._index.get(native)
        if fair is None:
            return
        if self._latest.changed("mark_price", native, (fair, index)):
            head = origin.head(instrument, sent)
            output.add(MarkPrice(*head, output.parts, fair, index))
        else:
            output.duplicates += 1

    def _kline(self, origin: Origin, push: Push, output: Output) -> None:
        data = decoded(futures_wire.kline, push.data)
        instrument = self._instrument(origin, push, output, data.symbol)
        futures_market.candle(origin, instrument, data, _sent(push), output)


def _sent(push: Push) -> int | None:
    """When the venue sent the frame (ns); a time as text is what only answers had, long ago."""
    if isinstance(push.ts, str):
        raise ParseError("bad_time", f"ts was {push.ts[:40]!r}")
    return nanoseconds(push.ts)
