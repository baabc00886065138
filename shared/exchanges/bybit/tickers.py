"""Tickers, and what only they bring on derivatives: funding, mark price, open interest. Source: ticker.mdx.

Derivatives send a snapshot, then only what changed: nothing gets out before a snapshot has made a ticker complete.
"""

from functools import partial
from typing import Final, NamedTuple

from msgspec import UNSET, structs

from shared.errors import ParseError
from shared.exchanges.base import Origin, Output, Resync
from shared.exchanges.bybit.merging import Groups, Rest, is_rare, merged, merged_rest, rest_of
from shared.exchanges.bybit.wire import FRAME_PLAIN_TICKER, FRAME_TICKER, TickerData, decode, nanoseconds
from shared.exchanges.lanes import UNREADABLE, Lane, Pile
from shared.exchanges.levels import base_size, number
from shared.instruments import Instrument, InstrumentKind
from shared.messages import Funding, MarkPrice, OpenInterest, Status, StreamStatus, Ticker
from shared.numbers import NumberError, is_zero, optional

__all__ = ["FEEDS", "Tickers"]

FEEDS: Final = frozenset({"ticker", "funding", "mark_price", "open_interest"})
"""What comes in ticker frames."""

ASK_AGAIN_NS: Final = 10_000_000_000
ASK_AGAIN_MAX_NS: Final = 160_000_000_000

_FIELDS: Final = tuple(field.name for field in structs.fields(TickerData))
_MERGED: Final = _FIELDS[: _FIELDS.index("open_interest") + 1]
_PRICES: Final = frozenset(name for name in _FIELDS if name.endswith("_price"))

_decode = FRAME_PLAIN_TICKER.decode

Values = dict[str, str | None]
"""Plain numbers by field of TickerData; None where the venue says that there is none."""

_NOT_SPOT: Final[Values] = dict.fromkeys(
    ("mark_price", "index_price", "open_interest", "open_interest_value", "funding_rate", "next_funding")
)


class _View(NamedTuple):
    """A complete ticker as canonical fields, and the rarer values in it."""

    ticker: tuple[str | int | None, ...]
    funding: tuple[str, int | None, int | None] | None
    mark: tuple[str, str | None] | None
    interest: tuple[str, str | None, str | None] | None


class _State:
    """One instrument's ticker, and what was last said of the rarer values."""

    def __init__(self, exchange: str, instrument: Instrument) -> None:
        self.exchange = exchange
        self.instrument = instrument
        self.groups = Groups(exchange, instrument.symbol)
        self.begun = False
        """There was a frame that could be read."""
        self.broken = False
        self.ask_at: int | None = None
        self.ask_interval = ASK_AGAIN_NS
        self.forget()

    def forget(self) -> None:
        """What was merged can't be trusted any more."""
        self.values: Values | None = None  # as of the last frame that went the long way
        self.said = _View((), None, None, None)
        self.ticker: Ticker | None = None
        """What was last told, where :mod:`shared.exchanges.bybit.merging` may go on from it."""
        self.rest: Rest | None = None
        """What of it seldom changes."""
        self.ahead = False  # ``ticker`` and ``interest_value`` have what ``values`` has not
        self.interest_value: str | None = None

    def relist(self, instrument: Instrument) -> None:
        """A newer list has the instrument otherwise: what comes next is told of that one."""
        self.values, self.ticker = self.known(), None
        self.instrument = instrument
        self.groups = Groups(self.exchange, instrument.symbol)

    def known(self) -> Values | None:
        """What deltas so far made of the last snapshot."""
        if self.values is not None and self.ticker is not None and self.ahead:
            self.values.update({name: getattr(self.ticker, name) for name in _MERGED})
            self.values["open_interest_value"] = self.interest_value
        return self.values

    def asks(self, now: int) -> bool:
        """Whether to ask for a snapshot now (ns): ever more seldom while none comes."""
        if self.ask_at is not None and now >= self.ask_at:
            self.ask_interval = min(self.ask_interval * 2, ASK_AGAIN_MAX_NS)
            self.ask_at = now + self.ask_interval
            return True
        if self.ask_at is None:
            self.ask_at = now + self.ask_interval
        return False


class Tickers(Pile[_State]):
    """The tickers of one stream; ``merged`` where they come as partial updates."""

    def __init__(self, *, merged: bool) -> None:
        super().__init__()
        self._merged = merged
        self._started = False
        self._states: dict[str, _State] = {}

    def of(self, exchange: str, instrument: Instrument) -> Lane:
        """The lane of an instrument's tickers."""
        state = self._states.get(instrument.native_symbol)
        if state is None:
            state = self._states[instrument.native_symbol] = _State(exchange, instrument)
        elif state.instrument != instrument:
            state.relist(instrument)
        read = partial(self._read, state)
        return self.lane(state, read) if self._merged and not instrument.inverse else Lane(read)

    def take(self, origin: Origin, output: Output) -> int:
        """See :class:`Pile`: deltas without funding of tickers that are complete."""
        ts_normalized, epoch, segment = origin.ts_normalized, origin.epoch, output.segment
        for lane, frame, ts_received, data in self.frames:
            try:
                update = _decode(data)
            except UNREADABLE:
                return self.position(frame)
            changed, state = update.data, lane.state
            before, rest = state.ticker, state.rest
            rare = is_rare(changed)
            if rare and rest is not None:
                rest = merged_rest(rest, changed)
            if before is None or rest is None:
                return self.position(frame)
            message = merged(before, rest, changed, update.ts * 1_000_000, ts_received, ts_normalized, epoch, frame)
            if message is None:
                return self.position(frame)
            group = state.groups.ticker
            if group.segment is not segment:
                group.open(output)
            group.messages.append(message)
            state.ticker = message
            state.ahead = True
            if rare:
                state.rest = rest
                if changed.open_interest_value is not UNSET:
                    state.interest_value = changed.open_interest_value
                origin.frame, origin.ts_received, output.parts = frame, ts_received, 1
                _publish_mark(origin, state, message, output)
                _publish_interest(origin, state, message, state.interest_value, output)
        return len(self.frames)

    def _read(self, state: _State, origin: Origin, data: bytes, output: Output) -> None:
        """A snapshot or a delta, whatever it changes; raises ParseError and leaves the ticker as it was."""
        frame, instrument = decode(FRAME_TICKER, data), state.instrument
        if frame.type != "snapshot" and not (frame.type == "delta" and self._merged):
            raise ParseError("unknown_event", f"a ticker of type {frame.type[:40]!r}")
        changed = _changed(frame.data)
        ts_exchange = nanoseconds(frame.ts, "ts")
        known = dict.fromkeys(_FIELDS) if frame.type == "snapshot" else state.known()
        view = None if known is None else _view(instrument, known | changed)
        if not state.begun:
            state.begun = True
            state.broken = self._started  # consumers had it from whoever owned the stream before
        if known is None or view is None:
            output.stale += 1
            if state.asks(origin.ts_received):
                _ask(origin, instrument, output, "no_snapshot")
            return
        values = known | changed
        state.values, state.ahead, state.interest_value = values, False, values["open_interest_value"]
        _restored(origin, state, output)
        state.ticker = _publish(origin, state, view, ts_exchange, output)
        state.rest = None if state.ticker is None else rest_of(state.ticker)

    def interrupted(self, origin: Origin, native_symbol: str | None, reason: str, output: Output) -> None:
        """Tickers lost something: what was merged is dropped, and asked for unless it comes by itself."""
        if reason == "started":
            if self._merged:
                self._started = True
                output.resyncs.append(Resync("ticker", native_symbol, reason))
            return
        if reason == "connected":
            self._started = False
        for state in [*self._states.values()]:
            if not state.begun or native_symbol not in {None, state.instrument.native_symbol}:
                continue
            if reason == "connected":
                state.forget()
                state.ask_at = origin.ts_received + ASK_AGAIN_NS
            elif self._merged and state.values is not None:
                state.forget()
                state.broken = True
                state.ask_at = origin.ts_received + ASK_AGAIN_NS
                _ask(origin, state.instrument, output, reason)


def _changed(data: TickerData) -> Values:
    changed: Values = {}
    for name in _FIELDS:
        text = getattr(data, name)
        if text is UNSET:
            continue
        if text == "":
            changed[name] = None
        elif name == "funding_rate":
            changed[name] = _signed(text, name)
        else:
            plain = number(text, name)
            # Where there is no price, no trade or no side yet, the venue may write 0.
            changed[name] = None if name in _PRICES and is_zero(plain) else plain
    return changed


def _signed(text: str, name: str) -> str | None:
    try:
        return optional(text)
    except NumberError as error:
        raise ParseError("bad_number", f"{name}: {error}") from error


def _view(instrument: Instrument, values: Values) -> _View:
    if instrument.kind is InstrumentKind.SPOT:
        # What a frame contains never makes a derivative of a spot pair.
        values = values | _NOT_SPOT
    volume, turnover = values["volume"], values["turnover"]
    interest, value, native = values["open_interest"], values["open_interest_value"], None
    if instrument.inverse:
        # A contract is a unit of the quote coin: the venue's own figures in base coin are turnover and value.
        volume, turnover = turnover, volume
        interest, value, native = value, interest, interest
    rate = None if instrument.kind is InstrumentKind.FUTURE else values["funding_rate"]
    next_funding = None if rate is None else _milliseconds(values["next_funding"])
    mark, index = values["mark_price"], values["index_price"]
    return _View(
        (
            values["last_price"],
            *_side(instrument, values["bid_price"], values["bid_size"]),
            *_side(instrument, values["ask_price"], values["ask_size"]),
            *(values["open_price"], values["high_price"], values["low_price"]),
            *(volume, turnover, mark, index, rate, next_funding, interest),
        ),
        None if rate is None else (rate, next_funding, _hours(values["funding_interval"])),
        None if mark is None else (mark, index),
        None if interest is None else (interest, value, native),
    )


def _side(instrument: Instrument, price: str | None, size: str | None) -> tuple[str | None, str | None]:
    if price is None or size is None or is_zero(size):
        return None, None
    return price, base_size(instrument, size, price)


def _milliseconds(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdigit() or len(text) > 20:
        raise ParseError("bad_time", f"nextFundingTime was {text[:40]!r}")
    return nanoseconds(int(text), "nextFundingTime")


def _hours(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() and len(text) <= 4 else None


def _publish(origin: Origin, state: _State, view: _View, ts_exchange: int | None, output: Output) -> Ticker | None:
    """The ticker, and of the rarer values those that are new; the ticker where deltas can be merged into it."""
    head, said, groups = origin.head(state.instrument, ts_exchange), state.said, state.groups
    message = Ticker(*head, output.parts, *view.ticker)  # type: ignore[arg-type]
    groups.ticker.put(message, output)
    if view.funding is not None and view.funding != said.funding:
        groups.funding.put(Funding(*head, output.parts, *view.funding), output)
    if view.mark is not None and view.mark != said.mark:
        groups.mark.put(MarkPrice(*head, output.parts, *view.mark), output)
    if view.interest is not None and (said.interest is None or _contracts(view.interest) != _contracts(said.interest)):
        groups.interest.put(OpenInterest(*head, output.parts, *view.interest), output)
        said = said._replace(interest=view.interest)
    state.said = view._replace(interest=said.interest)
    # Of a side that is empty the values know more than the message: its price may be the same when it fills again.
    whole = message.bid_price is not None and message.ask_price is not None
    return message if whole and not state.instrument.inverse else None


def _publish_mark(origin: Origin, state: _State, told: Ticker, output: Output) -> None:
    mark, index = told.mark_price, told.index_price
    if mark is not None and (mark, index) != state.said.mark:
        state.said = state.said._replace(mark=(mark, index))
        head, groups = origin.head(state.instrument, told.ts_exchange), state.groups
        groups.mark.put(MarkPrice(*head, output.parts, mark, index), output)


def _publish_interest(origin: Origin, state: _State, told: Ticker, value: str | None, output: Output) -> None:
    interest, said = told.open_interest, state.said.interest
    if interest is not None and (said is None or interest != said[0]):
        state.said = state.said._replace(interest=(interest, value, None))
        head, groups = origin.head(state.instrument, told.ts_exchange), state.groups
        groups.interest.put(OpenInterest(*head, output.parts, interest, value), output)


def _contracts(interest: tuple[str, str | None, str | None]) -> str:
    """The number that changes with positions only; the value beside it changes with every price."""
    return interest[0] if interest[2] is None else interest[2]


def _restored(origin: Origin, state: _State, output: Output) -> None:
    state.ask_at, state.ask_interval = None, ASK_AGAIN_NS
    if state.broken:
        state.broken = False
        _say(origin, state.instrument, output, "live", "snapshot")


def _ask(origin: Origin, instrument: Instrument, output: Output, reason: str) -> None:
    _say(origin, instrument, output, "resync", reason)
    output.resyncs.append(Resync("ticker", instrument.native_symbol, reason))


def _say(origin: Origin, instrument: Instrument, output: Output, status: Status, reason: str) -> None:
    head = origin.head(instrument, None)
    output.add(StreamStatus(*head, output.parts, status, "ticker", reason))
