"""Futures: JSON frames ``{"channel", "symbol", "data", "ts"}`` in any key order. Only the fields used are named here.

Numbers are JSON numbers, sometimes in exponent form. They stay undecoded here: their text is what counts
(``wire.text``). Sizes are contracts.
"""

from typing import Annotated, Final

from msgspec import Meta, Raw, Struct, field
from msgspec.json import Decoder

__all__ = [
    "Contract",
    "ContractList",
    "Deal",
    "Deals",
    "Depth",
    "DepthReply",
    "FundingRate",
    "Kline",
    "Level",
    "Price",
    "Push",
    "Ticker",
    "anything",
    "contract",
    "contract_list",
    "deal",
    "deals",
    "depth",
    "depth_reply",
    "funding_rate",
    "kline",
    "levels",
    "price",
    "push",
    "raws",
    "ticker",
    "tickers",
]

ABSENT: Final = Raw()
AT_LEAST_ONE: Final = Meta(min_length=1)
"""A frame without anything in it is a mistake that must not pass in silence."""
Identity = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Push(Struct, gc=False, frozen=True):
    """Any frame; ``data`` undecoded. Answers may carry ``ts`` as text."""

    channel: str
    data: Raw
    symbol: str | None = None
    ts: int | str | None = None


class Deal(Struct, gc=False, frozen=True):
    """``push.deal``: one trade. ``T`` is the taker's side (1 buys, 2 sells), ``t`` ms, ``i`` absent before 2025."""

    price: Raw = field(name="p")
    contracts: Raw = field(name="v")
    taker: int = field(name="T", default=0)
    time: int | None = field(name="t", default=None)
    trade_id: str | int | None = field(name="i", default=None)


Deals = Annotated[list[Deal], AT_LEAST_ONE]


class Level(Struct, gc=False, frozen=True, array_like=True):
    """``[price, contracts, orders]``; 0 contracts delete."""

    price: Raw
    contracts: Raw


class Depth(Struct, gc=False, frozen=True):
    """``push.depth`` (merged: covers the versions ``begin`` to ``end``), ``push.depth.full`` and the REST book."""

    asks: Raw  # a list of Level, as are bids
    bids: Raw
    version: Identity
    begin: Identity | None = None
    end: Identity | None = None
    timestamp: int | None = None


class DepthReply(Struct, gc=False, frozen=True):
    """``GET /api/v1/contract/depth/{symbol}``."""

    data: Depth


class Ticker(Struct, gc=False, frozen=True):
    """``push.ticker`` and the elements of ``push.tickers``, which name fewer fields.

    ``volume24`` and ``holdVol`` are contracts, ``amount24`` quote coin (base coin of an inverse contract).
    """

    last: Raw = field(name="lastPrice")
    symbol: str | None = None
    bid: Raw = field(name="bid1", default=ABSENT)
    ask: Raw = field(name="ask1", default=ABSENT)
    high: Raw = field(name="high24Price", default=ABSENT)
    low: Raw = field(name="lower24Price", default=ABSENT)
    contracts: Raw = field(name="volume24", default=ABSENT)
    amount: Raw = field(name="amount24", default=ABSENT)
    held: Raw = field(name="holdVol", default=ABSENT)
    fair: Raw = field(name="fairPrice", default=ABSENT)
    index: Raw = field(name="indexPrice", default=ABSENT)
    funding: Raw = field(name="fundingRate", default=ABSENT)
    timestamp: int | None = None


class FundingRate(Struct, gc=False, frozen=True):
    """``push.funding.rate``; ``nextSettleTime`` in ms, absent in old frames."""

    rate: Raw
    symbol: str | None = None
    next_settle: int | None = field(name="nextSettleTime", default=None)


class Price(Struct, gc=False, frozen=True):
    """``push.fair.price`` and ``push.index.price``."""

    price: Raw
    symbol: str | None = None


class Kline(Struct, gc=False, frozen=True):
    """``push.kline``; ``t`` in **seconds**. Four values ``r*`` come too, documented nowhere and left alone."""

    interval: str
    start: int = field(name="t")
    open: Raw = field(name="o")
    high: Raw = field(name="h")
    low: Raw = field(name="l")
    close: Raw = field(name="c")
    amount: Raw = field(name="a", default=ABSENT)
    contracts: Raw = field(name="q", default=ABSENT)
    symbol: str | None = None


class Contract(Struct, gc=False, frozen=True, rename="camel"):
    """One entry of ``GET /api/v1/contract/detail``, and ``push.contract``."""

    symbol: str
    base_coin: str
    quote_coin: str
    settle_coin: str
    contract_size: Raw
    state: int
    price_unit: Raw = ABSENT
    vol_unit: Raw = ABSENT


class ContractList(Struct, gc=False, frozen=True):
    """``GET /api/v1/contract/detail``, its entries undecoded."""

    data: list[Raw]


push: Final = Decoder(Push).decode
anything: Final = Decoder().decode
raws: Final = Decoder(Annotated[list[Raw], AT_LEAST_ONE]).decode
levels: Final = Decoder(list[Level]).decode
deal: Final = Decoder(Deal).decode
deals: Final = Decoder(Deals).decode
depth: Final = Decoder(Depth).decode
depth_reply: Final = Decoder(DepthReply).decode
ticker: Final = Decoder(Ticker).decode
tickers: Final = Decoder(Annotated[list[Ticker], AT_LEAST_ONE]).decode
funding_rate: Final = Decoder(FundingRate).decode
price: Final = Decoder(Price).decode
kline: Final = Decoder(Kline).decode
contract: Final = Decoder(Contract).decode
contract_list: Final = Decoder(ContractList).decode
