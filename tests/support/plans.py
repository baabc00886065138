"""Plans of single streams, to be held against a scripted venue."""

from shared.exchanges.base import Feed, Heartbeat, Limits, Poll, StreamPlan, Subscription
from shared.exchanges.bybit.adapter import BybitAdapter

__all__ = ["BOOK", "LIQUIDATIONS", "TRADES", "QuickBybit", "bybit", "trades_of"]

TRADES = Subscription("publicTrade.BTCUSDT", Feed.TRADE, "BTCUSDT")
BOOK = Subscription("orderbook.50.BTCUSDT", Feed.BOOK, "BTCUSDT")
LIQUIDATIONS = Subscription("allLiquidation.BTCUSDT", Feed.LIQUIDATION, "BTCUSDT", quiet=True)


def trades_of(count: int) -> tuple[Subscription, ...]:
    """Trade topics of so many instruments."""
    return tuple(Subscription(f"publicTrade.C{number}USDT", Feed.TRADE, f"C{number}USDT") for number in range(count))


def bybit(
    websocket: str,
    *subscriptions: Subscription,
    rest: str = "http://127.0.0.1:1",
    product: str = "linear",
    polls: tuple[Poll, ...] = (),
) -> StreamPlan:
    """One Bybit stream."""
    url = f"{websocket}/v5/public/{product}"
    return StreamPlan(f"bybit.{product}.0", "bybit", product, url, rest, subscriptions, polls)


class QuickBybit(BybitAdapter):
    """Bybit with a heartbeat every 100 ms and connections that live ``age`` seconds."""

    def __init__(self, age: float | None = None) -> None:
        super().__init__()
        self._age = age

    def heartbeat(self, product: str) -> Heartbeat | None:
        known = super().heartbeat(product)
        return None if known is None else Heartbeat(0.1, known.payload)

    def limits(self, product: str) -> Limits:
        known = super().limits(product)
        return Limits(
            known.topics_per_connection,
            known.topics_per_request,
            known.requests_per_second,
            known.rest_weight,
            known.rest_interval_s,
            known.connections_per_interval,
            known.connection_interval_s,
            self._age,
        )
