"""Bybit's executions: fills, and the funding that comes as one.

Sources: docs/v5/websocket/private/execution.mdx, docs/v5/enum.mdx (``execType``). A positive ``execFee`` is a cost, a
negative one a rebate.
"""

from collections.abc import Mapping
from typing import Final

from shared.accounts.messages import Balance, Fill, FillKind, Source
from shared.errors import ParseError
from shared.exchanges.bybit.account.orders import SIDES
from shared.exchanges.bybit.account.wire import ExecutionRow
from shared.exchanges.levels import base_size
from shared.exchanges.records import Start, amount, known, quantity
from shared.instruments import Instrument
from shared.numbers import is_zero, subtract

__all__ = ["FUNDING", "fill", "funding"]

FUNDING: Final = "Funding"
"""The execution type of a funding payment: its quantity is the position's, nothing was traded."""

_KINDS: Final[Mapping[str, FillKind]] = {
    "Trade": "trade",
    "FutureSpread": "trade",  # a leg of a spread
    "AdlTrade": "adl",
    "BustTrade": "liquidation",
    "Delivery": "settlement",
    "Settle": "settlement",
    "BlockTrade": "block",
    "MovePosition": "block",  # between accounts, at an agreed price
}
"""What is not in here might be no fill at all (``CorporateAction``), so that it is not guessed."""


def fill(start: Start, instrument: Instrument, row: ExecutionRow, source: Source) -> Fill:
    """An execution; raises ParseError, for an unknown type too."""
    if not row.exec_id:
        raise ParseError("missing_field", "execId was empty")
    kind = known(_KINDS, row.exec_type, "execType")
    price, native = quantity(row.exec_price, "execPrice"), quantity(row.exec_qty, "execQty")
    size = base_size(instrument, native, price)
    return Fill(
        *start,
        execution_id=row.exec_id,
        order_id=row.order_id or None,
        client_order_id=row.order_link_id or None,
        side=known(SIDES, row.side or "", "side"),
        price=price,
        size=size,
        liquidity="unknown" if row.is_maker is None else "maker" if row.is_maker else "taker",
        kind=kind,
        source=source,
        fee=amount(row.exec_fee, "execFee"),
        fee_asset=row.fee_currency or None,
        realized_pnl=amount(row.exec_pnl, "execPnl"),
        size_native=native if instrument.inverse else None,
    )


def funding(start: Start, instrument: Instrument, row: ExecutionRow, source: Source) -> Balance | None:
    """A funding payment as the change that it is; None where nothing was paid."""
    paid = amount(row.exec_fee, "execFee")
    asset = row.fee_currency or instrument.settle
    if paid is None or asset is None:
        raise ParseError("missing_field", f"a funding payment had execFee {row.exec_fee!r} and no coin"[:200])
    if is_zero(paid):
        return None
    change = subtract("0", paid)
    return Balance(
        *start, asset=asset, total=None, available=None, locked=None, source=source, change=change, reason="funding"
    )
