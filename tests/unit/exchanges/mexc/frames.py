"""Frames of MEXC, made here: the documented shapes with numbers of our own."""

from collections.abc import Sequence

from msgspec import json

from shared.envelope import Frame
from shared.exchanges.mexc.push_pb2 import (
    PublicAggreBookTickerV3Api,
    PublicAggreDealsV3Api,
    PublicAggreDealsV3ApiItem,
    PublicAggreDepthsV3Api,
    PublicAggreDepthV3ApiItem,
    PublicSpotKlineV3Api,
    PushDataV3ApiWrapper,
)
from shared.instruments import Instrument, InstrumentKind
from tests.contract.driving import rest

__all__ = [
    "CONTRACTS",
    "SENT",
    "SPOTS",
    "contract",
    "contract_depth",
    "contract_seed",
    "deal",
    "deals",
    "depth",
    "futures",
    "futures_url",
    "kline",
    "quote",
    "seed",
    "spot",
    "spot_url",
]

SENT = 1_790_000_000_123
"""When the venue sends its frames (ms)."""

Levels = Sequence[tuple[str, str]]


def spot(native_symbol: str) -> Instrument:
    """A pair against USDT or USDC."""
    base, quoted = native_symbol[:-4], native_symbol[-4:]
    return Instrument("mexc", "spot", f"{base}/{quoted}", native_symbol, base, quoted, None, InstrumentKind.SPOT)


def contract(native_symbol: str, contract_size: str) -> Instrument:
    """A perpetual; against USD it is inverse."""
    base, quoted = native_symbol.split("_")
    settle = base if quoted == "USD" else quoted
    return Instrument(
        "mexc",
        "futures",
        f"{base}/{quoted}:{settle}",
        native_symbol,
        base,
        quoted,
        settle,
        InstrumentKind.PERPETUAL,
        contract_size,
        inverse=settle == base,
    )


SPOTS = (spot("BTCUSDT"), spot("月光USDT"), spot("SOLUSDC"))
CONTRACTS = (contract("BTC_USDT", "0.0001"), contract("BTC_USD", "100"), contract("XRP_USDT", "1"))


# --- Spot -------------------------------------------------------------------------------------------------------------


def spot_channel(kind: str, native_symbol: str) -> str:
    return f"spot@public.{kind}.v3.api.pb@100ms@{native_symbol}"


def deal(
    trade_id: str = "", *, price: str = "84000.15", size: str = "0.0125", side: int = 1
) -> PublicAggreDealsV3ApiItem:
    """One trade; ``side`` 1 buys."""
    return PublicAggreDealsV3ApiItem(price=price, quantity=size, tradeType=side, time=SENT - 7, tradeId=trade_id)


def deals(*items: PublicAggreDealsV3ApiItem, symbol: str = "BTCUSDT") -> bytes:
    """A frame of trades."""
    body = PublicAggreDealsV3Api(deals=items, eventType="spot@public.aggre.deals.v3.api.pb@100ms")
    wrapper = PushDataV3ApiWrapper(
        channel=spot_channel("aggre.deals", symbol), symbol=symbol, sendTime=SENT, publicAggreDeals=body
    )
    return wrapper.SerializeToString()


def quote(bid: tuple[str, str], ask: tuple[str, str], *, symbol: str = "BTCUSDT", version: str = "77001") -> bytes:
    """A quote; a side of empty texts is left out on the wire."""
    body = PublicAggreBookTickerV3Api(
        bidPrice=bid[0], bidQuantity=bid[1], askPrice=ask[0], askQuantity=ask[1], version=version
    )
    wrapper = PushDataV3ApiWrapper(
        channel=spot_channel("aggre.bookTicker", symbol), symbol=symbol, sendTime=SENT, publicAggreBookTicker=body
    )
    return wrapper.SerializeToString()


def depth(first: int | str, last: int | str, bids: Levels = (), asks: Levels = (), *, symbol: str = "BTCUSDT") -> bytes:
    """A book update that covers the versions ``first`` to ``last``."""
    body = PublicAggreDepthsV3Api(
        asks=[PublicAggreDepthV3ApiItem(price=price, quantity=size) for price, size in asks],
        bids=[PublicAggreDepthV3ApiItem(price=price, quantity=size) for price, size in bids],
        eventType="spot@public.aggre.depth.v3.api.pb@100ms",
        fromVersion=str(first),
        toVersion=str(last),
    )
    wrapper = PushDataV3ApiWrapper(
        channel=spot_channel("aggre.depth", symbol), symbol=symbol, sendTime=SENT, publicAggreDepths=body
    )
    return wrapper.SerializeToString()


def kline(interval: str = "Min1", start: int = 1_790_000_000 // 60 * 60, **fields: str) -> bytes:
    """A candle that opened at ``start`` (s)."""
    values = {
        "openingPrice": "84000.1",
        "closingPrice": "84010",
        "highestPrice": "84020.55",
        "lowestPrice": "83990",
        "volume": "12.03125",
        "amount": "1010700.25",
    } | fields
    body = PublicSpotKlineV3Api(interval=interval, windowStart=start, windowEnd=start + 60, **values)
    wrapper = PushDataV3ApiWrapper(
        channel=f"spot@public.kline.v3.api.pb@BTCUSDT@{interval}",
        symbol="BTCUSDT",
        symbolId="00ff",
        createTime=SENT,
        publicSpotKline=body,
    )
    return wrapper.SerializeToString()


def spot_url(symbol: str = "BTCUSDT") -> str:
    return f"https://api.mexc.com/api/v3/depth?symbol={symbol}&limit=1000"


def seed(version: int, bids: Levels, asks: Levels, *, symbol: str = "BTCUSDT") -> Frame:
    """The REST book at a version."""
    body = {"lastUpdateId": version, "bids": bids, "asks": asks, "timestamp": SENT}
    return rest(spot_url(symbol), json.encode(body))


# --- Futures ----------------------------------------------------------------------------------------------------------


def futures(channel: str, data: str, symbol: str | None = "BTC_USDT") -> bytes:
    """A frame with the keys in the order in which the venue mostly has them; ``data`` is JSON text."""
    named = "" if symbol is None else f'"symbol":"{symbol}",'
    return f'{{{named}"data":{data},"channel":"{channel}","ts":{SENT}}}'.encode()


def side(levels: Levels) -> str:
    return "[" + ",".join(f"[{price},{size},{1 if size != '0' else 0}]" for price, size in levels) + "]"


def contract_depth(
    first: int, last: int, bids: Levels = (), asks: Levels = (), *, symbol: str = "BTC_USDT", merged: bool = True
) -> bytes:
    """A book update; unmerged ones have a version and no range."""
    numbers = f'"end":{last},"begin":{first},"version":{last}' if merged else f'"version":{last}'
    return futures("push.depth", f'{{"asks":{side(asks)},"bids":{side(bids)},{numbers}}}', symbol)


def futures_url(symbol: str = "BTC_USDT") -> str:
    return f"https://api.mexc.com/api/v1/contract/depth/{symbol}?limit=1000"


def contract_seed(version: int, bids: Levels, asks: Levels, *, symbol: str = "BTC_USDT") -> Frame:
    """The REST book at a version."""
    data = f'{{"asks":{side(asks)},"bids":{side(bids)},"version":{version},"timestamp":{SENT}}}'
    return rest(futures_url(symbol), f'{{"success":true,"code":0,"data":{data}}}'.encode())
