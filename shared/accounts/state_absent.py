"""What a reconciliation says by not naming it: orders that vanished, positions and balances that are gone."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from shared.accounts.base import Found
from shared.accounts.messages import Balance, Position
from shared.accounts.state_holdings import LAG_NS, holds_nothing, is_flat
from shared.accounts.state_orders import when
from shared.accounts.state_records import HeldBalance, HeldPosition, OrderKey, PositionKey, TrackedOrder
from shared.exchanges.output import Origin

__all__ = ["emptied", "flattened", "head", "vanished"]


def vanished(
    orders: Mapping[OrderKey, TrackedOrder], before: Sequence[OrderKey], found: Found, epoch: int, until_ns: int
) -> list[OrderKey]:
    """Orders that are open, should be among the venue's, and aren't; ``before`` are those that had vanished already.

    One that this connection has told of since about when the venue was asked may be too young to be there.
    """
    listed = found.open_orders_of or ()
    named = {OrderKey(order.symbol or "", order.order_id) for order in found.orders}
    gone = [key for key in before if key in orders and orders[key].product not in listed]
    for key, tracked in orders.items():
        order = tracked.order
        young = order.source == "stream" and order.epoch == epoch and when(order) > until_ns - LAG_NS
        if tracked.product in listed and key not in named and not young:
            gone.append(key)
    return gone


def flattened(
    positions: Mapping[PositionKey, HeldPosition], found: Found, origin: Origin, account: str
) -> Iterator[Position]:
    """Positions that are held, should be among the venue's, and aren't: as flat ones."""
    listed = found.positions_of or ()
    named = {PositionKey(position.symbol or "", position.leg) for position in found.positions}
    for key, held in tuple(positions.items()):
        position = held.message
        if held.product in listed and key not in named and not is_flat(position):
            native = None if position.size_native is None else "0"
            flat = Position(*head(origin), account, position.leg, None, "0", "rest", size_native=native)
            yield replace(flat, symbol=position.symbol, native_symbol=position.native_symbol)


def emptied(balances: Mapping[str, HeldBalance], found: Found, origin: Origin, account: str) -> Iterator[Balance]:
    """Balances that are held, should be among the venue's, and aren't: as zero, as far as they were told."""
    named = {balance.asset for balance in found.balances}
    for asset, held in tuple(balances.items()) if found.all_balances else ():
        known = held.message
        if asset not in named and not holds_nothing(known):
            total, available, locked = _zero(known.total), _zero(known.available), _zero(known.locked)
            yield Balance(*head(origin), account, asset, total, available, locked, "rest", _zero(known.equity))


def _zero(amount: str | None) -> str | None:
    return None if amount is None else "0"


def head(origin: Origin) -> tuple[str, None, None, None, int, int, str, int, int, int]:
    """The common fields of a message that concerns no instrument, or is about to get one; ``part`` is 0."""
    times = origin.ts_received, origin.ts_normalized
    return origin.exchange, None, None, None, *times, origin.stream, origin.epoch, origin.frame, 0
