"""Binance USD-M: what the private stream says."""

from services.simulator.accounts.amounts import ZERO, fixed, plain
from services.simulator.accounts.records import Execution, Happening, OrderRecord, PositionRecord
from services.simulator.topics import Message, ms
from services.simulator.venues import binance_usdm_private_rows as rows
from services.simulator.venues.binance_private import side, status
from services.simulator.venues.private import Markets

__all__ = ["account_update", "lite", "order"]

ENDED = {"canceled": "CANCELED", "expired": "EXPIRED"}
EXECUTION_TYPE = {"trade": "TRADE", "liquidation": "CALCULATED", "adl": "TRADE"}


def account_update(happening: Happening, markets: Markets) -> Message:
    """What changed: a trade's positions and balances, or a balance alone."""
    transfer, funding = happening.transfer, happening.funding
    reason, moved = "ORDER", ZERO
    if funding is not None:
        reason, moved = "FUNDING_FEE", -funding.amount
    if transfer is not None:
        reason, moved = ("DEPOSIT" if transfer.amount > 0 else "WITHDRAW"), transfer.amount
    balances = [
        {
            "a": one.after.asset,
            "wb": fixed(one.after.total, 8),
            "cw": fixed(one.after.total, 8),
            "bc": plain(moved),
        }
        for one in happening.assets
    ]
    positions = [_position(one, markets) for one in happening.positions] if funding is None else []
    return {"B": balances, "P": positions, "m": reason}


def _position(one: PositionRecord, markets: Markets) -> Message:
    instrument = one.instrument
    market = markets[instrument.product, instrument.native_symbol]
    return {
        "s": instrument.native_symbol,
        "pa": instrument.size(one.lots),
        "ep": plain(one.entry),
        "cr": plain(one.total_realized),
        "up": fixed(rows.unrealized(one, market), 8),
        "mt": "cross",
        "iw": "0",
        "ps": rows.POSITION_SIDE[one.leg],
        "ma": instrument.settle,
        "bep": plain(one.entry),
    }


def lite(one: Execution) -> Message:
    """The short form of a fill, which comes first."""
    order, instrument = one.order, one.order.instrument
    return {
        "s": instrument.native_symbol,
        "q": instrument.size(order.lots),
        "p": instrument.price(order.tick) if order.tick is not None else "0",
        "m": one.maker,
        "c": order.client_id,
        "S": side(buy=order.buy),
        "L": instrument.price(one.tick),
        "l": instrument.size(one.lots),
        "t": one.trade,
        "i": int(order.id),
    }


def order(one: OrderRecord, happening: Happening) -> Message:
    """An order and, where it was filled, the fill."""
    instrument, execution = one.instrument, happening.execution
    if execution is not None:
        kind = EXECUTION_TYPE[execution.kind]
    elif happening.kind == "ended":
        kind = ENDED[one.status]
    else:
        kind = "AMENDMENT" if happening.kind == "amended" else "NEW"
    tick = execution.tick if execution is not None and one.kind in ("liquidation", "adl") else one.tick
    fields: Message = {
        "s": instrument.native_symbol,
        "c": one.client_id,
        "S": side(buy=one.buy),
        "o": rows.kind(one),
        "f": rows.TIME_IN_FORCE[one.tif] if one.kind != "market" else "GTC",
        "q": instrument.size(one.lots),
        "p": instrument.price(tick) if tick is not None else "0",
        "ap": rows.average(one),
        "sp": "0",
        "x": kind,
        "X": status(one),
        "i": int(one.id),
        "l": instrument.size(execution.lots) if execution is not None else "0",
        "z": instrument.size(one.filled_lots),
        "L": instrument.price(execution.tick) if execution is not None else "0",
    }
    if execution is not None:
        fields |= {"n": plain(execution.fee), "N": execution.fee_asset}
    return {
        **fields,
        "T": ms(one.updated_ns),
        "t": execution.trade if execution is not None else 0,
        "b": "0",
        "a": "0",
        "m": execution is not None and execution.maker,
        "R": one.reduce_only,
        "wt": "CONTRACT_PRICE",
        "ot": rows.kind(one),
        "ps": rows.POSITION_SIDE[one.leg],
        "cp": False,
        "rp": plain(execution.realized) if execution is not None else "0",
        "pP": False,
        "si": 0,
        "ss": 0,
        "V": "EXPIRE_MAKER",
        "pm": "NONE",
        "gtd": 0,
        "er": "0",
    }
