"""MEXC spot (protobuf) and futures (JSON): frames in the observed shape."""

from typing import Final

from msgspec import json

from services.bench.case import Case
from services.bench.market import Asset
from services.bench.venues import mexc_floor as floor
from shared.envelope import RestReply
from shared.exchanges.mexc.push_pb2 import (
    PublicAggreBookTickerV3Api,
    PublicAggreDealsV3Api,
    PublicAggreDealsV3ApiItem,
    PublicAggreDepthsV3Api,
    PublicAggreDepthV3ApiItem,
    PublicMiniTickerV3Api,
    PushDataV3ApiWrapper,
)

__all__ = ["CASES"]


def _spot(asset: Asset, kind: str, **body: object) -> bytes:
    channel = f"spot@public.{kind}.v3.api.pb@10ms@{asset.native}"
    wrapper = PushDataV3ApiWrapper(channel=channel, symbol=asset.native, sendTime=asset.ms, **body)  # type: ignore[arg-type]
    return wrapper.SerializeToString()


def _spot_trade(asset: Asset) -> bytes:
    deals = []
    for _ in range(asset.random.choice((1, 1, 1, 2, 3))):
        asset.step()
        trade_id = f"{asset.random.randrange(10**17, 10**18)}X{asset.random.randrange(10**17, 10**18)}"
        side = asset.random.choice((1, 2))
        deals.append(
            PublicAggreDealsV3ApiItem(
                price=asset.price(), quantity=asset.size(), tradeType=side, time=asset.ms - 7, tradeId=trade_id
            )
        )
    body = PublicAggreDealsV3Api(deals=deals, eventType="spot@public.aggre.deals.v3.api.pb@10ms")
    return _spot(asset, "aggre.deals", publicAggreDeals=body)


def _next(asset: Asset) -> int:
    asset.step()
    asset.sequence += 1
    return asset.sequence


def _spot_quote(asset: Asset) -> bytes:
    body = PublicAggreBookTickerV3Api(
        version=str(_next(asset)),
        bidPrice=asset.price(),
        bidQuantity=asset.size(),
        askPrice=asset.price(1),
        askQuantity=asset.size(),
    )
    return _spot(asset, "aggre.bookTicker", publicAggreBookTicker=body)


def _spot_depth(asset: Asset) -> bytes:
    first = _next(asset)
    asset.sequence += asset.random.randrange(20)
    body = PublicAggreDepthsV3Api(
        bids=[PublicAggreDepthV3ApiItem(price=price, quantity=size) for price, size in asset.levels(-1, 15)],
        asks=[PublicAggreDepthV3ApiItem(price=price, quantity=size) for price, size in asset.levels(1, 15)],
        eventType="spot@public.aggre.depth.v3.api.pb@100ms",
        fromVersion=str(first),
        toVersion=str(asset.sequence),
    )
    return _spot(asset, "aggre.depth", publicAggreDepths=body)


def _spot_seed(frame: bytes) -> RestReply:
    push = PushDataV3ApiWrapper.FromString(frame)
    version = int(push.publicAggreDepths.fromVersion) - 1
    body = {"lastUpdateId": version, "bids": [["1", "1"]], "asks": [["1000000", "1"]]}
    return RestReply(f"https://bench.invalid/api/v3/depth?symbol={push.symbol}", 200, json.encode(body))


def _spot_ticker(asset: Asset) -> bytes:
    _next(asset)
    body = PublicMiniTickerV3Api(
        symbol=asset.native,
        price=asset.price(),
        rate="0.0121",
        zonedRate="0.0119",
        high=asset.price(700),
        low=asset.price(-1_200),
        volume=asset.fixed(asset.ms % 10**12, 4),
        quantity=asset.fixed(asset.ms % 10**9, 3),
    )
    return _spot(asset, "miniTicker", publicMiniTicker=body)


def _futures(asset: Asset, channel: str, data: str) -> bytes:
    return f'{{"symbol":"{asset.native}","data":{data},"channel":"{channel}","ts":{asset.ms}}}'.encode()


def _futures_trade(asset: Asset) -> bytes:
    deals = []
    for _ in range(asset.random.choice((1, 1, 1, 2, 3))):
        number, side = _next(asset), asset.random.choice((1, 2))
        head = f'"p":{asset.price()},"v":{asset.contracts()},"T":{side},"O":3,"M":1,"t":{asset.ms - 4}'
        deals.append(f'{{{head},"i":"{number}"}}')
    return _futures(asset, "push.deal", f"[{','.join(deals)}]")


def _side(asset: Asset, levels: list[tuple[str, str]]) -> str:
    """Levels with whole contracts, 0 where a level goes."""
    texts = [f"[{price},{size if size == '0' else asset.contracts()},1]" for price, size in levels]
    return f"[{','.join(texts)}]"


def _futures_quote(asset: Asset) -> bytes:
    number = _next(asset)
    asks, bids = ([(asset.price(sign * n), "") for n in range(1, 6)] for sign in (1, -1))
    data = f'{{"asks":{_side(asset, asks)},"bids":{_side(asset, bids)},"version":{number}}}'
    return _futures(asset, "push.depth.full", data)


def _futures_depth(asset: Asset) -> bytes:
    first = _next(asset)
    asset.sequence += asset.random.randrange(5)
    sides = f'"asks":{_side(asset, asset.levels(1, 8))},"bids":{_side(asset, asset.levels(-1, 8))}'
    ids = f'"end":{asset.sequence},"begin":{first},"version":{asset.sequence}'
    return _futures(asset, "push.depth", f"{{{sides},{ids}}}")


def _futures_seed(frame: bytes) -> RestReply:
    push = json.decode(frame)
    book = {"asks": [[1_000_000, 1, 1]], "bids": [[1, 1, 1]], "version": push["data"]["begin"] - 1}
    body = json.encode({"success": True, "code": 0, "data": book})
    return RestReply(f"https://bench.invalid/api/v1/contract/depth/{push['symbol']}", 200, body)


def _futures_ticker(asset: Asset) -> bytes:
    number = _next(asset)
    data = f'"symbol":"{asset.native}","lastPrice":{asset.price()},"riseFallRate":0.0121,"fairPrice":{asset.price(1)}'
    data += f',"indexPrice":{asset.price(3)},"volume24":{number},"amount24":{asset.fixed(asset.ms % 10**12, 4)}'
    data += f',"maxBidPrice":1,"minAskPrice":1,"lower24Price":{asset.price(-1_200)},"high24Price":{asset.price(700)}'
    data += f',"timestamp":{asset.ms},"bid1":{asset.price()},"ask1":{asset.price(1)},"holdVol":{number % 10**7}'
    return _futures(asset, "push.ticker", f'{{{data},"riseFallValue":12.3,"fundingRate":0.0001,"contractId":10}}')


CASES: Final = (
    Case("mexc", "spot", "trade", _spot_trade, floor.spot_trade),
    Case("mexc", "spot", "quote", _spot_quote, floor.spot_quote),
    Case("mexc", "spot", "ticker", _spot_ticker, floor.spot_ticker),
    Case("mexc", "spot", "book_delta", _spot_depth, floor.spot_book, seed=_spot_seed),
    Case("mexc", "futures", "trade", _futures_trade, floor.futures_trade),
    Case("mexc", "futures", "quote", _futures_quote, floor.futures_quote),
    Case("mexc", "futures", "ticker", _futures_ticker, floor.futures_ticker),
    Case("mexc", "futures", "book_delta", _futures_depth, floor.futures_book, seed=_futures_seed),
)
