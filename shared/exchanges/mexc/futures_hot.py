"""Futures: trades, quotes and statistics of contracts, a pile of frames in one go.

Frames begin with the contract and end with the channel and a time of 13 digits. What stands before that is a guess at
the channel, which the decoder then holds the frame to.

A value of JSON that has but digits and a point is a plain number: the decoder has made sure of the rest. Sizes are
whole contracts.
"""

from typing import Annotated, Any, Final, Generic, Literal, TypeVar

from msgspec import Meta, Raw, Struct, field
from msgspec.json import Decoder

from shared.exchanges.base import Origin, Output
from shared.exchanges.lanes import UNREADABLE, Lane, Pile, Piled, Put, Read, Waiting
from shared.exchanges.mexc.futures_contract import Contract
from shared.exchanges.mexc.futures_top import top_of
from shared.exchanges.mexc.futures_wire import AT_LEAST_ONE, Depth, Identity
from shared.exchanges.mexc.market import SIDES
from shared.exchanges.mexc.wire import LAST_MS
from shared.messages import OpenInterest, Quote, Ticker, Trade
from shared.numbers import MAX_DIGITS, PROVED, NumberError, plain, proves

__all__ = ["Piles", "depth_of"]

DataT = TypeVar("DataT")
ChannelT = TypeVar("ChannelT", bound=str)

Milliseconds = Annotated[int, Meta(gt=0, le=LAST_MS)]
Contracts = Annotated[int, Meta(ge=0, lt=10**18)]


class _Push(Struct, Generic[DataT, ChannelT], gc=False, frozen=True):
    symbol: str
    data: DataT
    channel: ChannelT
    ts: Milliseconds


class _Deal(Struct, gc=False, frozen=True):
    price: Raw = field(name="p")
    contracts: Annotated[int, Meta(gt=0, lt=10**18)] = field(name="v")
    taker: Annotated[int, Meta(ge=1, le=2)] = field(name="T")
    time: Milliseconds = field(name="t")
    trade_id: Annotated[str, Meta(min_length=1)] = field(name="i")


class _Version(Struct, gc=False, frozen=True):
    version: Identity


class _Statistics(Struct, gc=False, frozen=True):
    symbol: str
    last: Raw = field(name="lastPrice")
    fair: Raw = field(name="fairPrice")
    index: Raw = field(name="indexPrice")
    contracts: Contracts = field(name="volume24")
    amount: Raw = field(name="amount24")
    low: Raw = field(name="lower24Price")
    high: Raw = field(name="high24Price")
    timestamp: Milliseconds
    bid: Raw = field(name="bid1")
    ask: Raw = field(name="ask1")
    held: Contracts = field(name="holdVol")
    rate: Raw = field(name="fundingRate")


_decode_deals: Final = Decoder(_Push[Annotated[list[_Deal], AT_LEAST_ONE], Literal["push.deal"]]).decode
_decode_top: Final = Decoder(_Push[_Version, Literal["push.depth.full"]]).decode
_decode_statistics: Final = Decoder(_Push[_Statistics, Literal["push.ticker"]]).decode

_decode_depth: Final = Decoder(_Push[Depth, Literal["push.depth"]]).decode

_KIND: Final = slice(-27, -20)
"""The end of the channel's name, with the quote, before ``,"ts":1790000000123}``."""

_DEPTH: Final = b'.depth"'
_END: Final = slice(-41, -14)
_DEPTH_END: Final = b'"channel":"push.depth","ts":'

LONGEST_CONTRACT_SIZE: Final = 20


class Piles:
    """The piles of one stream, and the lanes that lead to them; ``index_prices`` learns those of tickers."""

    def __init__(self, index_prices: dict[str, str]) -> None:
        deals, tops, statistics = _DealPile(), _TopPile(), _StatisticsPile(index_prices)
        self.all: tuple[Pile[Any], ...] = (deals, tops, statistics)
        self._puts: dict[bytes, Put] = {
            b'h.deal"': deals.frames.append,
            _DEPTH: _book,
            b'h.full"': tops.frames.append,
            b'ticker"': statistics.frames.append,
        }

    def lane(self, contract: Contract, read: Read) -> Lane:
        """The lane of a contract's frames, whatever their channel."""
        instrument = contract.instrument
        if instrument.inverse or len(instrument.contract_size) > LONGEST_CONTRACT_SIZE:
            return Lane(read)
        puts = self._puts

        def put(frame: Waiting[Contract]) -> bool | None:
            return puts[frame[3][_KIND]](frame)

        return Piled(put, contract, read)


def _book(frame: tuple[Any, int, int, bytes]) -> bool:
    """At once what is certain to be of a book: that has a routing key of its own, and nothing that waits needs it."""
    if frame[3][_END] != _DEPTH_END:
        raise KeyError(_DEPTH)
    return True


def depth_of(native_symbol: str, data: bytes) -> tuple[Depth, int] | None:
    """The update of a contract's book that a frame is, as most are, and when it was sent (ns)."""
    if data[_KIND] != _DEPTH:
        return None
    try:
        push = _decode_depth(data)
    except UNREADABLE:
        return None
    return (push.data, push.ts * 1_000_000) if push.symbol == native_symbol else None


class _DealPile(Pile[Contract]):
    """``push.deal``."""

    def take(self, origin: Origin, output: Output) -> int:
        """See :class:`Pile`."""
        exchange, ts_normalized, stream, epoch = origin.exchange, origin.ts_normalized, origin.stream, origin.epoch
        proved, sides, segment = PROVED, SIDES, output.segment
        for lane, frame, ts_received, data in self.frames:
            try:
                push = _decode_deals(data)
            except UNREADABLE:
                return self.position(frame)
            contract = lane.state
            prices = [str(deal.price, "latin-1") for deal in push.data]
            for price in prices:
                if price not in proved and not proves(price):
                    return self.position(frame)
            symbol, native, window, whole = contract.symbol, contract.native, contract.window, contract.whole
            if push.symbol != native:
                return self.position(frame)
            group = contract.trades
            if group.segment is not segment:
                group.open(output)
            messages = group.messages
            part = 0
            for deal, price in zip(push.data, prices):  # noqa: B905 - as many by construction, and strict costs
                trade_id = deal.trade_id
                if trade_id in window.new or trade_id in window.old:
                    output.duplicates += 1
                    continue
                window.new.add(trade_id)
                size, contracts = whole[deal.contracts]
                messages.append(
                    Trade(
                        exchange,
                        symbol,
                        native,
                        deal.time * 1_000_000,
                        ts_received,
                        ts_normalized,
                        stream,
                        epoch,
                        frame,
                        part,
                        trade_id,
                        price,
                        size,
                        sides[deal.taker],
                        contracts,
                    )
                )
                part += 1
            if len(window.new) >= window.size:
                window.turn()
        return len(self.frames)


class _TopPile(Pile[Contract]):
    """``push.depth.full``: its best levels, told when they change."""

    def take(self, origin: Origin, output: Output) -> int:
        """See :class:`Pile`."""
        exchange, ts_normalized, stream, epoch = origin.exchange, origin.ts_normalized, origin.stream, origin.epoch
        segment = output.segment
        for lane, frame, ts_received, data in self.frames:
            try:
                push = _decode_top(data)
            except UNREADABLE:
                return self.position(frame)
            contract, sides = lane.state, top_of(data)
            if sides is None or push.symbol != contract.native:
                return self.position(frame)
            if sides == contract.told:
                output.duplicates += 1
                continue
            contract.told = sides
            bid, bid_contracts, ask, ask_contracts = sides
            sizes, counted, group = contract.sizes, contract.counted, contract.quotes
            if group.segment is not segment:
                group.open(output)
            group.messages.append(
                Quote(
                    exchange,
                    contract.symbol,
                    contract.native,
                    push.ts * 1_000_000,
                    ts_received,
                    ts_normalized,
                    stream,
                    epoch,
                    frame,
                    0,
                    bid,
                    sizes[bid_contracts],
                    ask,
                    sizes[ask_contracts],
                    push.data.version,
                    bid_contracts if counted else None,
                    ask_contracts if counted else None,
                )
            )
        return len(self.frames)


class _StatisticsPile(Pile[Contract]):
    """``push.ticker``: complete in itself; best prices without sizes. With it the open interest, when it changes."""

    def __init__(self, index_prices: dict[str, str]) -> None:
        super().__init__()
        self._index_prices = index_prices

    def take(self, origin: Origin, output: Output) -> int:
        """See :class:`Pile`."""
        exchange, ts_normalized, stream, epoch = origin.exchange, origin.ts_normalized, origin.stream, origin.epoch
        segment = output.segment
        for lane, frame, ts_received, wire in self.frames:
            try:
                push = _decode_statistics(wire)
            except UNREADABLE:
                return self.position(frame)
            contract, data = lane.state, push.data
            native = contract.native
            last = str(data.last, "latin-1")
            bid = str(data.bid, "latin-1")
            ask = str(data.ask, "latin-1")
            high = str(data.high, "latin-1")
            low = str(data.low, "latin-1")
            fair = str(data.fair, "latin-1")
            index = str(data.index, "latin-1")
            amount = str(data.amount, "latin-1")
            if (
                not _plain(amount, last, bid, ask, high, low, fair, index)
                or min(last, bid, ask, high, low, fair, index) <= _ZERO
                or push.symbol != native
                or data.symbol != native
                or (data.rate != contract.rate and not _rated(contract, data.rate))
            ):
                return self.position(frame)
            volume, held = contract.whole.of(data.contracts), contract.whole.of(data.held)
            ts_exchange = data.timestamp * 1_000_000
            group = contract.tickers
            if group.segment is not segment:
                group.open(output)
            group.messages.append(
                Ticker(
                    exchange,
                    contract.symbol,
                    native,
                    ts_exchange,
                    ts_received,
                    ts_normalized,
                    stream,
                    epoch,
                    frame,
                    0,
                    last,
                    bid,
                    None,
                    ask,
                    None,
                    None,
                    high,
                    low,
                    volume,
                    amount,
                    fair,
                    index,
                    contract.rate_text,
                    None,
                    held,
                )
            )
            self._index_prices[native] = index
            contracts = str(data.held)
            if contracts != contract.held:
                contract.held = contracts
                group = contract.interests
                if group.segment is not segment:
                    group.open(output)
                group.messages.append(
                    OpenInterest(
                        exchange,
                        contract.symbol,
                        native,
                        ts_exchange,
                        ts_received,
                        ts_normalized,
                        stream,
                        epoch,
                        frame,
                        1,
                        held,
                        None,
                        contracts if contract.counted else None,
                    )
                )
        return len(self.frames)


def _plain(*texts: str) -> bool:
    """Whether values of JSON are plain numbers."""
    run = "".join(texts)
    if not run.replace(".", "").isdecimal():
        return False
    return len(run) <= MAX_DIGITS or len(max(texts, key=len)) <= MAX_DIGITS


_ZERO: Final = "0." + "0" * MAX_DIGITS
"""Above every way to write zero in so many digits, and below all other numbers, where texts are compared."""


def _rated(contract: Contract, rate: Raw) -> bool:
    """Whether a funding rate, which may be negative, is plain; it is the contract's last one from now on."""
    text = str(rate, "latin-1")
    try:
        known = plain(text) == text
    except NumberError:
        return False
    if known:
        contract.rate, contract.rate_text = rate.copy(), text
    return known
