"""How ``tidegate tap`` shows a message to people: when, its routing key, and the few fields that matter."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from shared.messages import Message

__all__ = ["tap_line"]

FIELDS: Final[Mapping[str, str]] = {
    "trade": "side size price",
    "quote": "bid_price bid_size ask_price ask_size",
    "ticker": "last_price bid_price ask_price mark_price funding_rate volume",
    "book_snapshot": "bids asks sequence",
    "book_delta": "bids asks sequence previous_sequence",
    "liquidation": "side size price",
    "funding": "rate ts_next_funding",
    "mark_price": "mark_price index_price",
    "open_interest": "open_interest open_interest_value",
    "candle": "interval ts_open open high low close volume closed",
    "stream_status": "status stream affects reason count detail",
    "order": "status side order_type size price filled_size order_id",
    "fill": "side size price fee fee_asset order_id",
    "balance": "asset total available change reason",
    "position": "leg side size entry_price unrealized_pnl",
    "account_status": "status stream ts_reconciled reason detail",
}
"""Of each feed; those that are null are left out."""


def tap_line(key: str, message: Message) -> str:
    """``10:59:58.028 trade.bybit.BTC/USDT side=buy size=0.004 price=65123.50``, in the venue's time (UTC) if it tells.

    Levels of a book are shown as their number and the price of the first: ``bids=50@65123.40``.
    """
    when = _time(message.ts_received if message.ts_exchange is None else message.ts_exchange)
    return " ".join([when, key, *_fields(message)])


def _fields(message: Message) -> Iterator[str]:
    for name in FIELDS[message.feed].split():
        value = getattr(message, name)
        if value is None:
            continue
        if name.startswith("ts_"):
            value = _time(value)
        elif isinstance(value, list):
            value = f"{len(value)}@{value[0][0]}" if value else 0
        yield f"{name}={value}"


def _time(ns: int) -> str:
    return datetime.fromtimestamp(ns // 1_000_000 / 1e3, UTC).strftime("%H:%M:%S.%f")[:-3]
