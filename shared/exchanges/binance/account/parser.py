"""Which private frame goes where. A parser keeps nothing but the instruments."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Raw

from shared.accounts.base import AccountPlan, Found
from shared.envelope import Frame, RestReply
from shared.errors import ParseError
from shared.exchanges.base import Origin
from shared.exchanges.binance.account import balances, fills, orders, positions
from shared.exchanges.binance.account.lists import Lists
from shared.exchanges.binance.account.starts import Starts
from shared.exchanges.binance.account.wire import (
    ACCOUNT_POSITION,
    ACCOUNT_UPDATE,
    ALGO_UPDATE,
    ASSET_ROW,
    BALANCE_CHANGE,
    EVENT,
    EXECUTION_REPORT,
    HEAD,
    ORDER_UPDATE,
    POSITION_ROW,
    SPOT_BALANCE,
    decode,
    moment,
    payload_of,
)
from shared.exchanges.binance.endpoints import SPOT
from shared.exchanges.records import each, nothing
from shared.instruments import InstrumentTable

__all__ = ["BinanceAccountParser"]

USD_M: Final = 1
"""``st`` of an event; 2 is COIN-M, whose events come over the same stream."""

_Reader = Callable[[Origin, bytes, Found], None]


class BinanceAccountParser:
    """See :class:`shared.accounts.base.AccountParser`."""

    def __init__(self, plan: AccountPlan, instruments: Mapping[str, InstrumentTable]) -> None:
        self._product = plan.products[0]
        self._starts = Starts(plan.account, self._product, instruments.get(self._product))
        self._lists = Lists(self._product, self._starts)
        self._events = self._spot_events() if self._product == SPOT else self._usdm_events()

    def data(self, origin: Origin, frame: Frame) -> Found:
        """An event, in its wrapper or without one; answers to requests give nothing."""
        data = frame[2]
        head = decode(HEAD, data)
        found = nothing()
        if head.status is not None or head.error is not None:
            return found
        payload = payload_of(head, data)
        event = decode(EVENT, payload)
        if event.event is None:
            raise ParseError("missing_field", "e: the frame was neither an event nor an answer")
        if event.event not in self._events:
            raise ParseError("unknown_event", f"{event.event[:40]!r} is no event of {self._product} accounts")
        reader = self._events[event.event]
        if reader is not None and event.stack in {None, USD_M}:
            reader(origin, payload, found)
        return found

    def caught_up(self, origin: Origin, replies: Sequence[RestReply]) -> Found:
        """The lists of a reconciliation."""
        return self._lists.read(origin, replies)

    # --- events ---

    def _spot_events(self) -> Mapping[str, _Reader | None]:
        return {
            "executionReport": self._execution_report,
            "outboundAccountPosition": self._account_position,
            "balanceUpdate": self._balance_update,
            "externalLockUpdate": self._external_lock,
            "listStatus": None,  # each order of a list reports itself
            "eventStreamTerminated": None,
            "serverShutdown": None,
        }

    def _usdm_events(self) -> Mapping[str, _Reader | None]:
        left_out = (
            "TRADE_LITE",  # the same executions without their fees; ORDER_TRADE_UPDATE has them all
            "ACCOUNT_CONFIG_UPDATE",
            "MARGIN_CALL",
            "STRATEGY_UPDATE",
            "GRID_UPDATE",
            "CONDITIONAL_ORDER_TRIGGER_REJECT",  # ALGO_UPDATE says it
            "listenKeyExpired",
            "serverShutdown",
        )
        return {
            "ORDER_TRADE_UPDATE": self._order_update,
            "ACCOUNT_UPDATE": self._account_update,
            "ALGO_UPDATE": self._algo_update,
            **dict.fromkeys(left_out),
        }

    def _execution_report(self, origin: Origin, data: bytes, found: Found) -> None:
        row = decode(EXECUTION_REPORT, data)
        start = self._starts.instrument(origin, row.symbol, moment(row.ts_transaction, "T"))
        order, fill = orders.reported(start, row), fills.reported(start, row)
        found.orders.append(order)
        if fill is not None:
            found.fills.append(fill)

    def _account_position(self, origin: Origin, data: bytes, found: Found) -> None:
        position = decode(ACCOUNT_POSITION, data)
        start = self._starts.account(origin, moment(position.ts_updated, "u"))

        def take(raw: Raw) -> None:
            row = decode(SPOT_BALANCE, raw)
            found.balances.append(balances.held(start, row.asset, row.free, row.locked, "stream"))

        each(position.balances, take, found)

    def _balance_update(self, origin: Origin, data: bytes, found: Found) -> None:
        self._changed(origin, data, found, locked=False)

    def _external_lock(self, origin: Origin, data: bytes, found: Found) -> None:
        self._changed(origin, data, found, locked=True)

    def _changed(self, origin: Origin, data: bytes, found: Found, *, locked: bool) -> None:
        row = decode(BALANCE_CHANGE, data)
        start = self._starts.account(origin, moment(row.ts_cleared, "T"))
        found.changes = [balances.changed(start, row, locked=locked)]

    def _order_update(self, origin: Origin, data: bytes, found: Found) -> None:
        row = decode(ORDER_UPDATE, data).order
        start = self._starts.instrument(origin, row.symbol, moment(row.ts_transaction, "T"))
        order, fill = orders.updated(start, row), fills.executed(start, row)
        found.orders.append(order)
        if fill is not None:
            found.fills.append(fill)

    def _algo_update(self, origin: Origin, data: bytes, found: Found) -> None:
        update = decode(ALGO_UPDATE, data)
        ts = moment(update.ts_transaction, "T")
        start = self._starts.instrument(origin, update.order.symbol, ts)
        found.orders.append(orders.algo_updated(start, update.order, ts))

    def _account_update(self, origin: Origin, data: bytes, found: Found) -> None:
        update = decode(ACCOUNT_UPDATE, data)
        ts, change = moment(update.ts_transaction, "T"), update.change

        def asset(raw: Raw) -> None:
            start = self._starts.account(origin, ts)
            found.balances.append(balances.updated(start, decode(ASSET_ROW, raw), change.reason))

        def leg(raw: Raw) -> None:
            row = decode(POSITION_ROW, raw)
            found.positions.append(positions.updated(self._starts.instrument(origin, row.symbol, ts), row))

        each(change.balances, asset, found)
        each(change.positions, leg, found)
