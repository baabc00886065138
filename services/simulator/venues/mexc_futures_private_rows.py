"""MEXC contracts: orders, deals, positions and assets as the venue writes them: bare numbers, sizes in contracts."""

from decimal import Decimal
from typing import Any

from msgspec import Raw

from services.simulator.accounts.amounts import ZERO, average_price, margin_of, plain, price_of, value_of
from services.simulator.accounts.records import AssetRecord, Execution, Funding, OrderRecord, PositionRecord
from services.simulator.topics import ms

__all__ = ["asset", "deal", "funding", "order", "position"]

Row = dict[str, Any]

LEVERAGE = 10
CROSS = 2
HEDGED = 1
SIDES = {(True, "long"): 1, (True, "short"): 2, (False, "short"): 3, (False, "long"): 4}
"""1 open long, 2 close short, 3 open short, 4 close long."""

CATEGORY = {"liquidation": 2, "adl": 4}
ORDER_TYPE = {"gtc": 1, "post_only": 2, "ioc": 3, "fok": 4}
MARKET_ORDER = 5
STATE = {"new": 2, "partially_filled": 2, "filled": 3, "canceled": 4, "rejected": 5}
ERROR_CODE = {"post_only": 2040}
POSITION_TYPE = {"long": 1, "short": 2}


def number(amount: Decimal) -> Raw:
    """A bare number; a small one in exponent form, as the venue's serializer writes it (``4.386e-05``)."""
    if amount and abs(amount) < Decimal("0.001"):
        return Raw(f"{amount.normalize():e}".encode())
    return Raw(plain(amount).encode())


def order(one: OrderRecord, position_id: int) -> Row:
    """An order; ``version`` grows with every change of it."""
    instrument = one.instrument
    price = price_of(instrument, one.tick) if one.tick is not None else ZERO
    average = average_price(instrument, one.filled_lots, one.value)
    margin = ZERO
    if one.open and not one.reduce_only:
        margin = margin_of(value_of(instrument, one.remaining_lots, price), LEVERAGE)
    return {
        "category": CATEGORY.get(one.kind, 1),
        "createTime": ms(one.created_ns),
        "dealAvgPrice": number(average),
        "dealVol": one.filled_lots,
        "errorCode": ERROR_CODE.get(one.cause, 0),
        "externalOid": one.client_id,
        "feeCurrency": instrument.settle,
        "leverage": LEVERAGE,
        "makerFee": number(one.fee - one.taker_fee),
        "openType": CROSS,
        "orderId": one.id,
        "orderMargin": number(margin),
        "orderType": MARKET_ORDER if one.tick is None else ORDER_TYPE[one.tif],
        "positionId": position_id,
        "positionMode": HEDGED,
        "price": number(price or average),
        "profit": number(one.realized),
        "reduceOnly": False,
        "remainVol": one.remaining_lots,
        "side": SIDES[one.buy, one.leg],
        "state": STATE[one.status],
        "symbol": instrument.native_symbol,
        "takerFee": number(one.taker_fee),
        "updateTime": ms(one.updated_ns),
        "usedMargin": 0,
        "version": one.version,
        "vol": one.lots,
    }


def deal(one: Execution) -> Row:
    """A fill; its order's id is a bare number of 18 digits here."""
    belongs, instrument = one.order, one.order.instrument
    return {
        "id": one.trade,
        "symbol": instrument.native_symbol,
        "side": SIDES[belongs.buy, belongs.leg],
        "vol": one.lots,
        "price": number(price_of(instrument, one.tick)),
        "feeCurrency": one.fee_asset,
        "fee": number(one.fee),
        "timestamp": ms(one.ts_ns),
        "profit": number(one.realized),
        "isTaker": not one.maker,
        "category": CATEGORY.get(one.kind, 1),
        "orderId": int(belongs.id),
        "isSelf": False,
        "externalOid": belongs.client_id,
        "positionMode": HEDGED,
        "reduceOnly": False,
        "opponentUid": 0,
    }


def position(one: PositionRecord) -> Row:
    """A leg; state 1 holds something, 3 is closed."""
    instrument = one.instrument
    margin = margin_of(value_of(instrument, abs(one.lots), one.entry), LEVERAGE) if one.lots else ZERO
    closed = average_price(instrument, one.closed_lots, one.closed_value)
    return {
        "autoAddIm": False,
        "closeAvgPrice": number(closed),
        "closeVol": one.closed_lots,
        "createTime": ms(one.opened_ns),
        "frozenVol": 0,
        "holdAvgPrice": number(one.entry),
        "holdFee": number(-one.paid_funding),
        "holdVol": abs(one.lots),
        "im": number(margin),
        "leverage": LEVERAGE,
        "liquidatePrice": 0,
        "oim": number(margin),
        "openAvgPrice": number(one.entry),
        "openType": CROSS,
        "positionId": one.id,
        "positionType": POSITION_TYPE[one.leg],
        "realised": number(one.realized),
        "state": 1 if one.lots else 3,
        "symbol": instrument.native_symbol,
        "updateTime": ms(one.updated_ns),
    }


def asset(one: AssetRecord) -> Row:
    """A currency of the futures wallet."""
    return {
        "availableBalance": number(one.available),
        "bonus": 0,
        "cashBalance": number(one.total),
        "currency": one.asset,
        "frozenBalance": number(one.order_margin),
        "positionMargin": number(one.position_margin),
    }


def funding(one: Funding, identity: int) -> Row:
    """A settlement of funding in the REST list; what was paid is negative."""
    return {
        "id": identity,
        "symbol": one.instrument.native_symbol,
        "positionType": POSITION_TYPE[one.leg],
        "positionValue": number(value_of(one.instrument, abs(one.lots), one.price)),
        "funding": number(-one.amount),
        "rate": number(one.rate),
        "settleTime": ms(one.ts_ns),
    }
