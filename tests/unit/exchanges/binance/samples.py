"""What the conformance tests need of this venue: frames and what must come of them."""

from msgspec import json

from shared.exchanges.base import Ack, Feed, Overflow
from shared.instruments import Instrument, InstrumentKind
from tests.contract.driving import text
from tests.contract.samples import AckSample, BookScript, Listing, Sample
from tests.unit.exchanges.binance import frames as f

__all__ = ["ACKS", "LISTED", "LISTINGS", "SAMPLES", "SCRIPTS", "UNKNOWN", "made_up"]

SYMBOL = "ETHUSDT"
SPOT_DEPTH, USDM_DEPTH = (
    text(f.wrapped("ethusdt@depth@100ms", event)) for event in (f.depth(11, 14), f.depth(11, 14, 8))
)
LEVELS = tuple(("data", side, 0, column) for side in ("b", "a") for column in (0, 1))
BEST = tuple(("data", key) for key in ("b", "B", "a", "A"))


def of(*keys: str) -> tuple[tuple[str, ...], ...]:
    return tuple(("data", key) for key in keys)


def both(name: str, topic: str, event: object, feed: Feed, **more: object) -> tuple[Sample, ...]:
    """The same event on a spot stream and on a USD-M stream."""
    return tuple(
        Sample(product, name, f.wrapped(topic, event), (feed.value,), feed, SYMBOL, **more)  # type: ignore[arg-type]
        for product in ("spot", "usdm")
    )


CONFLATE = {"overflow": Overflow.CONFLATE}
BAR = tuple(("data", "k", key) for key in "ohlcvq")
TRADE_NUMBERS = of("p", "q")
TICKER_NUMBERS = of("c", "o", "h", "l", "v", "q", "b", "B", "a", "A")
SAMPLES = (
    *both("trade", "ethusdt@trade", f.trade(), Feed.TRADE, numbers=TRADE_NUMBERS),
    *both("aggTrade", "ethusdt@aggTrade", f.agg_trade(), Feed.TRADE, numbers=TRADE_NUMBERS),
    *both("quote", "ethusdt@bookTicker", f.book_ticker(), Feed.QUOTE, numbers=BEST, **CONFLATE),
    *both("ticker", "ethusdt@ticker", f.spot_ticker(), Feed.TICKER, numbers=TICKER_NUMBERS, **CONFLATE),
    *both("miniTicker", "ethusdt@miniTicker", f.usdm_ticker(e="24hrMiniTicker"), Feed.TICKER, **CONFLATE),
    *both("kline", "ethusdt@kline_1m", f.kline(), Feed.CANDLE, numbers=BAR),
    Sample(
        "spot", "book", f.wrapped("ethusdt@depth@100ms", f.depth(15, 19)), ("book_delta",), Feed.BOOK, SYMBOL,
        Overflow.RESYNC, (SPOT_DEPTH, f.depth_reply("spot", 12)), LEVELS,
    ),
    Sample(
        "usdm", "book", f.wrapped("ethusdt@depth@100ms", f.depth(17, 19, 14)), ("book_delta",), Feed.BOOK, SYMBOL,
        Overflow.RESYNC, (USDM_DEPTH, f.depth_reply("usdm", 12)), LEVELS,
    ),
    Sample(
        "spot", "depth5", f.wrapped("ethusdt@depth5@100ms", {"lastUpdateId": 9, "bids": [["3", "1"]], "asks": []}),
        ("book_snapshot",), Feed.BOOK, SYMBOL, numbers=(("data", "bids", 0, 0), ("data", "bids", 0, 1)),
    ),
    Sample(
        "usdm", "depth20", f.wrapped("ethusdt@depth20", f.depth(17, 19, 14, a=[["3120.70", "2.1"]])),
        ("book_snapshot",), Feed.BOOK, SYMBOL, numbers=LEVELS,
    ),
    Sample(
        "spot", "unicode", f.wrapped("币安人生usdt@trade", f.trade(s="币安人生USDT")), ("trade",), Feed.TRADE,
        "币安人生USDT", numbers=TRADE_NUMBERS,
    ),
    Sample("spot", "bare trade", f.bare(f.trade()), ("trade",), Feed.TRADE, SYMBOL, numbers=(("p",), ("q",))),
    Sample("spot", "bare quote", f.bare(f.book_ticker()), ("quote",), Feed.QUOTE, SYMBOL, Overflow.CONFLATE),
    Sample("usdm", "bare liquidation", f.bare(f.force_order()), ("liquidation",), Feed.LIQUIDATION, SYMBOL),
    Sample(
        "usdm", "own ticker", f.wrapped("ethusdt@ticker", f.usdm_ticker()), ("ticker",), Feed.TICKER, SYMBOL,
        Overflow.CONFLATE,
    ),
    Sample(
        "usdm", "mark", f.wrapped("ethusdt@markPrice@1s", f.mark_price()), ("mark_price", "funding"), Feed.MARK_PRICE,
        SYMBOL, Overflow.CONFLATE, numbers=of("p", "i", "r"),
    ),
    Sample(
        "usdm", "mark of a dated future",
        f.wrapped("ethusdt_270326@markPrice@1s", f.mark_price(s="ETHUSDT_270326", r="", T=0)), ("mark_price",),
        Feed.MARK_PRICE, "ETHUSDT_270326", Overflow.CONFLATE, numbers=of("p", "i"),
    ),
    Sample(
        "usdm", "liquidation", f.wrapped("ethusdt@forceOrder", f.force_order()), ("liquidation",), Feed.LIQUIDATION,
        SYMBOL, numbers=tuple(("data", "o", key) for key in ("p", "q", "ap")),
    ),
    Sample(
        "usdm", "array", f.wrapped("!ticker@arr", [f.usdm_ticker(), f.usdm_ticker(s="ETHUSDT_270326")]),
        ("ticker", "ticker"), None, None, numbers=(("data", 1, "c"),),
    ),
    Sample(
        "usdm", "bare array", f.bare([f.mark_price(), f.mark_price(s="ETHUSD_PERP", st=2)]), ("mark_price", "funding"),
        None, None,
    ),
    Sample(
        "usdm", "open interest", b'{"symbol":"ETHUSDT","openInterest":"10659.509","time":1790000000123}',
        ("open_interest",), None, None, numbers=(("openInterest",),),
        url="https://fapi.binance.com/fapi/v1/openInterest?symbol=ETHUSDT",
    ),
)  # fmt: skip


def script(product: str) -> BookScript:
    """Ids are contiguous on spot; on USD-M they skip and are linked."""
    linked = product == "usdm"

    def delta(first: int, last: int, previous: int, **more: object) -> bytes:
        event = f.depth(first + 1, last, previous, **more) if linked else f.depth(first, last, None, **more)
        return f.wrapped("ethusdt@depth@100ms", event)

    ids = ((15, 19, 14), (20, 24, 19), (25, 26, 24), (27, 31, 26))
    return BookScript(
        product,
        SYMBOL,
        seeding=(text(delta(11, 14, 8)), f.depth_reply(product, 12)),
        deltas=tuple(text(delta(*each)) for each in ids),
        reseeding=(f.depth_reply(product, 31),),
        after=text(delta(32, 35, 31)),
        broken=text(delta(*ids[0], b=[["3120.50", "NaN"]])),
    )


def ack(product: str, data: bytes, answer: Ack | None) -> AckSample:
    return AckSample(product, data, answer)


ACKS = tuple(
    sample
    for product in ("spot", "usdm")
    for sample in (
        ack(product, b'{"result":null,"id":31}', Ack("31")),
        ack(product, b'{"id":"ab-1","result":null}', Ack("ab-1")),
        ack(product, b'{"code":2,"msg":"Invalid request: x","id":7}', Ack("7", refused="2 Invalid request: x")),
        ack(product, b'{"code":0,"msg":"Unknown property"}', Ack(None, refused="0 Unknown property")),
        ack(product, b'{"error":{"code":2,"msg":"Invalid stream"},"id":8}', Ack("8", refused="2 Invalid stream")),
        ack(product, b'{"result":["ethusdt@depth"],"id":3}', None),
        ack(product, b'{"result":true,"id":4}', None),
    )
)

ENTRY = {"status": "TRADING", "baseAsset": "ETH", "quoteAsset": "USDT", "filters": []}
LISTINGS = (
    Listing(
        "spot",
        json.encode(
            {
                "symbols": [
                    ENTRY | {"symbol": "ETHUSDT"},
                    ENTRY | {"symbol": "币安人生USDT", "baseAsset": "币安人生"},
                    ENTRY | {"symbol": "ADAEUR", "baseAsset": "ADA", "quoteAsset": "EUR", "status": "BREAK"},
                    ENTRY | {"symbol": "这是测试币456", "baseAsset": "这是测试币", "quoteAsset": "456"},
                    {"symbol": "NOBASE"},
                ]
            }
        ),
        {
            "ETHUSDT": "ETH/USDT",
            "币安人生USDT": "币安人生/USDT",
            "ADAEUR": "ADA/EUR",
            "这是测试币456": "这是测试币/456",
        },
    ),
    Listing(
        "usdm",
        json.encode(
            {
                "symbols": [
                    ENTRY | {"symbol": "ETHUSDT", "marginAsset": "USDT", "contractType": "PERPETUAL"},
                    ENTRY
                    | {"symbol": "ETHUSDC", "quoteAsset": "USDC", "marginAsset": "USDC", "contractType": "PERPETUAL"},
                    ENTRY
                    | {
                        "symbol": "ETHUSDT_270326",
                        "marginAsset": "USDT",
                        "contractType": "NEXT_QUARTER",
                        "deliveryDate": 1_806_048_000_000,
                    },
                    ENTRY | {"symbol": "XAUUSDT", "baseAsset": "XAU", "contractType": "TRADIFI_PERPETUAL"},
                    ENTRY
                    | {
                        "symbol": "ETHUSD_PERP",
                        "quoteAsset": "USD",
                        "marginAsset": "ETH",
                        "contractType": "PERPETUAL",
                    },
                    ENTRY | {"symbol": "SOONUSDT", "baseAsset": "SOON", "contractType": ""},
                ]
            }
        ),
        {
            "ETHUSDT": "ETH/USDT:USDT",
            "ETHUSDC": "ETH/USDC:USDC",
            "ETHUSDT_270326": "ETH/USDT:USDT-270326",
            "XAUUSDT": "XAU/USDT:USDT",
        },
    ),
)

LISTED = {"spot": (f.SPOT, f.UNICODE), "usdm": (f.PERPETUAL, f.DATED)}
SCRIPTS = (script("spot"), script("usdm"))
UNKNOWN = (
    ("spot", text(f.wrapped("foobar@trade", f.trade(s="FOOBAR")))),
    ("usdm", text(f.wrapped("foobar@aggTrade", f.agg_trade(s="FOOBAR")))),
    ("usdm", text(f.bare([f.usdm_ticker(s="ETHUSD_PERP")]))),
)


def made_up(product: str, index: int) -> Instrument:
    """Some are no ASCII, some of USD-M's are dated futures."""
    base = f"币{index}" if index % 7 == 3 else f"C{index}"
    if product == "spot":
        return Instrument("binance", product, f"{base}/USDT", f"{base}USDT", base, "USDT", None, InstrumentKind.SPOT)
    if index % 5 == 4:
        symbol, native, kind = f"{base}/USDT:USDT-270326", f"{base}USDT_270326", InstrumentKind.FUTURE
    else:
        symbol, native, kind = f"{base}/USDT:USDT", f"{base}USDT", InstrumentKind.PERPETUAL
    return Instrument("binance", product, symbol, native, base, "USDT", "USDT", kind)
