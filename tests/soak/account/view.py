"""What a consumer makes of the account plane: repetitions dropped, everything else taken as it comes.

It knows the messages and nothing of those that make them. What contradicts the promised order is found here.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from shared.accounts.messages import (
    OPEN_STATUSES,
    AccountStatus,
    AnyAccountMessage,
    Balance,
    Fill,
    Order,
    Position,
)

__all__ = ["Holding", "Told", "View"]

NOTHING: Final = (-1, -1, -1)

Identity = tuple[int, int, int]


class Holding:
    """The last words on one asset; what a venue does not tell stays as it was."""

    __slots__ = ("available", "locked", "total")

    def __init__(self) -> None:
        self.total: str | None = None
        self.available: str | None = None
        self.locked: str | None = None

    def take(self, told: Balance) -> None:
        """A newer word."""
        for name in self.__slots__:
            value = getattr(told, name)
            if value is not None:
                setattr(self, name, value)


class Told:
    """One stream as its consumer knows it: ``fills`` by (symbol, execution id), ``orders`` by (symbol, order id)."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.fills: dict[tuple[str, str], Fill] = {}
        self.orders: dict[tuple[str, str], Order] = {}
        self.holdings: dict[str, Holding] = {}
        self.positions: dict[tuple[str, str], Position] = {}
        self.status: AccountStatus | None = None
        self.repeated: list[str] = []
        """Executions and ends of orders that were told again under another identity."""
        self.inversions: list[str] = []
        self.messages = 0
        self.duplicates = 0
        self._seen: set[Identity] = set()
        self._last: Identity = NOTHING
        self._sure = 0
        self._pushed = (-1, 0)
        self._found: tuple[int, int, int] = NOTHING
        self._lagging: list[tuple[int, int]] = []

    def lags(self, since_ns: int, until_ns: int) -> None:
        """The venue's lists lag in this time: nobody can know by them what just happened."""
        self._lagging.append((since_ns, until_ns))

    @property
    def reconciled(self) -> int:
        """Up to when (ns, the venue's clock) everything is said to have been told; 0 when that is not said."""
        if self.status is None or self.status.status != "reconciled":
            return 0
        return self.status.ts_reconciled or 0

    def take(self, message: AnyAccountMessage) -> None:
        """The next message in the order of arrival."""
        identity = message.epoch, message.frame, message.part
        self.messages += 1
        if identity in self._seen:
            self.duplicates += 1
            return
        self._seen.add(identity)
        if identity < self._last:
            self._invert(message, f"came after {self._last}")
        else:
            self._last = identity
        match message:
            case Fill():
                self._fill(message)
            case Order():
                self._order(message)
            case Balance():
                self.holdings.setdefault(message.asset, Holding()).take(message)
            case Position():
                self.positions[_symbol(message), message.leg] = message
            case AccountStatus():
                self.status = message

    def _fill(self, fill: Fill) -> None:
        key = _symbol(fill), fill.execution_id
        if key in self.fills:
            self.repeated.append(f"{self.stream}: execution {key} was told twice")
            return
        self.fills[key] = fill
        at = fill.ts_exchange or 0
        if fill.source == "stream":
            epoch, newest = self._pushed
            if epoch == fill.epoch and at < newest:
                self._invert(fill, f"was executed at {at}, the one pushed before it at {newest}")
            self._pushed = fill.epoch, at
        else:
            epoch, frame, newest = self._found
            if (epoch, frame) == (fill.epoch, fill.frame) and at < newest:
                self._invert(fill, f"was executed at {at}, the one found before it at {newest}")
            self._found = fill.epoch, fill.frame, at
        if at < self._sure and not any(since <= at <= until for since, until in self._lagging):
            self._invert(fill, f"was executed at {at}, all up to {self._sure} was said to be known")
        if self.status is not None and self.status.status == "reconciled":
            self._sure = max(self._sure, at)

    def _order(self, order: Order) -> None:
        key = _symbol(order), order.order_id
        before = self.orders.get(key)
        self.orders[key] = order
        if before is None:
            return
        ended = before.status not in OPEN_STATUSES
        if ended and (before.status, before.filled_size) == (order.status, order.filled_size):
            self.repeated.append(f"{self.stream}: the end of order {key}, {order.status}, was told twice")
        elif ended and order.status in OPEN_STATUSES:
            self._invert(order, f"is {order.status} again after {before.status}")
        elif Decimal(order.filled_size) < Decimal(before.filled_size):
            self._invert(order, f"is filled by {order.filled_size} after {before.filled_size}")
        elif order.ts_updated is not None and before.ts_updated is not None and order.ts_updated < before.ts_updated:
            self._invert(order, f"{_state(order)} came after {_state(before)}")

    def _invert(self, message: AnyAccountMessage, why: str) -> None:
        name = f"{message.feed} {message.epoch}/{message.frame}/{message.part} of {message.symbol}"
        what = message.execution_id if isinstance(message, Fill) else ""
        what = message.order_id if isinstance(message, Order) else what
        self.inversions.append(f"{self.stream}: {name} {what} {why}")


class View:
    """All streams of all accounts."""

    def __init__(self) -> None:
        self.streams: dict[str, Told] = {}

    def take(self, messages: Iterable[AnyAccountMessage]) -> None:
        """A body, in the order of arrival."""
        for message in messages:
            told = self.streams.get(message.stream)
            if told is None:
                told = self.streams[message.stream] = Told(message.stream)
            told.take(message)

    def lags(self, exchange: str, account: str, since_ns: int, until_ns: int) -> None:
        """The lists of an account lag in this time; see :meth:`Told.lags`."""
        name = f"{exchange}.{account}"
        for stream, told in self.streams.items():
            if stream == name or stream.startswith(f"{name}."):
                told.lags(since_ns, until_ns)

    def reconciled(self, streams: Iterable[str], since_ns: int) -> bool:
        """Whether each of them says that everything up to then was told."""
        return all(stream in self.streams and self.streams[stream].reconciled >= since_ns for stream in streams)

    @property
    def messages(self) -> int:
        """How many came, repetitions too."""
        return sum(told.messages for told in self.streams.values())


def _state(order: Order) -> str:
    return f"{order.status}, {order.filled_size} filled by {order.ts_updated} ({order.source}, epoch {order.epoch})"


def _symbol(message: AnyAccountMessage) -> str:
    return message.symbol or message.native_symbol or ""
