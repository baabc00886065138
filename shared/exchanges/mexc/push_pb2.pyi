from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PublicAggreDealsV3ApiItem(_message.Message):
    __slots__ = ("price", "quantity", "tradeType", "time", "tradeId")
    PRICE_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    TRADETYPE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    TRADEID_FIELD_NUMBER: _ClassVar[int]
    price: str
    quantity: str
    tradeType: int
    time: int
    tradeId: str
    def __init__(self, price: _Optional[str] = ..., quantity: _Optional[str] = ..., tradeType: _Optional[int] = ..., time: _Optional[int] = ..., tradeId: _Optional[str] = ...) -> None: ...

class PublicAggreDealsV3Api(_message.Message):
    __slots__ = ("deals", "eventType")
    DEALS_FIELD_NUMBER: _ClassVar[int]
    EVENTTYPE_FIELD_NUMBER: _ClassVar[int]
    deals: _containers.RepeatedCompositeFieldContainer[PublicAggreDealsV3ApiItem]
    eventType: str
    def __init__(self, deals: _Optional[_Iterable[_Union[PublicAggreDealsV3ApiItem, _Mapping]]] = ..., eventType: _Optional[str] = ...) -> None: ...

class PublicAggreDepthV3ApiItem(_message.Message):
    __slots__ = ("price", "quantity")
    PRICE_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    price: str
    quantity: str
    def __init__(self, price: _Optional[str] = ..., quantity: _Optional[str] = ...) -> None: ...

class PublicAggreDepthsV3Api(_message.Message):
    __slots__ = ("asks", "bids", "eventType", "fromVersion", "toVersion", "lastOrderCreateTime")
    ASKS_FIELD_NUMBER: _ClassVar[int]
    BIDS_FIELD_NUMBER: _ClassVar[int]
    EVENTTYPE_FIELD_NUMBER: _ClassVar[int]
    FROMVERSION_FIELD_NUMBER: _ClassVar[int]
    TOVERSION_FIELD_NUMBER: _ClassVar[int]
    LASTORDERCREATETIME_FIELD_NUMBER: _ClassVar[int]
    asks: _containers.RepeatedCompositeFieldContainer[PublicAggreDepthV3ApiItem]
    bids: _containers.RepeatedCompositeFieldContainer[PublicAggreDepthV3ApiItem]
    eventType: str
    fromVersion: str
    toVersion: str
    lastOrderCreateTime: int
    def __init__(self, asks: _Optional[_Iterable[_Union[PublicAggreDepthV3ApiItem, _Mapping]]] = ..., bids: _Optional[_Iterable[_Union[PublicAggreDepthV3ApiItem, _Mapping]]] = ..., eventType: _Optional[str] = ..., fromVersion: _Optional[str] = ..., toVersion: _Optional[str] = ..., lastOrderCreateTime: _Optional[int] = ...) -> None: ...

class PublicAggreBookTickerV3Api(_message.Message):
    __slots__ = ("bidPrice", "bidQuantity", "askPrice", "askQuantity", "version", "lastOrderCreateTime")
    BIDPRICE_FIELD_NUMBER: _ClassVar[int]
    BIDQUANTITY_FIELD_NUMBER: _ClassVar[int]
    ASKPRICE_FIELD_NUMBER: _ClassVar[int]
    ASKQUANTITY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LASTORDERCREATETIME_FIELD_NUMBER: _ClassVar[int]
    bidPrice: str
    bidQuantity: str
    askPrice: str
    askQuantity: str
    version: str
    lastOrderCreateTime: int
    def __init__(self, bidPrice: _Optional[str] = ..., bidQuantity: _Optional[str] = ..., askPrice: _Optional[str] = ..., askQuantity: _Optional[str] = ..., version: _Optional[str] = ..., lastOrderCreateTime: _Optional[int] = ...) -> None: ...

class PublicBookTickerV3Api(_message.Message):
    __slots__ = ("bidPrice", "bidQuantity", "askPrice", "askQuantity")
    BIDPRICE_FIELD_NUMBER: _ClassVar[int]
    BIDQUANTITY_FIELD_NUMBER: _ClassVar[int]
    ASKPRICE_FIELD_NUMBER: _ClassVar[int]
    ASKQUANTITY_FIELD_NUMBER: _ClassVar[int]
    bidPrice: str
    bidQuantity: str
    askPrice: str
    askQuantity: str
    def __init__(self, bidPrice: _Optional[str] = ..., bidQuantity: _Optional[str] = ..., askPrice: _Optional[str] = ..., askQuantity: _Optional[str] = ...) -> None: ...

class PublicBookTickerBatchV3Api(_message.Message):
    __slots__ = ("items", "version", "lastOrderCreateTime")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LASTORDERCREATETIME_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[PublicBookTickerV3Api]
    version: str
    lastOrderCreateTime: int
    def __init__(self, items: _Optional[_Iterable[_Union[PublicBookTickerV3Api, _Mapping]]] = ..., version: _Optional[str] = ..., lastOrderCreateTime: _Optional[int] = ...) -> None: ...

class PublicDealsV3ApiItem(_message.Message):
    __slots__ = ("price", "quantity", "tradeType", "time")
    PRICE_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    TRADETYPE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    price: str
    quantity: str
    tradeType: int
    time: int
    def __init__(self, price: _Optional[str] = ..., quantity: _Optional[str] = ..., tradeType: _Optional[int] = ..., time: _Optional[int] = ...) -> None: ...

class PublicDealsV3Api(_message.Message):
    __slots__ = ("deals", "eventType")
    DEALS_FIELD_NUMBER: _ClassVar[int]
    EVENTTYPE_FIELD_NUMBER: _ClassVar[int]
    deals: _containers.RepeatedCompositeFieldContainer[PublicDealsV3ApiItem]
    eventType: str
    def __init__(self, deals: _Optional[_Iterable[_Union[PublicDealsV3ApiItem, _Mapping]]] = ..., eventType: _Optional[str] = ...) -> None: ...

class PublicIncreaseDepthV3ApiItem(_message.Message):
    __slots__ = ("price", "quantity")
    PRICE_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    price: str
    quantity: str
    def __init__(self, price: _Optional[str] = ..., quantity: _Optional[str] = ...) -> None: ...

class PublicIncreaseDepthsV3Api(_message.Message):
    __slots__ = ("asks", "bids", "eventType", "version")
    ASKS_FIELD_NUMBER: _ClassVar[int]
    BIDS_FIELD_NUMBER: _ClassVar[int]
    EVENTTYPE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    asks: _containers.RepeatedCompositeFieldContainer[PublicIncreaseDepthV3ApiItem]
    bids: _containers.RepeatedCompositeFieldContainer[PublicIncreaseDepthV3ApiItem]
    eventType: str
    version: str
    def __init__(self, asks: _Optional[_Iterable[_Union[PublicIncreaseDepthV3ApiItem, _Mapping]]] = ..., bids: _Optional[_Iterable[_Union[PublicIncreaseDepthV3ApiItem, _Mapping]]] = ..., eventType: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class PublicIncreaseDepthsBatchV3Api(_message.Message):
    __slots__ = ("items", "eventType")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    EVENTTYPE_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[PublicIncreaseDepthsV3Api]
    eventType: str
    def __init__(self, items: _Optional[_Iterable[_Union[PublicIncreaseDepthsV3Api, _Mapping]]] = ..., eventType: _Optional[str] = ...) -> None: ...

class PublicLimitDepthV3ApiItem(_message.Message):
    __slots__ = ("price", "quantity")
    PRICE_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    price: str
    quantity: str
    def __init__(self, price: _Optional[str] = ..., quantity: _Optional[str] = ...) -> None: ...

class PublicLimitDepthsV3Api(_message.Message):
    __slots__ = ("asks", "bids", "eventType", "version", "lastOrderCreateTime")
    ASKS_FIELD_NUMBER: _ClassVar[int]
    BIDS_FIELD_NUMBER: _ClassVar[int]
    EVENTTYPE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LASTORDERCREATETIME_FIELD_NUMBER: _ClassVar[int]
    asks: _containers.RepeatedCompositeFieldContainer[PublicLimitDepthV3ApiItem]
    bids: _containers.RepeatedCompositeFieldContainer[PublicLimitDepthV3ApiItem]
    eventType: str
    version: str
    lastOrderCreateTime: int
    def __init__(self, asks: _Optional[_Iterable[_Union[PublicLimitDepthV3ApiItem, _Mapping]]] = ..., bids: _Optional[_Iterable[_Union[PublicLimitDepthV3ApiItem, _Mapping]]] = ..., eventType: _Optional[str] = ..., version: _Optional[str] = ..., lastOrderCreateTime: _Optional[int] = ...) -> None: ...

class PublicMiniTickerV3Api(_message.Message):
    __slots__ = ("symbol", "price", "rate", "zonedRate", "high", "low", "volume", "quantity", "lastCloseRate", "lastCloseZonedRate", "lastCloseHigh", "lastCloseLow")
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    ZONEDRATE_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    VOLUME_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    LASTCLOSERATE_FIELD_NUMBER: _ClassVar[int]
    LASTCLOSEZONEDRATE_FIELD_NUMBER: _ClassVar[int]
    LASTCLOSEHIGH_FIELD_NUMBER: _ClassVar[int]
    LASTCLOSELOW_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    price: str
    rate: str
    zonedRate: str
    high: str
    low: str
    volume: str
    quantity: str
    lastCloseRate: str
    lastCloseZonedRate: str
    lastCloseHigh: str
    lastCloseLow: str
    def __init__(self, symbol: _Optional[str] = ..., price: _Optional[str] = ..., rate: _Optional[str] = ..., zonedRate: _Optional[str] = ..., high: _Optional[str] = ..., low: _Optional[str] = ..., volume: _Optional[str] = ..., quantity: _Optional[str] = ..., lastCloseRate: _Optional[str] = ..., lastCloseZonedRate: _Optional[str] = ..., lastCloseHigh: _Optional[str] = ..., lastCloseLow: _Optional[str] = ...) -> None: ...

class PublicMiniTickersV3Api(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[PublicMiniTickerV3Api]
    def __init__(self, items: _Optional[_Iterable[_Union[PublicMiniTickerV3Api, _Mapping]]] = ...) -> None: ...

class PublicSpotKlineV3Api(_message.Message):
    __slots__ = ("interval", "windowStart", "openingPrice", "closingPrice", "highestPrice", "lowestPrice", "volume", "amount", "windowEnd")
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    WINDOWSTART_FIELD_NUMBER: _ClassVar[int]
    OPENINGPRICE_FIELD_NUMBER: _ClassVar[int]
    CLOSINGPRICE_FIELD_NUMBER: _ClassVar[int]
    HIGHESTPRICE_FIELD_NUMBER: _ClassVar[int]
    LOWESTPRICE_FIELD_NUMBER: _ClassVar[int]
    VOLUME_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    WINDOWEND_FIELD_NUMBER: _ClassVar[int]
    interval: str
    windowStart: int
    openingPrice: str
    closingPrice: str
    highestPrice: str
    lowestPrice: str
    volume: str
    amount: str
    windowEnd: int
    def __init__(self, interval: _Optional[str] = ..., windowStart: _Optional[int] = ..., openingPrice: _Optional[str] = ..., closingPrice: _Optional[str] = ..., highestPrice: _Optional[str] = ..., lowestPrice: _Optional[str] = ..., volume: _Optional[str] = ..., amount: _Optional[str] = ..., windowEnd: _Optional[int] = ...) -> None: ...

class PrivateAccountV3Api(_message.Message):
    __slots__ = ("vcoinName", "coinId", "balanceAmount", "balanceAmountChange", "frozenAmount", "frozenAmountChange", "type", "time")
    VCOINNAME_FIELD_NUMBER: _ClassVar[int]
    COINID_FIELD_NUMBER: _ClassVar[int]
    BALANCEAMOUNT_FIELD_NUMBER: _ClassVar[int]
    BALANCEAMOUNTCHANGE_FIELD_NUMBER: _ClassVar[int]
    FROZENAMOUNT_FIELD_NUMBER: _ClassVar[int]
    FROZENAMOUNTCHANGE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    vcoinName: str
    coinId: str
    balanceAmount: str
    balanceAmountChange: str
    frozenAmount: str
    frozenAmountChange: str
    type: str
    time: int
    def __init__(self, vcoinName: _Optional[str] = ..., coinId: _Optional[str] = ..., balanceAmount: _Optional[str] = ..., balanceAmountChange: _Optional[str] = ..., frozenAmount: _Optional[str] = ..., frozenAmountChange: _Optional[str] = ..., type: _Optional[str] = ..., time: _Optional[int] = ...) -> None: ...

class PrivateDealsV3Api(_message.Message):
    __slots__ = ("price", "quantity", "amount", "tradeType", "isMaker", "isSelfTrade", "tradeId", "clientOrderId", "orderId", "feeAmount", "feeCurrency", "time")
    PRICE_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    TRADETYPE_FIELD_NUMBER: _ClassVar[int]
    ISMAKER_FIELD_NUMBER: _ClassVar[int]
    ISSELFTRADE_FIELD_NUMBER: _ClassVar[int]
    TRADEID_FIELD_NUMBER: _ClassVar[int]
    CLIENTORDERID_FIELD_NUMBER: _ClassVar[int]
    ORDERID_FIELD_NUMBER: _ClassVar[int]
    FEEAMOUNT_FIELD_NUMBER: _ClassVar[int]
    FEECURRENCY_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    price: str
    quantity: str
    amount: str
    tradeType: int
    isMaker: bool
    isSelfTrade: bool
    tradeId: str
    clientOrderId: str
    orderId: str
    feeAmount: str
    feeCurrency: str
    time: int
    def __init__(self, price: _Optional[str] = ..., quantity: _Optional[str] = ..., amount: _Optional[str] = ..., tradeType: _Optional[int] = ..., isMaker: _Optional[bool] = ..., isSelfTrade: _Optional[bool] = ..., tradeId: _Optional[str] = ..., clientOrderId: _Optional[str] = ..., orderId: _Optional[str] = ..., feeAmount: _Optional[str] = ..., feeCurrency: _Optional[str] = ..., time: _Optional[int] = ...) -> None: ...

class PrivateOrdersV3Api(_message.Message):
    __slots__ = ("id", "clientId", "price", "quantity", "amount", "avgPrice", "orderType", "tradeType", "isMaker", "remainAmount", "remainQuantity", "lastDealQuantity", "cumulativeQuantity", "cumulativeAmount", "status", "createTime", "market", "triggerType", "triggerPrice", "state", "ocoId", "routeFactor", "symbolId", "marketId", "marketCurrencyId", "currencyId")
    ID_FIELD_NUMBER: _ClassVar[int]
    CLIENTID_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    AVGPRICE_FIELD_NUMBER: _ClassVar[int]
    ORDERTYPE_FIELD_NUMBER: _ClassVar[int]
    TRADETYPE_FIELD_NUMBER: _ClassVar[int]
    ISMAKER_FIELD_NUMBER: _ClassVar[int]
    REMAINAMOUNT_FIELD_NUMBER: _ClassVar[int]
    REMAINQUANTITY_FIELD_NUMBER: _ClassVar[int]
    LASTDEALQUANTITY_FIELD_NUMBER: _ClassVar[int]
    CUMULATIVEQUANTITY_FIELD_NUMBER: _ClassVar[int]
    CUMULATIVEAMOUNT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CREATETIME_FIELD_NUMBER: _ClassVar[int]
    MARKET_FIELD_NUMBER: _ClassVar[int]
    TRIGGERTYPE_FIELD_NUMBER: _ClassVar[int]
    TRIGGERPRICE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OCOID_FIELD_NUMBER: _ClassVar[int]
    ROUTEFACTOR_FIELD_NUMBER: _ClassVar[int]
    SYMBOLID_FIELD_NUMBER: _ClassVar[int]
    MARKETID_FIELD_NUMBER: _ClassVar[int]
    MARKETCURRENCYID_FIELD_NUMBER: _ClassVar[int]
    CURRENCYID_FIELD_NUMBER: _ClassVar[int]
    id: str
    clientId: str
    price: str
    quantity: str
    amount: str
    avgPrice: str
    orderType: int
    tradeType: int
    isMaker: bool
    remainAmount: str
    remainQuantity: str
    lastDealQuantity: str
    cumulativeQuantity: str
    cumulativeAmount: str
    status: int
    createTime: int
    market: str
    triggerType: int
    triggerPrice: str
    state: int
    ocoId: str
    routeFactor: str
    symbolId: str
    marketId: str
    marketCurrencyId: str
    currencyId: str
    def __init__(self, id: _Optional[str] = ..., clientId: _Optional[str] = ..., price: _Optional[str] = ..., quantity: _Optional[str] = ..., amount: _Optional[str] = ..., avgPrice: _Optional[str] = ..., orderType: _Optional[int] = ..., tradeType: _Optional[int] = ..., isMaker: _Optional[bool] = ..., remainAmount: _Optional[str] = ..., remainQuantity: _Optional[str] = ..., lastDealQuantity: _Optional[str] = ..., cumulativeQuantity: _Optional[str] = ..., cumulativeAmount: _Optional[str] = ..., status: _Optional[int] = ..., createTime: _Optional[int] = ..., market: _Optional[str] = ..., triggerType: _Optional[int] = ..., triggerPrice: _Optional[str] = ..., state: _Optional[int] = ..., ocoId: _Optional[str] = ..., routeFactor: _Optional[str] = ..., symbolId: _Optional[str] = ..., marketId: _Optional[str] = ..., marketCurrencyId: _Optional[str] = ..., currencyId: _Optional[str] = ...) -> None: ...

class PushDataV3ApiWrapper(_message.Message):
    __slots__ = ("channel", "symbol", "symbolId", "createTime", "sendTime", "publicDeals", "publicIncreaseDepths", "publicLimitDepths", "privateOrders", "publicBookTicker", "privateDeals", "privateAccount", "publicSpotKline", "publicMiniTicker", "publicMiniTickers", "publicBookTickerBatch", "publicIncreaseDepthsBatch", "publicAggreDepths", "publicAggreDeals", "publicAggreBookTicker")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    SYMBOLID_FIELD_NUMBER: _ClassVar[int]
    CREATETIME_FIELD_NUMBER: _ClassVar[int]
    SENDTIME_FIELD_NUMBER: _ClassVar[int]
    PUBLICDEALS_FIELD_NUMBER: _ClassVar[int]
    PUBLICINCREASEDEPTHS_FIELD_NUMBER: _ClassVar[int]
    PUBLICLIMITDEPTHS_FIELD_NUMBER: _ClassVar[int]
    PRIVATEORDERS_FIELD_NUMBER: _ClassVar[int]
    PUBLICBOOKTICKER_FIELD_NUMBER: _ClassVar[int]
    PRIVATEDEALS_FIELD_NUMBER: _ClassVar[int]
    PRIVATEACCOUNT_FIELD_NUMBER: _ClassVar[int]
    PUBLICSPOTKLINE_FIELD_NUMBER: _ClassVar[int]
    PUBLICMINITICKER_FIELD_NUMBER: _ClassVar[int]
    PUBLICMINITICKERS_FIELD_NUMBER: _ClassVar[int]
    PUBLICBOOKTICKERBATCH_FIELD_NUMBER: _ClassVar[int]
    PUBLICINCREASEDEPTHSBATCH_FIELD_NUMBER: _ClassVar[int]
    PUBLICAGGREDEPTHS_FIELD_NUMBER: _ClassVar[int]
    PUBLICAGGREDEALS_FIELD_NUMBER: _ClassVar[int]
    PUBLICAGGREBOOKTICKER_FIELD_NUMBER: _ClassVar[int]
    channel: str
    symbol: str
    symbolId: str
    createTime: int
    sendTime: int
    publicDeals: PublicDealsV3Api
    publicIncreaseDepths: PublicIncreaseDepthsV3Api
    publicLimitDepths: PublicLimitDepthsV3Api
    privateOrders: PrivateOrdersV3Api
    publicBookTicker: PublicBookTickerV3Api
    privateDeals: PrivateDealsV3Api
    privateAccount: PrivateAccountV3Api
    publicSpotKline: PublicSpotKlineV3Api
    publicMiniTicker: PublicMiniTickerV3Api
    publicMiniTickers: PublicMiniTickersV3Api
    publicBookTickerBatch: PublicBookTickerBatchV3Api
    publicIncreaseDepthsBatch: PublicIncreaseDepthsBatchV3Api
    publicAggreDepths: PublicAggreDepthsV3Api
    publicAggreDeals: PublicAggreDealsV3Api
    publicAggreBookTicker: PublicAggreBookTickerV3Api
    def __init__(self, channel: _Optional[str] = ..., symbol: _Optional[str] = ..., symbolId: _Optional[str] = ..., createTime: _Optional[int] = ..., sendTime: _Optional[int] = ..., publicDeals: _Optional[_Union[PublicDealsV3Api, _Mapping]] = ..., publicIncreaseDepths: _Optional[_Union[PublicIncreaseDepthsV3Api, _Mapping]] = ..., publicLimitDepths: _Optional[_Union[PublicLimitDepthsV3Api, _Mapping]] = ..., privateOrders: _Optional[_Union[PrivateOrdersV3Api, _Mapping]] = ..., publicBookTicker: _Optional[_Union[PublicBookTickerV3Api, _Mapping]] = ..., privateDeals: _Optional[_Union[PrivateDealsV3Api, _Mapping]] = ..., privateAccount: _Optional[_Union[PrivateAccountV3Api, _Mapping]] = ..., publicSpotKline: _Optional[_Union[PublicSpotKlineV3Api, _Mapping]] = ..., publicMiniTicker: _Optional[_Union[PublicMiniTickerV3Api, _Mapping]] = ..., publicMiniTickers: _Optional[_Union[PublicMiniTickersV3Api, _Mapping]] = ..., publicBookTickerBatch: _Optional[_Union[PublicBookTickerBatchV3Api, _Mapping]] = ..., publicIncreaseDepthsBatch: _Optional[_Union[PublicIncreaseDepthsBatchV3Api, _Mapping]] = ..., publicAggreDepths: _Optional[_Union[PublicAggreDepthsV3Api, _Mapping]] = ..., publicAggreDeals: _Optional[_Union[PublicAggreDealsV3Api, _Mapping]] = ..., publicAggreBookTicker: _Optional[_Union[PublicAggreBookTickerV3Api, _Mapping]] = ...) -> None: ...
