"""Compares what a consumer was told of an account with the venue's own ledger of it."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from shared.accounts.messages import Fill, Order, Position
from tests.soak.account.view import Told, View

__all__ = ["Findings", "judge", "streams_of"]

UNIFIED: Final = frozenset({"bybit"})
"""Venues with one wallet and one private stream for all products."""

TOLD_OF_ALL: Final = ("total",)
TOLD_OF_SPOT: Final = ("total", "available", "locked")
"""What is compared of a balance. Venues with margin each have their own idea of what is available."""


class Findings(NamedTuple):
    """Everything that is wrong, each as a line that names where.

    A fill with a wrong field is missing (the right one never came) and extra (the wrong one did). An order that did
    not end as the venue says misses its last event.
    """

    missing: list[str]
    extra: list[str]
    inversions: list[str]
    balances_wrong: list[str]
    positions_wrong: list[str]

    @property
    def clean(self) -> bool:
        return not any(self)

    def counts(self) -> dict[str, int]:
        """How much there is of each kind."""
        return {name: len(lines) for name, lines in self._asdict().items()}


def streams_of(ledger: Mapping[str, Any]) -> dict[str, str]:
    """The name of each wallet's stream."""
    account = f"{ledger['exchange']}.{ledger['account']}"
    if ledger["exchange"] in UNIFIED:
        return dict.fromkeys(ledger["balances"], account)
    return {wallet: f"{account}.{wallet}" for wallet in ledger["balances"]}


def judge(view: View, ledgers: Sequence[Mapping[str, Any]]) -> Findings:
    """Compare everything; the ledgers must not change any more."""
    findings = Findings([], [], [], [], [])
    known: set[str] = set()
    for ledger in ledgers:
        for stream in dict.fromkeys(streams_of(ledger).values()):
            known.add(stream)
            told = view.streams.get(stream) or Told(stream)
            findings.extra.extend(told.repeated)
            findings.inversions.extend(told.inversions)
            _fills(told, list(_of_stream(ledger, "executions", stream)), findings)
            _orders(told, list(_of_stream(ledger, "orders", stream)), findings)
            _positions(told, list(_of_stream(ledger, "positions", stream)), findings)
        for wallet, stream in streams_of(ledger).items():
            told = view.streams.get(stream) or Told(stream)
            findings.balances_wrong.extend(_balances(told, wallet, ledger["balances"][wallet]))
    findings.extra.extend(f"{stream}: there is no such stream" for stream in sorted(view.streams.keys() - known))
    return findings


def _of_stream(ledger: Mapping[str, Any], kind: str, stream: str) -> Iterator[dict[str, Any]]:
    rows = ledger[kind].values() if isinstance(ledger[kind], dict) else ledger[kind]
    unified = ledger["exchange"] in UNIFIED
    for row in rows:
        if unified or stream.endswith(f".{row['product']}"):
            yield row


def _fills(told: Told, rows: Sequence[dict[str, Any]], findings: Findings) -> None:
    ledger = {(row["symbol"], row["execution_id"]): row for row in rows}
    for key, row in ledger.items():
        fill = told.fills.get(key)
        wrong = "never came" if fill is None else ", ".join(_fill_differs(fill, row))
        if wrong:
            findings.missing.append(f"{told.stream}: fill {key} of {row['ts']}: {wrong}")
            if fill is not None:
                findings.extra.append(f"{told.stream}: fill {key}: {wrong}")
    for key in told.fills.keys() - ledger.keys():
        findings.extra.append(f"{told.stream}: fill {key} never happened")


def _fill_differs(fill: Fill, row: Mapping[str, Any]) -> Iterator[str]:
    for name in ("side", "order_id", "liquidity", "kind", "fee_asset"):
        if getattr(fill, name) != row[name]:
            yield f"{name} is {getattr(fill, name)}, should be {row[name]}"
    for name in ("price", "size", "fee"):
        value = getattr(fill, name)
        if value is None or Decimal(value) != Decimal(row[name]):
            yield f"{name} is {value}, should be {row[name]}"
    if fill.ts_exchange != row["ts"]:
        yield f"time is {fill.ts_exchange}, should be {row['ts']}"


def _orders(told: Told, rows: Sequence[dict[str, Any]], findings: Findings) -> None:
    ledger = {(row["symbol"], row["order_id"]): row for row in rows}
    for key, row in ledger.items():
        order = told.orders.get(key)
        wrong = "never came" if order is None else ", ".join(_order_differs(order, row))
        if wrong:
            findings.missing.append(f"{told.stream}: order {key} of {row['ts_updated']}, {row['status']}: {wrong}")
    for key in told.orders.keys() - ledger.keys():
        findings.extra.append(f"{told.stream}: order {key} never was")


def _order_differs(order: Order, row: Mapping[str, Any]) -> Iterator[str]:
    if order.status != row["status"]:
        yield f"status is {order.status}, should be {row['status']}"
    if order.side != row["side"]:
        yield f"side is {order.side}, should be {row['side']}"
    for name in ("filled_size", "size", "price"):
        value, should = getattr(order, name), row[name]
        if name == "price" and should is None:
            continue  # venues name a price for orders that they forced, and for market orders
        if (value is None) != (should is None) or (value is not None and Decimal(value) != Decimal(should)):
            yield f"{name} is {value}, should be {should}"


def _balances(told: Told, wallet: str, rows: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    names = TOLD_OF_SPOT if wallet == "spot" else TOLD_OF_ALL
    for asset, row in rows.items():
        holding = told.holdings.get(asset)
        for name in names:
            value = getattr(holding, name, None)
            if Decimal(value or 0) != Decimal(row[name]) or (value is None and Decimal(row["total"])):
                yield f"{told.stream}: {name} of {asset} is {value}, should be {row[name]}"
    for asset in told.holdings.keys() - rows.keys():
        if Decimal(told.holdings[asset].total or 0):
            yield f"{told.stream}: {asset} is {told.holdings[asset].total}, should not be"


def _positions(told: Told, rows: Sequence[dict[str, Any]], findings: Findings) -> None:
    ledger = {(row["symbol"], row["leg"]): row for row in rows}
    for key, row in ledger.items():
        have, should = _size(told.positions.get(key)), (row["side"], Decimal(row["size"]))
        if have != should:
            findings.positions_wrong.append(f"{told.stream}: {key} is {have}, should be {should}")
    for key in told.positions.keys() - ledger.keys():
        if _size(told.positions[key])[1]:
            findings.positions_wrong.append(f"{told.stream}: {key} should not be")


def _size(position: Position | None) -> tuple[str | None, Decimal]:
    return (None, Decimal(0)) if position is None else (position.side, Decimal(position.size))
