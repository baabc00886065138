"""Bybit v5: orders, executions, positions and wallets as the venue writes them, on the stream and over REST."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from services.simulator.accounts.amounts import ZERO, average_price, margin_of, plain, price_of, value_of
from services.simulator.accounts.records import AssetRecord, Execution, Funding, OrderRecord, PositionRecord
from services.simulator.engine import Market
from services.simulator.engine.derivatives import MARK_DIVISIONS
from services.simulator.topics import ms

__all__ = ["coin", "execution", "fast_execution", "funding", "mark_price", "order", "position", "wallet"]

Row = dict[str, Any]

LEVERAGE = 10
POSITION_INDEX = {"net": 0, "long": 1, "short": 2}
TIME_IN_FORCE = {"gtc": "GTC", "ioc": "IOC", "fok": "FOK", "post_only": "PostOnly"}
STATUS = {
    "new": "New",
    "partially_filled": "PartiallyFilled",
    "filled": "Filled",
    "canceled": "Cancelled",
    "rejected": "Rejected",
}
CANCEL_TYPE = {"user": "CancelByUser", "self_match": "CancelBySmp", "liquidation": "CancelAllBeforeLiq"}
REJECT_REASON = {
    "user": "EC_PerCancelRequest",
    "immediate": "EC_NoImmediateQtyToFill",
    "post_only": "EC_PostOnlyWillTakeLiquidity",
}
CREATE_TYPE = {"liquidation": "CreateByLiq", "adl": "CreateByAdl_PassThrough"}
EXECUTION_TYPE = {"trade": "Trade", "liquidation": "BustTrade", "adl": "AdlTrade"}


def side(*, buy: bool) -> str:
    """The venue's word."""
    return "Buy" if buy else "Sell"


def mark_price(market: Market) -> Decimal:
    """The mark price; on spot the last price."""
    if market.instrument.is_spot:
        return price_of(market.instrument, market.statistics.last)
    return price_of(market.instrument, max(1, market.derivatives.mark // MARK_DIVISIONS))


def order(one: OrderRecord, market: Market) -> Row:
    """An order; the stream and REST write the same."""
    instrument = one.instrument
    price = one.tick if one.tick is not None else market.statistics.last
    average = average_price(instrument, one.filled_lots, one.value)
    leaves = one.remaining_lots if one.open else 0
    status = STATUS[one.status]
    if one.status == "canceled" and one.filled_lots and instrument.is_spot:
        status = "PartiallyFilledCanceled"
    return {
        "symbol": instrument.native_symbol,
        "orderId": one.id,
        "side": side(buy=one.buy),
        "orderType": "Limit" if one.kind == "limit" else "Market",
        "cancelType": CANCEL_TYPE.get(one.cause, "UNKNOWN") if one.status == "canceled" else "UNKNOWN",
        "price": instrument.price(price),
        "qty": instrument.size(one.lots),
        "orderIv": "",
        "timeInForce": TIME_IN_FORCE[one.tif],
        "orderStatus": status,
        "orderLinkId": one.client_id,
        "parentOrderLinkId": "",
        "lastPriceOnCreated": "",
        "reduceOnly": one.reduce_only,
        "leavesQty": instrument.size(leaves),
        "leavesValue": plain(value_of(instrument, leaves, price_of(instrument, price))),
        "cumExecQty": instrument.size(one.filled_lots),
        "cumExecValue": plain(one.value),
        "avgPrice": plain(average) if one.filled_lots else "",
        "blockTradeId": "",
        "positionIdx": POSITION_INDEX[one.leg],
        "cumExecFee": plain(one.fee),
        "closedPnl": plain(one.realized),
        "createdTime": str(ms(one.created_ns)),
        "updatedTime": str(ms(one.updated_ns)),
        "rejectReason": REJECT_REASON.get(one.cause, "EC_NoError"),
        "stopOrderType": "",
        "tpslMode": "",
        "triggerPrice": "",
        "takeProfit": "",
        "stopLoss": "",
        "tpTriggerBy": "",
        "slTriggerBy": "",
        "tpLimitPrice": "",
        "slLimitPrice": "",
        "ocoTriggerBy": "",
        "triggerDirection": 0,
        "triggerBy": "",
        "closeOnTrigger": False,
        "category": instrument.product,
        "placeType": "",
        "smpType": "CancelMaker" if one.cause == "self_match" else "None",
        "smpGroup": 0,
        "smpOrderId": "",
        "feeCurrency": one.fee_asset if instrument.is_spot else "",
        "cumFeeDetail": {one.fee_asset: plain(one.fee)} if one.fee_asset else {},
        "isLeverage": "0" if instrument.is_spot else "",
        "marketUnit": "baseCoin" if instrument.is_spot and one.kind == "market" else "",
        "slippageToleranceType": "UNKNOWN",
        "slippageTolerance": "",
        "createType": CREATE_TYPE.get(one.kind, "CreateByUser"),
        "rpiTakerAccess": False,
        "rpiMatchedQty": "0",
    }


def execution(one: Execution, market: Market) -> Row:
    """A fill."""
    belongs, instrument = one.order, one.order.instrument
    price = belongs.tick if belongs.tick is not None else one.tick
    return {
        "category": instrument.product,
        "symbol": instrument.native_symbol,
        "closedSize": instrument.size(one.closed_lots) if one.closed_lots else "0",
        "execFee": plain(one.fee),
        "execId": one.id,
        "execPrice": instrument.price(one.tick),
        "execQty": instrument.size(one.lots),
        "execType": EXECUTION_TYPE[one.kind],
        "execValue": plain(value_of(instrument, one.lots, price_of(instrument, one.tick))),
        "feeRate": plain(one.fee_rate),
        "tradeIv": "",
        "markIv": "",
        "blockTradeId": "",
        "markPrice": plain(mark_price(market)),
        "indexPrice": "",
        "underlyingPrice": "",
        "leavesQty": instrument.size(belongs.remaining_lots),
        "orderId": belongs.id,
        "orderLinkId": belongs.client_id,
        "orderPrice": instrument.price(price),
        "orderQty": instrument.size(belongs.lots),
        "orderType": "Limit" if belongs.kind == "limit" else "Market",
        "stopOrderType": "UNKNOWN",
        "side": side(buy=belongs.buy),
        "execTime": str(ms(one.ts_ns)),
        "isLeverage": "0",
        "isMaker": one.maker,
        "seq": one.sequence,
        "marketUnit": "",
        "execPnl": plain(one.realized),
        "createType": CREATE_TYPE.get(belongs.kind, "CreateByUser"),
        "extraFees": "",
        "feeCurrency": one.fee_asset,
    }


def fast_execution(one: Execution) -> Row:
    """The short form of a fill; makers are not told their own id."""
    belongs, instrument = one.order, one.order.instrument
    return {
        "category": instrument.product,
        "symbol": instrument.native_symbol,
        "execId": one.id,
        "execPrice": instrument.price(one.tick),
        "execQty": instrument.size(one.lots),
        "orderId": belongs.id,
        "isMaker": one.maker,
        "orderLinkId": "" if one.maker else belongs.client_id,
        "side": side(buy=belongs.buy),
        "execTime": str(ms(one.ts_ns)),
        "seq": one.sequence,
    }


def funding(one: Funding) -> Row:
    """A funding payment, which the venue writes as an execution of the whole position."""
    instrument = one.instrument
    return {
        "category": instrument.product,
        "symbol": instrument.native_symbol,
        "closedSize": "0",
        "execFee": plain(one.amount),
        "execId": one.id,
        "execPrice": plain(one.price),
        "execQty": instrument.size(abs(one.lots)),
        "execType": "Funding",
        "execValue": plain(value_of(instrument, abs(one.lots), one.price)),
        "feeRate": plain(one.rate),
        "tradeIv": "",
        "markIv": "",
        "blockTradeId": "",
        "markPrice": plain(one.price),
        "indexPrice": "",
        "underlyingPrice": "",
        "leavesQty": "0",
        "orderId": one.id,
        "orderLinkId": "",
        "orderPrice": "0",
        "orderQty": "0",
        "orderType": "UNKNOWN",
        "stopOrderType": "UNKNOWN",
        "side": side(buy=one.lots > 0),
        "execTime": str(ms(one.ts_ns)),
        "isLeverage": "0",
        "isMaker": False,
        "seq": one.sequence,
        "marketUnit": "",
        "execPnl": "0",
        "createType": "",
        "extraFees": "",
        "feeCurrency": one.asset,
    }


def position(one: PositionRecord, market: Market, *, entry: str) -> Row:
    """A leg; ``entry`` names the entry price (``entryPrice`` on the stream, ``avgPrice`` over REST)."""
    instrument, mark = one.instrument, mark_price(market)
    value = value_of(instrument, abs(one.lots), one.entry) if one.lots else ZERO
    margin, maintenance = plain(margin_of(value, LEVERAGE)), plain(margin_of(value, 20 * LEVERAGE))
    return {
        "positionIdx": POSITION_INDEX[one.leg],
        "tradeMode": 0,
        "riskId": 1,
        "riskLimitValue": "2000000",
        "symbol": instrument.native_symbol,
        "side": side(buy=one.lots > 0) if one.lots else "",
        "size": instrument.size(abs(one.lots)) if one.lots else "0",
        entry: plain(one.entry),
        "leverage": str(LEVERAGE),
        "breakEvenPrice": plain(one.entry),
        "positionValue": plain(value),
        "positionBalance": "0",
        "markPrice": plain(mark),
        "positionIM": margin,
        "positionIMByMp": margin,
        "positionMM": maintenance,
        "positionMMByMp": maintenance,
        "takeProfit": "",
        "stopLoss": "",
        "trailingStop": "0",
        "unrealisedPnl": plain(unrealized(one, mark)),
        "curRealisedPnl": plain(one.realized),
        "cumRealisedPnl": plain(one.total_realized),
        "sessionAvgPrice": "",
        "createdTime": str(ms(one.opened_ns or one.updated_ns)),
        "updatedTime": str(ms(one.updated_ns)),
        "openTime": ms(one.opened_ns),
        "tpslMode": "Full",
        "liqPrice": "",
        "bustPrice": "",
        "category": instrument.product,
        "positionStatus": "Normal",
        "adlRankIndicator": 2 if one.lots else 0,
        "autoAddMargin": 0,
        "leverageSysUpdatedTime": "",
        "mmrSysUpdatedTime": "",
        "seq": one.sequence,
        "isReduceOnly": False,
    }


def unrealized(one: PositionRecord, mark: Decimal) -> Decimal:
    """Profit at the mark price."""
    if not one.lots:
        return ZERO
    gained = value_of(one.instrument, one.lots, mark) - value_of(one.instrument, one.lots, one.entry)
    return -gained if one.instrument.kind == "inverse" else gained


def coin(one: AssetRecord, price: Decimal) -> Row:
    """One coin of a wallet; what a unified account does not know is empty, not 0."""
    return {
        "coin": one.asset,
        "equity": plain(one.total),
        "usdValue": plain((one.total * price).quantize(Decimal("1e-8"))),
        "walletBalance": plain(one.total),
        "availableToWithdraw": "",
        "availableToBorrow": "",
        "borrowAmount": "0",
        "accruedInterest": "0",
        "totalOrderIM": plain(one.order_margin),
        "totalPositionIM": plain(one.position_margin),
        "totalPositionMM": "0",
        "unrealisedPnl": "0",
        "cumRealisedPnl": plain(one.realized),
        "bonus": "0",
        "collateralSwitch": True,
        "marginCollateral": True,
        "locked": plain(one.locked),
        "spotHedgingQty": "0",
        "colRes": "0",
        "spotBorrow": "0",
    }


def wallet(coins: Iterable[AssetRecord], prices: dict[str, Decimal], everything: Iterable[AssetRecord]) -> Row:
    """The account level, with these coins."""
    total = sum(((one.total * prices.get(one.asset, ZERO)) for one in everything), ZERO)
    text = plain(total.quantize(Decimal("1e-8")))
    return {
        "accountIMRate": "0",
        "accountIMRateByMp": "0",
        "accountMMRate": "0",
        "accountMMRateByMp": "0",
        "totalEquity": text,
        "totalWalletBalance": text,
        "totalMarginBalance": text,
        "totalAvailableBalance": text,
        "totalPerpUPL": "0",
        "totalInitialMargin": "0",
        "totalInitialMarginByMp": "0",
        "totalMaintenanceMargin": "0",
        "totalMaintenanceMarginByMp": "0",
        "coin": [coin(one, prices.get(one.asset, ZERO)) for one in coins],
        "accountLTV": "0",
        "accountType": "UNIFIED",
    }
