"""What subscribers get: a topic turns a market's changes into the venue's messages, once for all of them."""

from abc import ABC, abstractmethod
from typing import Any

import msgspec
from typing_extensions import override

from services.simulator.engine import Liquidation, Market, Trade, Watch

__all__ = [
    "Levels",
    "LiquidationTopic",
    "Message",
    "QuoteTopic",
    "Topic",
    "TradeTopic",
    "WatchTopic",
    "encode_json",
    "ms",
]

Message = dict[str, Any]
"""One message before it is encoded: keys in the venue's order."""

Levels = list[tuple[int, int]]
"""(tick, lots), best first."""

TAP_LIMIT = 20_000
"""Trades or liquidations a topic holds between two polls; the oldest go."""

encode_json = msgspec.json.Encoder(decimal_format="number").encode


def ms(ts_ns: int) -> int:
    """Nanoseconds as whole milliseconds."""
    return ts_ns // 1_000_000


class Topic(ABC):
    """One subscribable thing of one product. Active only while somebody listens.

    ``cadence_ms`` is how often it is polled, ``feed`` the kind of data for the counters, ``binary`` the opcode.
    """

    feed = ""
    account = ""
    binary = False
    cadence_ms = 10

    def __init__(self, name: str, market: Market) -> None:
        self.name = name
        self.market = market

    @property
    def symbol(self) -> str:
        """The venue's id of the instrument."""
        return self.market.instrument.native_symbol

    def start(self, now_ns: int) -> None:
        """The first subscriber came."""
        del now_ns

    def stop(self) -> None:  # noqa: B027 - a topic without a tap has nothing to give back
        """The last subscriber left."""

    def greet(self, now_ns: int) -> list[Message]:
        """What a new subscriber gets first, consistent with what the others got last."""
        del now_ns
        return []

    @abstractmethod
    def poll(self, now_ns: int) -> list[Message]:
        """What everybody gets now."""

    def encode(self, message: Message) -> bytes:
        """The message's bytes."""
        return encode_json(message)

    def trade_ids(self, message: Message) -> list[str]:
        """Ids of the trades in a message of this topic, for the ledger."""
        del message
        return []


class TradeTopic(Topic):
    """Every trade since the last poll."""

    feed = "trade"

    def __init__(self, name: str, market: Market) -> None:
        super().__init__(name, market)
        self._tap: list[Trade] = []

    @override
    def start(self, now_ns: int) -> None:
        self._tap.clear()
        self.market.trade_taps.append(self._tap)

    @override
    def stop(self) -> None:
        self.market.trade_taps = [tap for tap in self.market.trade_taps if tap is not self._tap]

    @override
    def poll(self, now_ns: int) -> list[Message]:
        if not self._tap:
            return []
        trades = self._tap[-TAP_LIMIT:]
        self._tap.clear()
        return self.messages(trades, now_ns)

    @abstractmethod
    def messages(self, trades: list[Trade], now_ns: int) -> list[Message]:
        """The trades as the venue groups them."""


class LiquidationTopic(Topic):
    """Every liquidation since the last poll."""

    feed = "liquidation"

    def __init__(self, name: str, market: Market) -> None:
        super().__init__(name, market)
        self._tap: list[Liquidation] = []

    @override
    def start(self, now_ns: int) -> None:
        self._tap.clear()
        self.market.liquidation_taps.append(self._tap)

    @override
    def stop(self) -> None:
        self.market.liquidation_taps = [tap for tap in self.market.liquidation_taps if tap is not self._tap]

    @override
    def poll(self, now_ns: int) -> list[Message]:
        if not self._tap:
            return []
        liquidations = self._tap[-TAP_LIMIT:]
        self._tap.clear()
        return self.messages(liquidations, now_ns)

    @abstractmethod
    def messages(self, liquidations: list[Liquidation], now_ns: int) -> list[Message]:
        """The liquidations as the venue groups them."""


class WatchTopic(Topic):
    """A topic that has something to say when levels changed."""

    feed = "book"

    def __init__(self, name: str, market: Market) -> None:
        super().__init__(name, market)
        self.watch = Watch()

    @override
    def start(self, now_ns: int) -> None:
        self.watch = self.market.watch()
        self.started(now_ns)

    def started(self, now_ns: int) -> None:
        """Take the state from which changes count."""
        del now_ns

    @override
    def stop(self) -> None:
        self.market.unwatch(self.watch)

    def changed(self) -> tuple[Levels, Levels]:
        """The changed levels with what they hold now (0 where they are gone), best first; forgets them."""
        book = self.market.book
        bids = [(tick, book.size_at(tick, buy=True)) for tick in sorted(self.watch.bids, reverse=True)]
        asks = [(tick, book.size_at(tick, buy=False)) for tick in sorted(self.watch.asks)]
        self.watch.clear()
        return bids, asks


class QuoteTopic(WatchTopic):
    """Best bid and offer, when one of the four numbers changed."""

    feed = "quote"

    def __init__(self, name: str, market: Market) -> None:
        super().__init__(name, market)
        self.last: tuple[Levels, Levels] = ([], [])

    @override
    def started(self, now_ns: int) -> None:
        self.last = self._best()

    def _best(self) -> tuple[Levels, Levels]:
        return self.market.book.top_bids(1), self.market.book.top_asks(1)

    @override
    def poll(self, now_ns: int) -> list[Message]:
        if not self.watch:
            return []
        self.watch.clear()
        best = self._best()
        if best == self.last:
            return []
        self.last = best
        return [self.message(now_ns)]

    @abstractmethod
    def message(self, now_ns: int) -> Message:
        """The quote in ``self.last``."""
