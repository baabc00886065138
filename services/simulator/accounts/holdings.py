"""What orders and positions hold of a wallet's assets."""

from collections.abc import Mapping
from dataclasses import replace

from services.simulator.accounts.amounts import ZERO, margin_of, native_size, price_of, value_of
from services.simulator.accounts.records import AssetRecord, OrderRecord, PositionRecord
from services.simulator.accounts.view import PositionKey

__all__ = ["assets_of", "held_of"]


def assets_of(order: OrderRecord | None) -> tuple[str, ...]:
    """Assets that an order's life can change."""
    if order is None:
        return ()
    instrument = order.instrument
    return (instrument.base, instrument.quote) if instrument.is_spot else (instrument.settle,)


def held_of(
    asset: AssetRecord,
    orders: Mapping[str, OrderRecord],
    positions: Mapping[PositionKey, PositionRecord],
    leverage: int,
) -> AssetRecord:
    """What open orders and positions hold of an asset."""
    locked = order_value = position_value = ZERO
    for order in orders.values():
        instrument = order.instrument
        if order.tick is None or order.reduce_only:
            continue
        if not instrument.is_spot:
            if instrument.settle == asset.asset:
                order_value += value_of(instrument, order.remaining_lots, price_of(instrument, order.tick))
        elif order.buy and instrument.quote == asset.asset:
            locked += value_of(instrument, order.remaining_lots, price_of(instrument, order.tick))
        elif not order.buy and instrument.base == asset.asset:
            locked += native_size(instrument, order.remaining_lots)
    for position in positions.values():
        if position.instrument.settle == asset.asset and position.lots:
            position_value += value_of(position.instrument, abs(position.lots), position.entry)
    return replace(
        asset,
        locked=locked,
        order_margin=margin_of(order_value, leverage),
        position_margin=margin_of(position_value, leverage),
    )
