"""What the conformance tests know of Bybit."""

from msgspec import json

from shared.exchanges.base import Ack, Feed, Overflow
from shared.instruments import Instrument
from tests.contract.driving import text
from tests.contract.samples import AckSample, BookScript, Listing, Sample
from tests.unit.exchanges.bybit.frames import (
    TS,
    book,
    candle,
    instrument,
    liquidation,
    listing,
    ticker,
    ticker_fields,
    trade,
    trades,
)

__all__ = ["ACKS", "HEARTBEATS", "LISTED", "LISTINGS", "SAMPLES", "SCRIPTS", "UNKNOWN"]

LISTED: dict[str, tuple[Instrument, ...]] = {
    "spot": (instrument("spot", "BTCUSDT"), instrument("spot", "ETHUSDC")),
    "linear": (
        instrument("linear", "BTCUSDT"),
        instrument("linear", "BTCPERP"),
        instrument("linear", "SOLUSDT-25DEC26"),
    ),
    "inverse": (instrument("inverse", "BTCUSD"), instrument("inverse", "ETHUSD")),
}

BIDS = (("84000.00", "3.210"), ("83999.90", "0.002"), ("83999.00", "12.000"))
ASKS = (("84000.10", "1.050"), ("84000.20", "0.400"), ("84001.00", "7.500"))

DOLLAR_BIDS = (("84000.00", "3210000"), ("83999.90", "1500000"), ("83999.00", "12000000"))
DOLLAR_ASKS = (("84000.10", "1050000"), ("84000.20", "4400000"), ("84001.00", "7500000"))

LEVELS = tuple(("data", side, 0, column) for side in ("b", "a") for column in (0, 1))
PRINT = (("data", 0, "p"), ("data", 0, "v"))
BARS = tuple(("data", 0, name) for name in ("open", "high", "low", "close", "volume", "turnover"))
STATISTICS = ("lastPrice", "prevPrice24h", "highPrice24h", "lowPrice24h", "turnover24h", "volume24h")
DERIVED = ("markPrice", "indexPrice", "openInterest", "bid1Price", "ask1Price", "fundingRate")

SPOT_TICKER = json.encode(
    {
        "topic": "tickers.BTCUSDT",
        "ts": TS,
        "type": "snapshot",
        "cs": 7_000_000_001,
        "data": {
            "symbol": "BTCUSDT",
            "lastPrice": "84010.42",
            "highPrice24h": "84520",
            "lowPrice24h": "82090.5",
            "prevPrice24h": "82900.01",
            "volume24h": "5912.104411",
            "turnover24h": "493500111.27001",
            "price24hPcnt": "0.0134",
            "usdIndexPrice": "84011.0400136",
        },
    }
)

WHOLE_TICKER = ("ticker", "funding", "mark_price", "open_interest")


def _everywhere(product: str, symbol: str) -> tuple[Sample, ...]:
    """Samples that every product has, for one instrument."""
    two = trades(trade(f"{product}-1"), trade(f"{product}-2", side="Sell"), symbol=symbol)
    bids, asks = (DOLLAR_BIDS, DOLLAR_ASKS) if product == "inverse" else (BIDS, ASKS)
    snapshot = book("snapshot", bids, asks, 41, symbol)
    delta = book("delta", [("84000.00", "0"), *bids[1:2]], [("84000.15", asks[0][1])], 42, symbol)
    quote = book("snapshot", bids[:1], asks[:1], 7, symbol, depth=1)
    shed, conflate, resync = Overflow.SHED, Overflow.CONFLATE, Overflow.RESYNC
    live = (text(snapshot),)
    return (
        Sample(product, f"trade-{symbol}", two, ("trade", "trade"), Feed.TRADE, symbol, shed, (), PRINT),
        Sample(product, f"quote-{symbol}", quote, ("quote",), Feed.QUOTE, symbol, conflate, (), LEVELS),
        Sample(product, f"snapshot-{symbol}", snapshot, ("book_snapshot",), Feed.BOOK, symbol, resync, (), LEVELS),
        Sample(product, f"delta-{symbol}", delta, ("book_delta",), Feed.BOOK, symbol, resync, live, LEVELS),
        Sample(product, f"candle-{symbol}", candle(symbol=symbol), ("candle",), Feed.CANDLE, symbol, shed, (), BARS),
    )


def _derivative(product: str, symbol: str) -> tuple[Sample, ...]:
    """Samples of a perpetual."""
    forced = liquidation(symbol=symbol)
    whole = ticker("snapshot", ticker_fields(), symbol)
    part = ticker("delta", {"lastPrice": "84001.00", "ask1Size": "2.000"}, symbol)
    resync = Overflow.RESYNC
    numbers = tuple(("data", name) for name in STATISTICS + DERIVED)
    changed = (("data", "lastPrice"),)
    return (
        Sample(product, f"liquidation-{symbol}", forced, ("liquidation",), Feed.LIQUIDATION, symbol, numbers=PRINT),
        Sample(product, f"ticker-{symbol}", whole, WHOLE_TICKER, Feed.TICKER, symbol, resync, (), numbers),
        Sample(product, f"change-{symbol}", part, ("ticker",), Feed.TICKER, symbol, resync, (text(whole),), changed),
    )


DATED = "SOLUSDT-25DEC26"
DATED_TICKER = ticker("snapshot", ticker_fields(fundingRate="", nextFundingTime="", lastPrice="210.42"), DATED)

SAMPLES = (
    *_everywhere("spot", "BTCUSDT"),
    Sample(
        "spot",
        "ticker-BTCUSDT",
        SPOT_TICKER,
        ("ticker",),
        Feed.TICKER,
        "BTCUSDT",
        Overflow.CONFLATE,
        numbers=tuple(("data", name) for name in STATISTICS),
    ),
    *_everywhere("linear", "BTCUSDT"),
    *_derivative("linear", "BTCUSDT"),
    *_derivative("linear", "BTCPERP"),
    Sample(
        "linear", "dated", DATED_TICKER, ("ticker", "mark_price", "open_interest"), Feed.TICKER, DATED, Overflow.RESYNC
    ),
    *_everywhere("inverse", "BTCUSD"),
    *_derivative("inverse", "BTCUSD"),
)


def _script(product: str, symbol: str) -> BookScript:
    def delta(update: int, size: str = "1.250") -> bytes:
        return book("delta", [("83999.90", size)], [("84000.20", "0.9"), ("84001.00", "0")], update, symbol)

    return BookScript(
        product,
        symbol,
        seeding=(text(book("snapshot", BIDS, ASKS, 100, symbol)),),
        deltas=tuple(text(delta(update)) for update in (101, 102, 103, 104, 105)),
        reseeding=(text(book("snapshot", BIDS[1:], ASKS[1:], 108, symbol)),),
        after=text(delta(109)),
        broken=text(delta(101, "NaN")),
    )


SCRIPTS = (_script("spot", "BTCUSDT"), _script("linear", "BTCUSDT"), _script("inverse", "ETHUSD"))


def _answer(**fields: object) -> bytes:
    return json.encode({"success": True, "ret_msg": "", "conn_id": "cn5-made-up"} | fields)


NO_HANDLER = "error:handler not found,topic:orderbook.50.NOPEUSDT"
SUBSCRIBED = "error:already subscribed,topic:orderbook.1.ETHUSDT"
TOO_MANY = "args size >10"

ACKS = (
    AckSample("linear", _answer(req_id="a1", op="subscribe"), Ack("a1")),
    AckSample("spot", _answer(ret_msg="subscribe", req_id="a2", op="subscribe"), Ack("a2")),
    AckSample("inverse", _answer(req_id="", op="subscribe"), Ack(None)),
    AckSample(
        "linear",
        _answer(success=False, ret_msg=NO_HANDLER, req_id="a3", op="subscribe"),
        Ack("a3", (), (("orderbook.50.NOPEUSDT", NO_HANDLER),), NO_HANDLER),
    ),
    AckSample(
        "linear",
        _answer(success=False, ret_msg=SUBSCRIBED, req_id="a4", op="subscribe"),
        Ack("a4", ("orderbook.1.ETHUSDT",)),
    ),
    AckSample("spot", _answer(success=False, ret_msg=TOO_MANY, op="subscribe"), Ack(None, (), (), TOO_MANY)),
    AckSample("spot", _answer(success=False, op="subscribe", req_id="a5"), Ack("a5", (), (), "refused")),
    AckSample("linear", _answer(req_id="a6", op="unsubscribe"), Ack("a6", ())),
    AckSample("linear", _answer(success=False, ret_msg="error:not subscribed", req_id="a7", op="unsubscribe"), None),
    AckSample("linear", _answer(success=False, ret_msg="error:invalid op", request={"op": "", "args": None}), None),
    AckSample("linear", _answer(op="auth"), None),
    AckSample("linear", b'{"req_id":"a8","op":"subscribe","args":["publicTrade.BTCUSDT"]}', None),
)

BEATS = (
    _answer(ret_msg="pong", op="ping"),
    _answer(ret_msg="pong", req_id="ping", op="ping"),
    _answer(ret_msg="pong", request={"op": "ping", "args": None}),
    b'{"req_id":"ping","op":"pong","args":["1790000000123"],"conn_id":"cn5-made-up"}',
)
HEARTBEATS = tuple((product, data) for product in ("spot", "linear", "inverse") for data in BEATS)


def _listed(symbol: str, base: str, quote: str, **more: object) -> dict[str, object]:
    steps = {"priceFilter": {"tickSize": "0.10"}, "lotSizeFilter": {"qtyStep": "0.001"}}
    row: dict[str, object] = {"symbol": symbol, "status": "Trading", "baseCoin": base, "quoteCoin": quote}
    return row | steps | more


def _contract(symbol: str, kind: str, coins: tuple[str, str, str], delivery: str = "0") -> dict[str, object]:
    base, quote, settle = coins
    return _listed(symbol, base, quote, settleCoin=settle, contractType=kind, deliveryTime=delivery)


LISTINGS = (
    Listing(
        "spot",
        listing(
            "spot", _listed("BTCUSDT", "BTC", "USDT"), _listed("ETHBTC", "ETH", "BTC"), _listed("XYZEUR", "XYZ", "EUR")
        ),
        {"BTCUSDT": "BTC/USDT", "ETHBTC": "ETH/BTC", "XYZEUR": "XYZ/EUR"},
    ),
    Listing(
        "linear",
        listing(
            "linear",
            _contract("BTCUSDT", "LinearPerpetual", ("BTC", "USDT", "USDT")),
            _contract("1000PEPEUSDT", "LinearPerpetual", ("1000PEPE", "USDT", "USDT")),
            _contract("BTCPERP", "LinearPerpetual", ("BTC", "USDC", "USDC")),
            _contract("BTCUSDT-25DEC26", "LinearFutures", ("BTC", "USDT", "USDT"), "1798185600000"),
            _contract("ETH-25DEC26", "LinearFutures", ("ETH", "USDC", "USDC"), "1798185600000"),
        ),
        {
            "BTCUSDT": "BTC/USDT:USDT",
            "1000PEPEUSDT": "1000PEPE/USDT:USDT",
            "BTCPERP": "BTC/USDC:USDC",
            "BTCUSDT-25DEC26": "BTC/USDT:USDT-261225",
            "ETH-25DEC26": "ETH/USDC:USDC-261225",
        },
    ),
    Listing(
        "inverse",
        listing(
            "inverse",
            _contract("BTCUSD", "InversePerpetual", ("BTC", "USD", "BTC")),
            _contract("BTCUSDZ26", "InverseFutures", ("BTC", "USD", "BTC"), "1798185600000"),
        ),
        {"BTCUSD": "BTC/USD:BTC", "BTCUSDZ26": "BTC/USD:BTC-261225"},
    ),
)

UNKNOWN = (
    ("spot", text(trades(trade("u1"), symbol="ETHEUR"))),
    ("linear", text(book("snapshot", BIDS, ASKS, 1, "NEWCOIN"))),
    ("inverse", text(candle(symbol="BTCUSDZ26"))),
)
