"""The account's ledger: what happened, in neutral terms, so that somebody else's account of it can be compared."""

from collections import deque
from decimal import Decimal
from typing import Any

from msgspec import Raw

from services.simulator.accounts.account import Account
from services.simulator.accounts.amounts import average_price, base_size, native_size, plain, value_of
from services.simulator.accounts.records import AssetRecord, Execution, Funding, Happening, OrderRecord, PositionRecord
from services.simulator.accounts.wallet import Wallet
from services.simulator.instruments import Instrument
from services.simulator.topics import encode_json
from services.simulator.venues.private import PrivateMessage

__all__ = ["Report", "order_row"]

KEPT_EVENTS = 5000
"""Of how many happenings the venue's own messages are kept."""

NANOSECONDS_PER_MS = 1_000_000


def _told(ts_ns: int) -> int:
    """A time as the venues tell it: whole milliseconds, in ns."""
    return ts_ns // NANOSECONDS_PER_MS * NANOSECONDS_PER_MS


def _named(instrument: Instrument) -> dict[str, str]:
    return {
        "product": instrument.product,
        "symbol": instrument.unified_symbol,
        "native_symbol": instrument.native_symbol,
    }


def _filled_base(one: OrderRecord) -> Decimal:
    if one.instrument.kind == "inverse":
        return one.value
    return base_size(one.instrument, one.filled_lots, None) or Decimal(0)


def order_row(one: OrderRecord) -> dict[str, Any]:
    """An order, with sizes in base units beside the venue's own (``size_native``).

    Of a contract in quote units the base size is that at the order's price, and what is filled is what it was worth.
    """
    instrument = one.instrument
    size = base_size(instrument, one.lots, one.tick)
    average = average_price(instrument, one.filled_lots, one.value)
    return {
        "order_id": one.id,
        "client_order_id": one.client_id or None,
        **_named(instrument),
        "side": "buy" if one.buy else "sell",
        "type": one.kind,
        "time_in_force": one.tif if one.tick is not None else None,
        "price": instrument.price(one.tick) if one.tick is not None else None,
        "size": plain(size) if size is not None else None,
        "size_native": plain(native_size(instrument, one.lots)),
        "status": one.status,
        "cause": one.cause or None,
        "filled_size": plain(_filled_base(one)),
        "filled_size_native": plain(native_size(instrument, one.filled_lots)),
        "average_price": plain(average) if one.filled_lots else None,
        "leg": one.leg,
        "reduce_only": one.reduce_only,
        "ts_created": _told(one.created_ns),
        "ts_updated": _told(one.updated_ns),
    }


def _execution_row(number: int, one: Execution) -> dict[str, Any]:
    order, instrument = one.order, one.order.instrument
    size = base_size(instrument, one.lots, one.tick) or Decimal(0)
    return {
        "n": number,
        "execution_id": one.id,
        "order_id": order.id,
        "client_order_id": order.client_id or None,
        **_named(instrument),
        "side": "buy" if order.buy else "sell",
        "price": instrument.price(one.tick),
        "size": plain(size),
        "size_native": plain(native_size(instrument, one.lots)),
        "fee": plain(one.fee),
        "fee_asset": one.fee_asset,
        "liquidity": "maker" if one.maker else "taker",
        "kind": one.kind,
        "leg": order.leg,
        "realized_pnl": plain(one.realized) if not instrument.is_spot else None,
        "ts": _told(one.ts_ns),
    }


def _funding_row(one: Funding) -> dict[str, Any]:
    return {
        **_named(one.instrument),
        "leg": one.leg,
        "amount": plain(one.amount),
        "asset": one.asset,
        "rate": plain(one.rate),
        "value": plain(value_of(one.instrument, abs(one.lots), one.price)),
        "ts": _told(one.ts_ns),
    }


def _balance_row(one: AssetRecord) -> dict[str, str]:
    return {
        "total": plain(one.total),
        "available": plain(one.available),
        "locked": plain(one.locked),
        "order_margin": plain(one.order_margin),
        "position_margin": plain(one.position_margin),
    }


def _position_row(one: PositionRecord) -> dict[str, Any]:
    instrument = one.instrument
    size = base_size(instrument, abs(one.lots), None)
    if size is None:
        size = value_of(instrument, abs(one.lots), one.entry)
    return {
        **_named(instrument),
        "leg": one.leg,
        "side": None if not one.lots else "long" if one.lots > 0 else "short",
        "size": plain(size),
        "size_native": plain(native_size(instrument, abs(one.lots))),
        "entry_price": plain(one.entry) if one.lots else None,
        "realized_pnl": plain(one.total_realized),
    }


class Report:
    """Of one account. Rows are encoded when they come to be, so that asking for them is cheap."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._orders: dict[str, Raw] = {}
        self._executions: list[Raw] = []
        self._fundings: list[Raw] = []
        self._transfers: list[Raw] = []
        self._events: deque[tuple[int, Raw]] = deque(maxlen=KEPT_EVENTS)
        self._number = 0
        for wallet in account.wallets.values():
            for happening in wallet.happenings:
                self.add(wallet, happening, [])

    @property
    def happenings(self) -> int:
        """How much has happened."""
        return self._number

    def add(self, wallet: Wallet, happening: Happening, messages: list[PrivateMessage]) -> None:
        """Something happened, and this is what the venue said of it."""
        if happening.order is not None:
            self._orders[happening.order.id] = Raw(encode_json(order_row(happening.order)))
        if happening.execution is not None:
            self._executions.append(Raw(encode_json(_execution_row(len(self._executions), happening.execution))))
        if happening.funding is not None:
            self._fundings.append(Raw(encode_json(_funding_row(happening.funding))))
        if happening.transfer is not None:
            moved = happening.transfer
            row = {
                "wallet": wallet.rules.name,
                "asset": moved.asset,
                "amount": plain(moved.amount),
                "ts": _told(moved.ts_ns),
            }
            self._transfers.append(Raw(encode_json(row)))
        event = {
            "n": self._number,
            "wallet": wallet.rules.name,
            "kind": happening.kind,
            "ts": _told(happening.ts_ns),
            "order_id": happening.order.id if happening.order is not None else None,
            "messages": [{"name": one.name, "feed": one.feed, "body": one.body} for one in messages],
        }
        self._events.append((self._number, Raw(encode_json(event))))
        self._number += 1

    def ledger(self) -> dict[str, Any]:
        """Everything, and what it came to."""
        wallets = self._account.wallets.values()
        return {
            "exchange": self._account.exchange,
            "account": self._account.name,
            "happenings": self._number,
            "orders": self._orders,
            "executions": self._executions,
            "fundings": self._fundings,
            "transfers": self._transfers,
            "balances": {
                wallet.rules.name: {one.asset: _balance_row(one) for one in wallet.view.assets.values()}
                for wallet in wallets
            },
            "positions": [_position_row(one) for wallet in wallets for one in wallet.view.positions.values()],
        }

    def events(self, since: int, limit: int) -> list[Raw]:
        """The venue's own messages, by what they were said of; the newest happenings only."""
        return [row for number, row in self._events if number >= since][:limit]
