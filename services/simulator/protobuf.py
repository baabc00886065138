"""Protocol Buffers wire format, encoding only, by hand: varints and length-delimited fields.

The numbers are those of the venue's published definitions of June 2026. What a field is follows from the Python value:
text and nested messages are length-delimited, integers are varints, lists repeat. Empty text and zero are left out, as
proto3 does. A key that is a number in digits is a field of that number, for fields that nobody defined.
"""

from collections.abc import Mapping
from typing import Any

__all__ = ["encode"]

Fields = Mapping[str, tuple[int, str]]
"""Field name to number and, for nested messages, the name of their definition."""

LEVEL: Fields = {"price": (1, ""), "quantity": (2, "")}
QUOTE: Fields = {"bidPrice": (1, ""), "bidQuantity": (2, ""), "askPrice": (3, ""), "askQuantity": (4, "")}
DEFINITIONS: Mapping[str, Fields] = {
    "Wrapper": {
        "channel": (1, ""),
        "symbol": (3, ""),
        "symbolId": (4, ""),
        "createTime": (5, ""),
        "sendTime": (6, ""),
        "publicLimitDepths": (303, "LimitDepths"),
        "privateOrders": (304, "PrivateOrders"),
        "privateDeals": (306, "PrivateDeals"),
        "privateAccount": (307, "PrivateAccount"),
        "publicSpotKline": (308, "SpotKline"),
        "publicMiniTicker": (309, "MiniTicker"),
        "publicMiniTickers": (310, "MiniTickers"),
        "publicBookTickerBatch": (311, "BookTickerBatch"),
        "publicAggreDepths": (313, "AggreDepths"),
        "publicAggreDeals": (314, "AggreDeals"),
        "publicAggreBookTicker": (315, "AggreBookTicker"),
    },
    "PrivateOrders": {
        "id": (1, ""),
        "clientId": (2, ""),
        "price": (3, ""),
        "quantity": (4, ""),
        "amount": (5, ""),
        "avgPrice": (6, ""),
        "orderType": (7, ""),
        "tradeType": (8, ""),
        "isMaker": (9, ""),
        "remainAmount": (10, ""),
        "remainQuantity": (11, ""),
        "lastDealQuantity": (12, ""),
        "cumulativeQuantity": (13, ""),
        "cumulativeAmount": (14, ""),
        "status": (15, ""),
        "createTime": (16, ""),
    },
    "PrivateDeals": {
        "price": (1, ""),
        "quantity": (2, ""),
        "amount": (3, ""),
        "tradeType": (4, ""),
        "isMaker": (5, ""),
        "isSelfTrade": (6, ""),
        "tradeId": (7, ""),
        "clientOrderId": (8, ""),
        "orderId": (9, ""),
        "feeAmount": (10, ""),
        "feeCurrency": (11, ""),
        "time": (12, ""),
    },
    "PrivateAccount": {
        "vcoinName": (1, ""),
        "coinId": (2, ""),
        "balanceAmount": (3, ""),
        "balanceAmountChange": (4, ""),
        "frozenAmount": (5, ""),
        "frozenAmountChange": (6, ""),
        "type": (7, ""),
        "time": (8, ""),
    },
    "Level": LEVEL,
    "Quote": QUOTE,
    "AggreDeals": {"deals": (1, "Deal"), "eventType": (2, "")},
    "Deal": {**LEVEL, "tradeType": (3, ""), "time": (4, ""), "tradeId": (5, "")},
    "AggreDepths": {
        "asks": (1, "Level"),
        "bids": (2, "Level"),
        "eventType": (3, ""),
        "fromVersion": (4, ""),
        "toVersion": (5, ""),
        "lastOrderCreateTime": (6, ""),
    },
    "LimitDepths": {
        "asks": (1, "Level"),
        "bids": (2, "Level"),
        "eventType": (3, ""),
        "version": (4, ""),
        "lastOrderCreateTime": (5, ""),
    },
    "AggreBookTicker": {**QUOTE, "version": (5, ""), "lastOrderCreateTime": (6, "")},
    "BookTickerBatch": {"items": (1, "Quote"), "version": (2, ""), "lastOrderCreateTime": (3, "")},
    "SpotKline": {
        "interval": (1, ""),
        "windowStart": (2, ""),
        "openingPrice": (3, ""),
        "closingPrice": (4, ""),
        "highestPrice": (5, ""),
        "lowestPrice": (6, ""),
        "volume": (7, ""),
        "amount": (8, ""),
        "windowEnd": (9, ""),
    },
    "MiniTickers": {"items": (1, "MiniTicker")},
    "MiniTicker": {
        "symbol": (1, ""),
        "price": (2, ""),
        "rate": (3, ""),
        "zonedRate": (4, ""),
        "high": (5, ""),
        "low": (6, ""),
        "volume": (7, ""),
        "quantity": (8, ""),
        "lastCloseRate": (9, ""),
        "lastCloseZonedRate": (10, ""),
        "lastCloseHigh": (11, ""),
        "lastCloseLow": (12, ""),
    },
}

VARINT = 0
LENGTH_DELIMITED = 2
UINT64 = (1 << 64) - 1


def _varint(value: int) -> bytes:
    value &= UINT64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(message: Mapping[str, Any], definition: str = "Wrapper") -> bytes:
    """The message's bytes, fields in the order given."""
    fields = DEFINITIONS[definition]
    return b"".join([_field(fields, name, value) for name, value in message.items()])


def _field(fields: Fields, name: str, value: object) -> bytes:
    number, nested = fields.get(name) or (int(name), "")
    if isinstance(value, list):
        return b"".join([_one(number, nested, inner) for inner in value])
    return _one(number, nested, value) if value or isinstance(value, dict) else b""


def _one(number: int, nested: str, value: object) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3 | VARINT) + _varint(value)
    data = encode(value, nested) if isinstance(value, dict) else str(value).encode()
    return _varint(number << 3 | LENGTH_DELIMITED) + _varint(len(data)) + data
