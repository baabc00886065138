import pytest
from msgspec import structs

from shared.envelope import Shed, ShedItem
from shared.exchanges.base import Output
from shared.messages import Candle, Funding, MarkPrice, OpenInterest, Quote, Ticker, Trade
from tests.contract.driving import mark
from tests.unit.exchanges.mexc.driving import futures_stream
from tests.unit.exchanges.mexc.frames import SENT, contract_depth, futures
from tests.unit.exchanges.mexc.samples import DEAL, KLINE, TICKER


def values(output: Output, index: int = 0) -> tuple[object, ...]:
    """The fields of a message that are its own."""
    return structs.astuple(output.messages[index])[10:]


@pytest.mark.parametrize(
    ("symbol", "first", "second"),
    [
        ("BTC_USDT", ("0.0125", "125"), ("0.0007", "7")),
        ("BTC_USD", ("0.148809169502", "125"), ("0.008333323413", "7")),
        ("XRP_USDT", ("125", None), ("7", None)),
    ],
)
def test_trades_count_base_units(symbol: str, first: tuple[str, str | None], second: tuple[str, str | None]) -> None:
    output = futures_stream().push(futures("push.deal", DEAL % "71002", symbol))
    assert values(output, 0) == ("71002", "84000.2", first[0], "buy", first[1])
    assert values(output, 1) == (None, "84000.1", second[0], "sell", second[1])
    assert output.messages[0].ts_exchange == 1_790_000_000_116_000_000


def test_trade_ids_may_be_numbers() -> None:
    stream = futures_stream()
    data = '{"p":1,"v":2,"T":5,"t":1790000000116,"i":%s}'
    assert values(stream.push(futures("push.deal", data % "9007199254740993"))) == (
        "9007199254740993",
        "1",
        "0.0002",
        "unknown",
        "2",
    )
    assert stream.push(futures("push.deal", data % '"9007199254740993"')).duplicates == 1


def test_bad_trade_does_not_take_the_others_along() -> None:
    row = '{"p":%s,"v":2,"T":1,"t":%s,"i":"%s"}'
    rows = [
        row % ("1.5", "1790000000116", "a"),
        row % ("null", "1790000000116", "b"),
        row % ("2.5", '"soon"', "c"),
        row % ("2.5", str(2**61), "d"),
        '{"v":2}',
        "7",
        row % ("3.5", "1790000000116", "e"),
    ]
    stream = futures_stream()
    output = stream.push(futures("push.deal", f"[{','.join(rows)}]"))
    assert [message.trade_id for message in output.messages if isinstance(message, Trade)] == ["a", "e"]
    assert sorted(stream.codes) == ["bad_number", "bad_time", "missing_field", "wrong_type", "wrong_type"]


def test_same_trades_without_ids_are_all_told() -> None:
    stream = futures_stream()
    frame = futures("push.deal", '[{"p":1,"v":2,"T":1,"t":1790000000116},{"p":1,"v":2,"T":1,"t":1790000000116}]')
    assert len(stream.push(frame).messages) == len(stream.push(frame).messages) == 2


def full(bids: list[tuple[str, str]], asks: list[tuple[str, str]], *, symbol: str = "BTC_USDT") -> bytes:
    data = contract_depth(7, 7, bids, asks, symbol=symbol, merged=False)
    return data.replace(b'"push.depth"', b'"push.depth.full"')


def test_quote_is_the_best_of_levels_in_any_order() -> None:
    output = futures_stream().push(
        full([("99", "5"), ("1.003E+2", "30"), ("100.2", "1")], [("101", "9"), ("100.4", "2"), ("100.35", "0")])
    )
    assert values(output) == ("100.3", "0.003", "100.4", "0.0002", 7, "30", "2")
    assert isinstance(output.messages[0], Quote)


def test_quote_of_a_contract_of_one() -> None:
    assert values(futures_stream().push(full([("2.1", "5")], [], symbol="XRP_USDT"))) == (
        "2.1",
        "5",
        None,
        None,
        7,
        None,
        None,
    )


def test_quote_that_is_sent_again_is_told_once() -> None:
    stream = futures_stream()
    stream.push(full([("99", "5"), ("98", "1")], [("101", "9")]))
    again = stream.push(full([("99", "5"), ("98", "2")], [("101", "9")]))
    assert (again.messages, again.duplicates) == ([], 1)
    assert len(stream.push(full([("99", "6")], [("101", "9")])).messages) == 1


def test_ticker_of_a_linear_contract() -> None:
    output = futures_stream().push(futures("push.ticker", TICKER % "BTC_USDT"))
    ticker, interest = output.messages
    assert isinstance(ticker, Ticker)
    assert (ticker.last_price, ticker.high_price, ticker.low_price) == ("84010.4", "84520.5", "82090")
    assert (ticker.bid_price, ticker.bid_size, ticker.ask_price) == ("84010.3", None, "84010.4")
    assert (ticker.volume, ticker.turnover) == ("91234.5678", "766012345.6789")
    assert (ticker.mark_price, ticker.index_price, ticker.funding_rate) == ("84008.2", "84009.7", "-0.000037")
    assert ticker.open_interest == "8812.3456"
    assert ticker.ts_exchange == 1_790_000_000_118_000_000
    assert isinstance(interest, OpenInterest)
    assert values(output, 1) == ("8812.3456", None, "88123456")


def test_ticker_of_an_inverse_contract() -> None:
    data = TICKER.replace('"fairPrice":84008.2', '"fairPrice":80000').replace('"holdVol":88123456', '"holdVol":1600')
    output = futures_stream().push(futures("push.ticker", data % "BTC_USD", "BTC_USD"))
    ticker = output.messages[0]
    assert isinstance(ticker, Ticker)
    assert (ticker.volume, ticker.turnover) == ("766012345.6789", "91234567800")
    assert values(output, 1) == ("2", "160000", "1600")


def test_ticker_with_what_little_it_must_have() -> None:
    output = futures_stream().push(futures("push.ticker", '{"lastPrice":5,"bid1":0,"ask1":null,"fundingRate":0}'))
    (ticker,) = output.messages
    assert isinstance(ticker, Ticker)
    given = {field: value for field, value in structs.asdict(ticker).items() if value is not None}
    assert given.keys() & {"bid_price", "ask_price", "volume", "open_interest"} == set()
    assert (ticker.last_price, ticker.funding_rate) == ("5", "0")
    assert ticker.ts_exchange == SENT * 1_000_000


def test_open_interest_is_told_when_it_changes() -> None:
    stream = futures_stream()
    frame = futures("push.ticker", TICKER % "BTC_USDT")
    more = frame.replace(b'"holdVol":88123456', b'"holdVol":88123457')
    feeds = [[message.feed for message in stream.push(data).messages] for data in (frame, frame, more)]
    assert feeds == [["ticker", "open_interest"], ["ticker"], ["ticker", "open_interest"]]
    stream.connect()
    assert len(stream.push(more).messages) == 2


def test_bad_ticker_does_not_take_the_others_along() -> None:
    stream = futures_stream()
    rows = [TICKER % "XRP_USDT", '{"symbol":"BTC_USD"}', TICKER % "NEW_USDT", '{"symbol":"BTC_USD","lastPrice":"x"}']
    output = stream.push(futures("push.tickers", f"[{','.join(rows)}]", None))
    assert {message.native_symbol for message in output.messages} == {"XRP_USDT"}
    assert sorted(stream.codes) == ["bad_number", "missing_field", "unknown_instrument"]


def test_funding_is_told_when_it_changes() -> None:
    stream = futures_stream()

    def rate(value: str, settles: str) -> Output:
        data = f'{{"symbol":"BTC_USDT","rate":{value},"nextSettleTime":{settles}}}'
        return stream.push(futures("push.funding.rate", data))

    first = rate("-2.1E-5", "1790006400000")
    assert isinstance(first.messages[0], Funding)
    assert values(first) == ("-0.000021", 1_790_006_400_000_000_000, None)
    again = rate("-0.000021", "1790006400000")
    assert (again.messages, again.duplicates) == ([], 1)
    assert values(rate("-0.000021", "1790035200000"))[1] == 1_790_035_200_000_000_000
    assert values(rate("0.0001", "0")) == ("0.0001", None, None)


def price(kind: str, value: str) -> bytes:
    return futures(f"push.{kind}.price", f'{{"symbol":"BTC_USDT","price":{value}}}')


def test_mark_price_takes_the_index_price_along() -> None:
    stream = futures_stream()
    assert stream.push(price("index", "99.5")).messages == [], "there is no mark price yet"
    first = stream.push(price("fair", "100"))
    assert isinstance(first.messages[0], MarkPrice)
    assert values(first) == ("100", "99.5")
    again = stream.push(price("fair", "100"))
    assert (again.messages, again.duplicates) == ([], 1)
    assert values(stream.push(price("index", "99.6"))) == ("100", "99.6")
    assert values(stream.push(price("fair", "1.001E+2"))) == ("100.1", "99.6")


def test_index_price_of_the_ticker_goes_with_the_next_mark_price() -> None:
    stream = futures_stream()
    stream.push(futures("push.ticker", TICKER % "BTC_USDT"))
    assert values(stream.push(price("fair", "100"))) == ("100", "84009.7")


def test_prices_that_were_shed_are_forgotten() -> None:
    stream = futures_stream()
    stream.push(price("index", "99.5"), price("fair", "100"))
    stream.send(mark(Shed([ShedItem("mark_price", "BTC_USD", "overflow", 1)])))
    assert stream.push(price("fair", "100")).duplicates == 1
    stream.send(mark(Shed([ShedItem("mark_price", "BTC_USDT", "overflow", 1)])))
    assert values(stream.push(price("fair", "100"))) == ("100", None)


def test_prices_of_a_connection_that_broke_are_forgotten() -> None:
    stream = futures_stream()
    stream.push(price("index", "99.5"), price("fair", "100"))
    stream.connect()
    assert stream.push(price("index", "99.7")).messages == []
    stream.connect()
    assert values(stream.push(price("fair", "100"))) == ("100", None)


@pytest.mark.parametrize(
    ("symbol", "volumes"),
    [
        ("BTC_USDT", ("12.0312", "1010700.251", "120312")),
        ("BTC_USD", ("1010700.251", "12031200", "120312")),
        ("XRP_USDT", ("120312", "1010700.251", None)),
    ],
)
def test_candle(symbol: str, volumes: tuple[str, str, str | None]) -> None:
    (message,) = futures_stream().push(futures("push.kline", KLINE % symbol, symbol)).messages
    assert isinstance(message, Candle)
    assert (message.volume, message.turnover, message.volume_native) == volumes
    assert (message.open, message.high, message.low, message.close) == ("84000.1", "84020.5", "83990", "84010")
    assert (message.interval, message.closed) == ("1m", None)
    assert (message.ts_open, message.ts_close) == (1_789_999_980_000_000_000, 1_790_000_040_000_000_000)


def test_candle_of_a_month_has_no_known_end() -> None:
    data = (KLINE % "BTC_USDT").replace("Min1", "Month1")
    (message,) = futures_stream().push(futures("push.kline", data)).messages
    assert isinstance(message, Candle)
    assert (message.interval, message.ts_close) == ("1M", None)


@pytest.mark.parametrize("contracts", ["9" * 90, "1e79", "1e999", "true"])
def test_numbers_beyond_what_a_message_holds_are_refused(contracts: str) -> None:
    stream = futures_stream()
    stream.push(futures("push.kline", (KLINE % "BTC_USD").replace("120312", contracts), "BTC_USD"))
    assert (stream.messages, stream.codes) == ([], ["bad_number"])


def test_rate_that_is_none() -> None:
    stream = futures_stream()
    stream.push(futures("push.funding.rate", '{"rate":"x"}'), futures("push.funding.rate", '{"rate":1e-999}'))
    assert (stream.messages, stream.codes) == ([], ["bad_number", "bad_number"])
