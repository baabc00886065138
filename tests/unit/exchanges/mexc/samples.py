"""What the conformance tests know of MEXC."""

from shared.exchanges.base import Feed, Overflow
from shared.exchanges.mexc.push_pb2 import (
    PublicBookTickerBatchV3Api,
    PublicBookTickerV3Api,
    PublicLimitDepthsV3Api,
    PublicLimitDepthV3ApiItem,
    PublicMiniTickersV3Api,
    PublicMiniTickerV3Api,
    PushDataV3ApiWrapper,
)
from shared.instruments import Instrument
from tests.contract.driving import binary, text
from tests.contract.samples import BookScript, Path, Sample
from tests.unit.exchanges.mexc.frames import (
    CONTRACTS,
    SENT,
    SPOTS,
    contract_depth,
    contract_seed,
    deal,
    deals,
    depth,
    futures,
    futures_url,
    kline,
    quote,
    seed,
    spot_url,
)

__all__ = [
    "KLINE",
    "LISTED",
    "SAMPLES",
    "SCRIPTS",
    "TICKER",
    "UNKNOWN",
    "limit_depth",
    "mini_ticker",
    "mini_tickers",
    "quote_batch",
]

LISTED: dict[str, tuple[Instrument, ...]] = {"spot": SPOTS, "futures": CONTRACTS}

BIDS = (("84000.10", "0.41"), ("83999.95", "1.20000000"), ("83999.00", "0.005"))
ASKS = (("84000.15", "0.97"), ("84000.90", "2.5"), ("84003.00", "11"))
CONTRACT_BIDS = (("84000.1", "4100"), ("83999.9", "12000"), ("83999", "50"))
CONTRACT_ASKS = (("84000.2", "9700"), ("84000.9", "25000"), ("84003", "110000"))


def limit_depth() -> bytes:
    """The top of a book."""
    body = PublicLimitDepthsV3Api(
        asks=[PublicLimitDepthV3ApiItem(price=price, quantity=size) for price, size in ASKS],
        bids=[PublicLimitDepthV3ApiItem(price=price, quantity=size) for price, size in BIDS],
        eventType="spot@public.limit.depth.v3.api.pb",
        version="9001",
    )
    channel = "spot@public.limit.depth.v3.api.pb@SOLUSDC@5"
    return PushDataV3ApiWrapper(
        channel=channel, symbol="SOLUSDC", sendTime=SENT, publicLimitDepths=body
    ).SerializeToString()


def _statistics(symbol: str, price: str) -> PublicMiniTickerV3Api:
    return PublicMiniTickerV3Api(
        symbol=symbol,
        price=price,
        rate="-0.0123",
        high="84520.5",
        low="82090",
        volume="493500111.27",
        quantity="5912.1",
    )


def mini_ticker() -> bytes:
    """Statistics of one instrument."""
    return PushDataV3ApiWrapper(
        channel="spot@public.miniTicker.v3.api.pb@BTCUSDT@24H",
        symbol="BTCUSDT",
        sendTime=SENT,
        publicMiniTicker=_statistics("BTCUSDT", "84010.42"),
    ).SerializeToString()


def mini_tickers(*symbols: str) -> bytes:
    """Statistics of several instruments in one frame."""
    body = PublicMiniTickersV3Api(items=[_statistics(symbol, "84010.42") for symbol in symbols])
    return PushDataV3ApiWrapper(
        channel="spot@public.miniTickers.v3.api.pb@24H", sendTime=SENT, publicMiniTickers=body
    ).SerializeToString()


def quote_batch(*sides: tuple[str, str, str, str]) -> bytes:
    """Quotes of one instrument, one after the other."""
    items = [
        PublicBookTickerV3Api(bidPrice=bid, bidQuantity=bid_size, askPrice=ask, askQuantity=ask_size)
        for bid, bid_size, ask, ask_size in sides
    ]
    return PushDataV3ApiWrapper(
        channel="spot@public.bookTicker.batch.v3.api.pb@BTCUSDT",
        symbol="BTCUSDT",
        sendTime=SENT,
        publicBookTickerBatch=PublicBookTickerBatchV3Api(items=items),
    ).SerializeToString()


def _levels(body: str) -> tuple[Path, ...]:
    return tuple((body, name, 0, field) for name in ("bids", "asks") for field in ("price", "quantity"))


SPOT_SAMPLES = (
    Sample(
        "spot",
        "trades",
        deals(deal("71X0_72X0"), deal("71X0_73X0", side=2)),
        ("trade", "trade"),
        Feed.TRADE,
        "BTCUSDT",
        numbers=tuple(("publicAggreDeals", "deals", 0, field) for field in ("price", "quantity")),
        binary=True,
    ),
    Sample(
        "spot",
        "quote",
        quote(("84000.10", "0.41"), ("84000.15", "0.97")),
        ("quote",),
        Feed.QUOTE,
        "BTCUSDT",
        Overflow.CONFLATE,
        numbers=tuple(
            ("publicAggreBookTicker", field) for field in ("bidPrice", "bidQuantity", "askPrice", "askQuantity")
        ),
        binary=True,
    ),
    Sample(
        "spot",
        "quote-of-a-chinese-name",
        quote(("0.0031", "12000"), ("", ""), symbol="月光USDT"),
        ("quote",),
        Feed.QUOTE,
        "月光USDT",
        Overflow.CONFLATE,
        binary=True,
    ),
    Sample(
        "spot",
        "quote-batch",
        quote_batch(("84000", "1", "84001", "2"), ("84000", "1.5", "84001", "2")),
        ("quote", "quote"),
        Feed.QUOTE,
        "BTCUSDT",
        Overflow.CONFLATE,
        binary=True,
    ),
    Sample(
        "spot",
        "delta",
        depth(102, 104, [("83999.95", "0"), ("83998", "3")], [("84000.15", "0.5")]),
        ("book_delta",),
        Feed.BOOK,
        "BTCUSDT",
        Overflow.RESYNC,
        before=(seed(101, BIDS, ASKS),),
        numbers=_levels("publicAggreDepths"),
        binary=True,
    ),
    Sample(
        "spot",
        "top",
        limit_depth(),
        ("book_snapshot",),
        Feed.BOOK,
        "SOLUSDC",
        Overflow.CONFLATE,
        numbers=_levels("publicLimitDepths"),
        binary=True,
    ),
    Sample(
        "spot",
        "candle",
        kline(),
        ("candle",),
        Feed.CANDLE,
        "BTCUSDT",
        numbers=tuple(
            ("publicSpotKline", field)
            for field in ("openingPrice", "closingPrice", "highestPrice", "lowestPrice", "volume", "amount")
        ),
        binary=True,
    ),
    Sample(
        "spot",
        "ticker",
        mini_ticker(),
        ("ticker",),
        Feed.TICKER,
        "BTCUSDT",
        Overflow.CONFLATE,
        numbers=tuple(("publicMiniTicker", field) for field in ("price", "high", "low", "volume", "quantity")),
        binary=True,
    ),
    Sample(
        "spot",
        "tickers",
        mini_tickers("BTCUSDT", "SOLUSDC"),
        ("ticker", "ticker"),
        Feed.TICKER,
        None,
        Overflow.CONFLATE,
        binary=True,
    ),
    Sample(
        "spot",
        "seed",
        b'{"lastUpdateId":500,"bids":[["84000.10","0.41"]],"asks":[["84000.15","0.97"]],"timestamp":1790000000000}',
        ("book_snapshot",),
        None,
        None,
        numbers=(("bids", 0, 0), ("bids", 0, 1), ("asks", 0, 0), ("asks", 0, 1)),
        url=spot_url(),
    ),
)

TICKER = (
    '{"symbol":"%s","lastPrice":84010.4,"riseFallRate":-0.0123,"fairPrice":84008.2,"indexPrice":84009.7,'
    '"volume24":912345678,"amount24":766012345.6789,"maxBidPrice":92411,"minAskPrice":75608,"lower24Price":8.209E+4,'
    '"high24Price":84520.5,"timestamp":1790000000118,"bid1":84010.3,"ask1":84010.4,"holdVol":88123456,'
    '"riseFallValue":-1043.1,"fundingRate":-0.000037,"zone":"UTC+8","riseFallRates":[-0.0123,0.1]}'
)
TICKER_NUMBERS = ("lastPrice", "bid1", "ask1", "high24Price", "lower24Price", "volume24", "amount24", "holdVol")
KLINE = (
    '{"symbol":"%s","interval":"Min1","t":1789999980,"o":84000.1,"c":84010,"h":84020.5,"l":83990,'
    '"a":1010700.251,"q":120312,"ro":84000.1,"rc":84010,"rh":84020.5,"rl":83990}'
)
DEAL = (
    '[{"p":84000.2,"v":125,"T":1,"O":3,"M":2,"t":1790000000116,"i":"%s"},'
    '{"p":84000.1,"v":7,"T":2,"O":1,"M":2,"t":1790000000117}]'
)


def _everywhere(symbol: str) -> tuple[Sample, ...]:
    """Samples that every contract has."""
    bids, asks = CONTRACT_BIDS, CONTRACT_ASKS
    full = contract_depth(9, 9, bids[:1], asks[:1], symbol=symbol, merged=False).replace(
        b"push.depth", b"push.depth.full"
    )
    update = contract_depth(102, 104, [("83999.9", "0"), ("8.3998E+4", "30")], [("84000.2", "5000")], symbol=symbol)
    levels = tuple(("data", name, 0, column) for name in ("bids", "asks") for column in (0, 1))
    live = (contract_seed(101, bids, asks, symbol=symbol),)
    funding = futures(
        "push.funding.rate", f'{{"symbol":"{symbol}","rate":-2.1E-5,"nextSettleTime":1790006400000}}', symbol
    )
    fair = futures("push.fair.price", f'{{"symbol":"{symbol}","price":84008.2}}', symbol)
    index = futures("push.index.price", f'{{"symbol":"{symbol}","price":84009.7}}', symbol)
    ticker = futures("push.ticker", TICKER % symbol, symbol)
    shed, conflate, resync = Overflow.SHED, Overflow.CONFLATE, Overflow.RESYNC
    statistics = tuple(("data", name) for name in (*TICKER_NUMBERS, "fairPrice", "indexPrice", "fundingRate"))
    bars = tuple(("data", name) for name in "ohlcqa")
    price = (("data", "price"),)
    # So many contracts that a price of 2**60 leaves something of an inverse size.
    trades = futures("push.deal", (DEAL % "71002").replace('"v":125,', '"v":12500000,'), symbol)
    candle = futures("push.kline", KLINE % symbol, symbol)
    return tuple(
        Sample("futures", f"{name}-{symbol}", data, feeds, route, symbol, overflow, before, numbers)
        for name, data, feeds, route, overflow, before, numbers in (
            ("trades", trades, ("trade", "trade"), Feed.TRADE, shed, (), (("data", 0, "p"), ("data", 0, "v"))),
            ("quote", full, ("quote",), Feed.QUOTE, conflate, (), levels),
            ("delta", update, ("book_delta",), Feed.BOOK, resync, live, levels),
            ("ticker", ticker, ("ticker", "open_interest"), Feed.TICKER, conflate, (), statistics),
            ("funding", funding, ("funding",), Feed.FUNDING, conflate, (), (("data", "rate"),)),
            ("mark", fair, ("mark_price",), Feed.MARK_PRICE, conflate, (), price),
            ("index", index, ("mark_price",), Feed.MARK_PRICE, shed, (text(fair),), price),
            ("candle", candle, ("candle",), Feed.CANDLE, shed, (), bars),
        )
    )


FUTURES_SAMPLES = (
    *_everywhere("BTC_USDT"),
    *_everywhere("BTC_USD"),
    *_everywhere("XRP_USDT"),
    Sample(
        "futures",
        "trade-alone",
        futures("push.deal", '{"p":84000.2,"v":125,"T":2,"O":3,"M":2,"t":1790000000116}'),
        ("trade",),
        Feed.TRADE,
        "BTC_USDT",
    ),
    Sample(
        "futures",
        "tickers",
        futures("push.tickers", f"[{TICKER % 'BTC_USDT'},{TICKER % 'XRP_USDT'}]", None),
        ("ticker", "open_interest", "ticker", "open_interest"),
        Feed.TICKER,
        None,
        Overflow.CONFLATE,
    ),
    Sample(
        "futures",
        "seed",
        b'{"success":true,"code":0,"data":{"asks":[[84000.2,9700,3]],"bids":[[8.4E+4,4100,2]],"version":500,"timestamp":1790000000000}}',
        ("book_snapshot",),
        None,
        None,
        numbers=tuple(("data", name, 0, column) for name in ("bids", "asks") for column in (0, 1)),
        url=futures_url(),
    ),
)

SAMPLES = (*SPOT_SAMPLES, *FUTURES_SAMPLES)


def _spot_script() -> BookScript:
    def delta(first: int, last: int, size: str = "0.25") -> bytes:
        return depth(first, last, [("83999.95", size)], [("84000.90", "0.75"), ("84003.00", "0")])

    ranges = ((101, 101), (102, 105), (106, 107), (108, 108), (109, 112))
    return BookScript(
        "spot",
        "BTCUSDT",
        seeding=(binary(delta(98, 100)), seed(100, BIDS, ASKS)),
        deltas=tuple(binary(delta(*versions)) for versions in ranges),
        reseeding=(seed(112, BIDS[1:], ASKS[1:]),),
        after=binary(delta(113, 114)),
        broken=binary(delta(101, 101, "NaN")),
    )


def _futures_script(symbol: str, *, merged: bool) -> BookScript:
    def delta(first: int, last: int, size: str = "2500") -> bytes:
        bids, asks = [("83999.9", size)], [("84000.9", "7500"), ("84003", "0")]
        return contract_depth(first, last, bids, asks, symbol=symbol, merged=merged)

    merged_ranges = ((101, 101), (102, 105), (106, 107), (108, 108), (109, 112))
    ranges = merged_ranges if merged else tuple((version, version) for version in range(101, 113))
    return BookScript(
        "futures",
        symbol,
        seeding=(text(delta(100, 100)), contract_seed(100, CONTRACT_BIDS, CONTRACT_ASKS, symbol=symbol)),
        deltas=tuple(text(delta(*versions)) for versions in ranges),
        reseeding=(contract_seed(112, CONTRACT_BIDS[1:], CONTRACT_ASKS[1:], symbol=symbol),),
        after=text(delta(113, 113)),
        broken=text(delta(101, 101, '"NaN"')),
    )


SCRIPTS = (
    _spot_script(),
    _futures_script("BTC_USDT", merged=True),
    _futures_script("BTC_USD", merged=True),
    _futures_script("XRP_USDT", merged=False),
)

UNKNOWN = (
    ("spot", binary(deals(deal("1X0_2X0"), symbol="NEWUSDT"))),
    ("spot", binary(depth(5, 6, [("1", "1")], symbol="NEWUSDT"))),
    ("spot", binary(mini_tickers("NEWUSDT"))),
    ("futures", text(futures("push.deal", DEAL % "9", "NEW_USDT"))),
    ("futures", text(futures("push.depth", '{"asks":[],"bids":[[1,2,1]],"version":5}', "NEW_USDT"))),
    ("futures", text(futures("push.ticker", TICKER % "NEW_USDT", "NEW_USDT"))),
)
