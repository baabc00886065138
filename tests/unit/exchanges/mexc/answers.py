"""Answers and lists of MEXC for the conformance tests."""

from shared.exchanges.base import Ack
from tests.contract.samples import AckSample, Listing

__all__ = ["ACKS", "FUTURES_LIST", "HEARTBEATS", "LISTINGS", "SPOT_LIST"]

DEALS_TOPIC, DEPTH_TOPIC = (
    "spot@public.aggre.deals.v3.api.pb@10ms@BTCUSDT",
    "spot@public.aggre.depth.v3.api.pb@100ms@BTCUSDT",
)
OLD_TOPIC = "spot@public.increase.depth.v3.api.pb@BTCUSDT"
REFUSED = f"Not Subscribed successfully! [{OLD_TOPIC}].  Reason\uff1a Blocked! "
MIXED = f"Subscribed successful! [{DEALS_TOPIC},{DEPTH_TOPIC}]. {REFUSED}"
MISSING = "Contract [NOPE_USDT] not exists"


def _answer(message: str, number: int = 0, code: int = 0) -> bytes:
    return f'{{"id":{number},"code":{code},"msg":"{message}"}}'.encode()


ACKS = (
    AckSample("spot", _answer(DEALS_TOPIC, 41), Ack("41", (DEALS_TOPIC,))),
    AckSample("spot", _answer(f"{DEALS_TOPIC},{DEPTH_TOPIC}"), Ack(None, (DEALS_TOPIC, DEPTH_TOPIC))),
    AckSample("spot", _answer(REFUSED, 42), Ack("42", (), ((OLD_TOPIC, "Blocked!"),))),
    AckSample("spot", _answer(MIXED, 43), Ack("43", (DEALS_TOPIC, DEPTH_TOPIC), ((OLD_TOPIC, "Blocked!"),))),
    AckSample("spot", _answer("param error", 44, 1), Ack("44", refused="1 param error")),
    AckSample("spot", _answer(DEALS_TOPIC, 45, 7), Ack("45", refused=f"7 {DEALS_TOPIC}")),
    AckSample("spot", _answer("too busy", 46), Ack("46", refused="too busy")),
    AckSample("spot", _answer("", 47), Ack("47", refused="an empty answer")),
    AckSample("spot", _answer("PONG"), None),
    AckSample("futures", b'{"channel":"rs.sub.deal","data":"success","ts":1790000000001}', Ack(None)),
    AckSample("futures", b'{"channel":"rs.sub.depth.full","data":"success","ts":"1790000000001"}', Ack(None)),
    AckSample("futures", b'{"channel":"rs.sub.deal","data":"busy","ts":1790000000001}', Ack(None, refused="busy")),
    AckSample(
        "futures",
        f'{{"channel":"rs.error","data":"{MISSING}","ts":1790000000001}}'.encode(),
        Ack(None, refused=MISSING),
    ),
    AckSample(
        "futures",
        b'{"channel":"rs.error","data":"more than 60 seconds no response, close the channel","ts":1790000000001}',
        None,
    ),
    AckSample("futures", b'{"channel":"rs.login","data":"success","ts":1790000000001}', None),
    AckSample("futures", b'{"channel":"rs.unsub.deal","data":"success","ts":1790000000001}', None),
    AckSample("futures", b'{"channel":"pong","data":1790000000001,"ts":1790000000001}', None),
)

HEARTBEATS = (
    ("spot", _answer("PONG")),
    ("futures", b'{"channel":"pong","data":1790000000001,"ts":1790000000001}'),
    ("futures", b'{"channel":"pong","data":1790000000001}'),
)

SPOT_LIST = """{"timezone":"CST","serverTime":1790000000000,"symbols":[
{"symbol":"BTCUSDT","status":"1","baseAsset":"BTC","baseAssetPrecision":8,"quoteAsset":"USDT","quotePrecision":2,
"quoteAssetPrecision":2,"baseSizePrecision":"0.000001","isSpotTradingAllowed":true,"orderTypes":["LIMIT"]},
{"symbol":"月光USDT","status":"2","baseAsset":"月光","baseAssetPrecision":0,"quoteAsset":"USDT","quoteAssetPrecision":7},
{"symbol":"NOQUOTE","status":"1","baseAsset":"NO"},
{"symbol":"EMPTY","status":"1","baseAsset":"","quoteAsset":"USDT"},
{"symbol":"DEEP","status":"1","baseAsset":"A","quoteAsset":"B","quoteAssetPrecision":400}]}""".encode()

FUTURES_LIST = b"""{"success":true,"code":0,"data":[
{"symbol":"BTC_USDT","baseCoin":"BTC","quoteCoin":"USDT","settleCoin":"USDT","contractSize":1.0E-4,"priceUnit":0.1,
"volUnit":1,"minVol":1,"maxVol":100000,"priceScale":1,"volScale":0,"state":0,"apiAllowed":true,"conceptPlate":["x"]},
{"symbol":"BTC_USD","baseCoin":"BTC","quoteCoin":"USD","settleCoin":"BTC","contractSize":100,"priceUnit":0.5,"state":4},
{"symbol":"DOGE_USDT","baseCoin":"DOGE","quoteCoin":"USDT","settleCoin":"USDT","contractSize":1E+2,"state":0},
{"symbol":"ODD_USDT","baseCoin":"ODD","quoteCoin":"USDT","settleCoin":"BTC","contractSize":1,"state":0},
{"symbol":"NIL_USDT","baseCoin":"NIL","quoteCoin":"USDT","settleCoin":"USDT","contractSize":0,"state":0},
{"symbol":"MINUS_USDT","baseCoin":"MINUS","quoteCoin":"USDT","settleCoin":"USDT","contractSize":-1,"state":0},
{"symbol":"NOSIZE_USDT","baseCoin":"NOSIZE","quoteCoin":"USDT","settleCoin":"USDT","state":0}]}"""

LISTINGS = (
    Listing("spot", SPOT_LIST, {"BTCUSDT": "BTC/USDT", "月光USDT": "月光/USDT"}),
    Listing("spot", b'{"symbols":[]}', {}),
    Listing(
        "futures",
        FUTURES_LIST,
        {"BTC_USDT": "BTC/USDT:USDT", "BTC_USD": "BTC/USD:BTC", "DOGE_USDT": "DOGE/USDT:USDT"},
    ),
)
