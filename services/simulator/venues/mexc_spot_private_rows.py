"""MEXC spot: orders, deals and balances as the private channels write them."""

from decimal import Decimal
from hashlib import sha256

from services.simulator.accounts.amounts import ZERO, average_price, plain, price_of, value_of
from services.simulator.accounts.records import AssetRecord, Execution, Happening, OrderRecord
from services.simulator.topics import Message, ms

__all__ = ["balances", "deal", "order"]

ORDER_TYPE = {"gtc": 1, "post_only": 2, "ioc": 3, "fok": 4}
MARKET_ORDER = 5
STATUS = {"new": 1, "filled": 2, "partially_filled": 3, "canceled": 4}
PARTIALLY_CANCELED = 5
CAUSE = {"new": "ENTRUST_PLACE", "fill": "ENTRUST", "ended": "ENTRUST_CANCEL"}


def order(one: OrderRecord, execution: Execution | None) -> Message:
    """An order as it is now, with what was filled just now."""
    instrument = one.instrument
    price = price_of(instrument, one.tick) if one.tick is not None else ZERO
    status = STATUS[one.status]
    if one.status == "canceled" and one.filled_lots:
        status = PARTIALLY_CANCELED
    return {
        "id": one.id,
        "clientId": one.client_id,
        "price": plain(price or average_price(instrument, one.filled_lots, one.value)),
        "quantity": instrument.size(one.lots),
        "amount": plain(value_of(instrument, one.lots, price)),
        "avgPrice": plain(average_price(instrument, one.filled_lots, one.value)),
        "orderType": MARKET_ORDER if one.tick is None else ORDER_TYPE[one.tif],
        "tradeType": 1 if one.buy else 2,
        "isMaker": execution is not None and execution.maker,
        "remainAmount": plain(value_of(instrument, one.remaining_lots, price)),
        "remainQuantity": instrument.size(one.remaining_lots),
        "lastDealQuantity": instrument.size(execution.lots) if execution is not None else "",
        "cumulativeQuantity": instrument.size(one.filled_lots),
        "cumulativeAmount": plain(one.value),
        "status": status,
        "createTime": ms(one.created_ns),
    }


def deal(one: Execution) -> Message:
    """A fill."""
    instrument = one.order.instrument
    return {
        "price": instrument.price(one.tick),
        "quantity": instrument.size(one.lots),
        "amount": plain(value_of(instrument, one.lots, price_of(instrument, one.tick))),
        "tradeType": 1 if one.order.buy else 2,
        "isMaker": one.maker,
        "isSelfTrade": False,
        "tradeId": one.id,
        "clientOrderId": one.order.client_id,
        "orderId": one.order.id,
        "feeAmount": plain(one.fee),
        "feeCurrency": one.fee_asset,
        "time": ms(one.ts_ns),
    }


def balances(happening: Happening) -> list[Message]:
    """One message an asset; a fee has one of its own, after the trade it belongs to."""
    rows, execution = [], happening.execution
    for change in happening.assets:
        before, after = change.before, change.after
        fee = execution.fee if execution is not None and execution.fee_asset == after.asset else ZERO
        cause = CAUSE.get(happening.kind, "DEPOSIT" if after.total > before.total else "WITHDRAW")
        rows.append(_balance(before, after, fee, cause, happening.ts_ns))
        if fee:
            rows.append(
                {
                    **rows[-1],
                    "balanceAmount": plain(after.available),
                    "balanceAmountChange": plain(-fee),
                    "frozenAmountChange": "0",
                    "type": "TRADE_FEE",
                }
            )
    return rows


def _balance(before: AssetRecord, after: AssetRecord, fee: Decimal, cause: str, ts_ns: int) -> Message:
    available = after.available + fee
    return {
        "vcoinName": after.asset,
        "coinId": sha256(after.asset.encode()).hexdigest()[:32],
        "balanceAmount": plain(available),
        "balanceAmountChange": plain(available - before.available),
        "frozenAmount": plain(after.locked),
        "frozenAmountChange": plain(after.locked - before.locked),
        "type": cause,
        "time": ms(ts_ns),
    }
