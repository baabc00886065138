"""The hand-written encoder against the library's own, from a definition written down here."""

import json
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message as ProtobufMessage

from services.simulator import SimulatorSettings
from services.simulator.engine import Market
from services.simulator.protobuf import encode
from services.simulator.topics import Topic
from services.simulator.venues.mexc_spot import MexcSpot
from tests.unit.simulator.accounts.offices import Office
from tests.unit.simulator.client import driven, market

LEVEL = "price:1 quantity:2"
DEFINITIONS = {
    "Level": LEVEL,
    "Quote": "bidPrice:1 bidQuantity:2 askPrice:3 askQuantity:4",
    "Deal": f"{LEVEL} tradeType:3:int32 time:4:int64 tradeId:5",
    "AggreDeals": "deals:1:*Deal eventType:2",
    "AggreDepths": "asks:1:*Level bids:2:*Level eventType:3 fromVersion:4 toVersion:5 lastOrderCreateTime:6:int64",
    "LimitDepths": "asks:1:*Level bids:2:*Level eventType:3 version:4 lastOrderCreateTime:5:int64",
    "AggreBookTicker": "bidPrice:1 bidQuantity:2 askPrice:3 askQuantity:4 version:5 lastOrderCreateTime:6:int64",
    "BookTickerBatch": "items:1:*Quote version:2 lastOrderCreateTime:3:int64",
    "SpotKline": "interval:1 windowStart:2:int64 openingPrice:3 closingPrice:4 highestPrice:5 lowestPrice:6 volume:7"
    " amount:8 windowEnd:9:int64",
    "MiniTicker": "symbol:1 price:2 rate:3 zonedRate:4 high:5 low:6 volume:7 quantity:8 lastCloseRate:9"
    " lastCloseZonedRate:10 lastCloseHigh:11 lastCloseLow:12",
    "MiniTickers": "items:1:*MiniTicker",
    "PrivateOrders": "id:1 clientId:2 price:3 quantity:4 amount:5 avgPrice:6 orderType:7:int32 tradeType:8:int32"
    " isMaker:9:bool remainAmount:10 remainQuantity:11 lastDealQuantity:12 cumulativeQuantity:13 cumulativeAmount:14"
    " status:15:int32 createTime:16:int64",
    "PrivateDeals": "price:1 quantity:2 amount:3 tradeType:4:int32 isMaker:5:bool isSelfTrade:6:bool tradeId:7"
    " clientOrderId:8 orderId:9 feeAmount:10 feeCurrency:11 time:12:int64",
    "PrivateAccount": "vcoinName:1 coinId:2 balanceAmount:3 balanceAmountChange:4 frozenAmount:5 frozenAmountChange:6"
    " type:7 time:8:int64",
    "Wrapper": "channel:1 symbol:3 symbolId:4 createTime:5:int64 sendTime:6:int64 publicLimitDepths:303:LimitDepths"
    " publicSpotKline:308:SpotKline publicMiniTicker:309:MiniTicker publicMiniTickers:310:MiniTickers"
    " publicBookTickerBatch:311:BookTickerBatch publicAggreDepths:313:AggreDepths publicAggreDeals:314:AggreDeals"
    " publicAggreBookTicker:315:AggreBookTicker privateOrders:304:PrivateOrders privateDeals:306:PrivateDeals"
    " privateAccount:307:PrivateAccount",
}


def _field(message: descriptor_pb2.DescriptorProto, spec: str) -> None:
    name, number, kind = (*spec.split(":"), "string")[:3]
    field = message.field.add(name=name, number=int(number), json_name=name)
    field.label = field.LABEL_REPEATED if kind.startswith("*") else field.LABEL_OPTIONAL
    simple = {
        "string": field.TYPE_STRING,
        "int64": field.TYPE_INT64,
        "int32": field.TYPE_INT32,
        "bool": field.TYPE_BOOL,
    }
    field.type = simple.get(kind, field.TYPE_MESSAGE)
    if kind not in simple:
        field.type_name = f".check.{kind.removeprefix('*')}"


@pytest.fixture(scope="module")
def wrapper() -> type[ProtobufMessage]:
    file = descriptor_pb2.FileDescriptorProto(name="check.proto", package="check", syntax="proto3")
    for name, fields in DEFINITIONS.items():
        message = file.message_type.add(name=name)
        for spec in fields.split():
            _field(message, spec)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("check.Wrapper"))


@pytest.fixture(scope="module")
def busy() -> Market:
    one = market("mexc", "spot", "BTCUSDT", rate=100.0)
    driven(one, 3)
    return one


TOPICS = [
    "spot@public.aggre.deals.v3.api.pb@10ms@BTCUSDT",
    "spot@public.aggre.deals.v3.api.pb@100ms@BTCUSDT",
    "spot@public.aggre.depth.v3.api.pb@10ms@BTCUSDT",
    "spot@public.aggre.depth.v3.api.pb@100ms@BTCUSDT",
    "spot@public.limit.depth.v3.api.pb@BTCUSDT@20",
    "spot@public.aggre.bookTicker.v3.api.pb@10ms@BTCUSDT",
    "spot@public.bookTicker.batch.v3.api.pb@BTCUSDT",
    "spot@public.kline.v3.api.pb@BTCUSDT@Min1",
    "spot@public.miniTicker.v3.api.pb@BTCUSDT@UTC+8",
    "spot@public.miniTickers.v3.api.pb@UTC+8",
]


@pytest.mark.parametrize("name", TOPICS)
def test_every_topic_is_encoded_byte_for_byte_as_the_library_does(
    name: str, busy: Market, wrapper: type[ProtobufMessage]
) -> None:
    topic = MexcSpot({"BTCUSDT": busy}, SimulatorSettings()).find(name)
    assert isinstance(topic, Topic)
    topic.start(busy.now_ns)
    messages: list[dict[str, Any]] = []
    for _ in range(5):
        messages += topic.poll(driven(busy, 1))
    assert messages
    for message in messages:
        data = topic.encode(message)
        decoded = wrapper.FromString(data)
        assert decoded.SerializeToString(deterministic=True) == data
        assert ParseDict(message, wrapper()) == decoded
        assert MessageToDict(decoded)["channel"] == name
    topic.stop()
    assert busy.book.watches == []
    assert busy.trade_taps == []


def test_private_messages_are_encoded_byte_for_byte_as_the_library_does(wrapper: type[ProtobufMessage]) -> None:
    office = Office("mexc", "BTCUSDT")
    office.busy(events=200, rate=500.0)
    events = [json.loads(bytes(one)) for one in office.desk.reports[office.account()].events(0, 5000)]
    bodies = [message["body"] for event in events if event["wallet"] == "spot" for message in event["messages"]]
    assert {key for body in bodies for key in body} >= {"privateOrders", "privateDeals", "privateAccount"}
    for body in bodies:
        decoded = wrapper.FromString(encode(body))
        assert ParseDict(body, wrapper()) == decoded
        head = {key: value for key, value in body.items() if key.startswith("private")}
        assert decoded.SerializeToString(deterministic=True) == encode(
            {key: body[key] for key in ("channel", "symbol", "createTime", "sendTime") if key in body} | head
        )


def test_empty_text_and_zero_are_left_out_and_numbers_are_kept() -> None:
    assert encode({"channel": "a", "symbol": "", "sendTime": 0}) == b"\x0a\x01a"
    assert encode({"sendTime": 300}) == b"\x30\xac\x02"
    assert encode({"publicAggreDeals": {"deals": [{"price": "1"}, {"price": "2"}]}}) == bytes.fromhex(
        "d2130a" + "0a030a0131" + "0a030a0132"
    )


def test_a_field_that_nobody_defined_is_written_under_its_number_and_skipped_by_readers(
    wrapper: type[ProtobufMessage],
) -> None:
    decoded = wrapper.FromString(encode({"channel": "a", "9999": "mystery"}))
    assert MessageToDict(decoded) == {"channel": "a"}


def test_a_number_where_text_must_be_is_another_wire_type(wrapper: type[ProtobufMessage]) -> None:
    decoded = wrapper.FromString(encode({"channel": "a", "publicAggreBookTicker": {"bidPrice": 7, "askPrice": "2"}}))
    assert MessageToDict(decoded)["publicAggreBookTicker"] == {"askPrice": "2"}
