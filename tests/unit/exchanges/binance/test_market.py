import pytest

from shared.envelope import Frame
from shared.exchanges.base import Output
from shared.messages import Candle, Funding, Liquidation, MarkPrice, OpenInterest, Quote, Ticker, Trade
from tests.contract.driving import Driver, text
from tests.unit.exchanges.binance import frames as f


def one(product: str, topic: str, event: object) -> Output:
    return f.driver(product).send(text(f.wrapped(topic, event)))


def test_trade() -> None:
    (message,) = one("spot", "ethusdt@trade", f.trade(7_001)).messages
    assert isinstance(message, Trade)
    assert (message.symbol, message.native_symbol) == ("ETH/USDT", "ETHUSDT")
    assert (message.trade_id, message.price, message.size, message.side) == ("7001", "3120.55", "0.2500", "sell")
    assert message.ts_exchange == (f.E - 2) * 1_000_000


def test_buyer_that_was_resting_means_that_the_taker_sold() -> None:
    sides = [
        message.side
        for maker in (True, False)
        for message in one("spot", "ethusdt@trade", f.trade(maker=maker)).messages
        if isinstance(message, Trade)
    ]
    assert sides == ["sell", "buy"]


def test_aggregate_trade_has_its_own_ids() -> None:
    stream = f.driver("usdm")
    stream.send(text(f.wrapped("ethusdt@aggTrade", f.agg_trade(5))), text(f.wrapped("ethusdt@trade", f.trade(5))))
    assert [message.trade_id for message in stream.messages if isinstance(message, Trade)] == ["5", "5"]
    again = stream.send(text(f.wrapped("ethusdt@aggTrade", f.agg_trade(5))))
    assert (again.messages, again.duplicates) == ([], 1)


@pytest.mark.parametrize("execution", ["INSURANCE_FUND", "ADL", "NA"])
def test_what_did_not_come_from_the_order_book_is_no_market_trade(execution: str) -> None:
    output = one("usdm", "ethusdt@trade", f.trade(X=execution))
    assert (output.messages, output.rejections) == ([], [])
    assert one("usdm", "ethusdt@trade", f.trade(X="MARKET")).messages


def test_rejected_trade_is_not_remembered() -> None:
    stream = f.driver()
    assert stream.send(text(f.wrapped("ethusdt@trade", f.trade(price="")))).rejections
    assert stream.send(text(f.wrapped("ethusdt@trade", f.trade()))).messages


def test_spot_quote_has_no_time() -> None:
    (message,) = one("spot", "ethusdt@bookTicker", f.book_ticker(501)).messages
    assert isinstance(message, Quote)
    assert (message.bid_price, message.bid_size) == ("3120.50", "4.2000")
    assert (message.ask_price, message.ask_size) == ("3120.60", "0.9000")
    assert (message.ts_exchange, message.sequence) == (None, 501)


def test_usdm_quote_has_the_time_of_the_matching_engine() -> None:
    event = f.book_ticker(501, e="bookTicker", E=f.E, T=f.E - 7, st=1)
    (message,) = one("usdm", "ethusdt@bookTicker", event).messages
    assert message.ts_exchange == (f.E - 7) * 1_000_000


@pytest.mark.parametrize("size", ["0.00000000", "0", ""])
def test_empty_side_of_a_quote_is_null(size: str) -> None:
    event = f.book_ticker(b="0.00000000" if size else "", B=size)
    (message,) = one("spot", "ethusdt@bookTicker", event).messages
    assert isinstance(message, Quote)
    assert (message.bid_price, message.bid_size) == (None, None)
    assert message.ask_price == "3120.60"


def test_unchanged_quote_is_told_once_per_epoch() -> None:
    stream = f.driver()
    frame = text(f.wrapped("ethusdt@bookTicker", f.book_ticker(501)))
    newer = text(f.wrapped("ethusdt@bookTicker", f.book_ticker(502)))
    assert [len(stream.send(each).messages) for each in (frame, newer)] == [1, 0]
    assert stream.outputs[-1].duplicates == 1
    changed = text(f.wrapped("ethusdt@bookTicker", f.book_ticker(503, A="0.8")))
    assert len(stream.send(changed).messages) == 1
    stream.connect()
    assert len(stream.send(changed).messages) == 1


def test_spot_ticker_is_complete() -> None:
    (message,) = one("spot", "ethusdt@ticker", f.spot_ticker()).messages
    assert isinstance(message, Ticker)
    assert (message.last_price, message.open_price) == ("3120.55", "3140.65")
    assert (message.high_price, message.low_price) == ("3190.00", "3088.12")
    assert (message.volume, message.turnover) == ("99123.4400", "310432111.98")
    assert (message.bid_price, message.bid_size, message.ask_price, message.ask_size) == (
        "3120.50", "4.2000", "3120.60", "0.9000",
    )  # fmt: skip
    assert message.ts_exchange == f.E * 1_000_000


def test_usdm_ticker_has_no_best_prices() -> None:
    (message,) = one("usdm", "ethusdt@ticker", f.usdm_ticker()).messages
    assert isinstance(message, Ticker)
    assert (message.last_price, message.bid_price, message.ask_price) == ("3120.55", None, None)


def test_mark_price_brings_funding() -> None:
    mark, funding = one("usdm", "ethusdt@markPrice@1s", f.mark_price()).messages
    assert isinstance(mark, MarkPrice)
    assert (mark.mark_price, mark.index_price) == ("3120.71000000", "3121.04000000")
    assert isinstance(funding, Funding)
    assert (funding.rate, funding.ts_next_funding) == ("-0.00012500", 1_790_006_400_000_000_000)
    assert (mark.part, funding.part) == (0, 1)


def test_only_what_changed_is_told() -> None:
    stream = f.driver("usdm")

    def feeds(**more: object) -> list[str]:
        output = stream.send(text(f.wrapped("ethusdt@markPrice@1s", f.mark_price(**more))))
        return [message.feed for message in output.messages]

    assert feeds() == ["mark_price", "funding"]
    assert feeds() == []
    assert feeds(p="3120.72") == ["mark_price"]
    assert feeds(p="3120.72", r="0.0001") == ["funding"]
    assert feeds(p="3120.72", r="0.0001", T=1_790_035_200_000) == ["funding"]
    stream.connect()
    assert feeds() == ["mark_price", "funding"]


def test_dated_future_has_no_funding() -> None:
    event = f.mark_price(s="ETHUSDT_270326", r="", T=0)
    output = one("usdm", "ethusdt_270326@markPrice@1s", event)
    assert [(message.feed, message.symbol) for message in output.messages] == [("mark_price", "ETH/USDT:USDT-270326")]


def test_broken_funding_rate_rejects_the_frame() -> None:
    output = one("usdm", "ethusdt@markPrice@1s", f.mark_price(r="NaN"))
    assert output.messages == []
    assert [rejection.code for rejection in output.rejections] == ["bad_number"]


def test_liquidation_has_the_side_of_the_order() -> None:
    (message,) = one("usdm", "ethusdt@forceOrder", f.force_order()).messages
    assert isinstance(message, Liquidation)
    assert (message.side, message.price, message.size) == ("sell", "3055.20", "14.500")
    assert (message.average_price, message.ts_exchange) == ("3061.07", (f.E - 5) * 1_000_000)


@pytest.mark.parametrize(("side", "told"), [("BUY", "buy"), ("SELL", "sell"), ("BOTH", "unknown")])
def test_unknown_side_is_said(side: str, told: str) -> None:
    (message,) = one("usdm", "ethusdt@forceOrder", f.force_order(S=side, ap="0")).messages
    assert isinstance(message, Liquidation)
    assert (message.side, message.average_price) == (told, None)


def test_candle() -> None:
    (message,) = one("spot", "ethusdt@kline_1m", f.kline()).messages
    assert isinstance(message, Candle)
    assert (message.interval, message.closed, message.trades) == ("1m", False, 43)
    assert (message.open, message.high, message.low, message.close) == ("3119.00", "3121.90", "3118.40", "3120.55")
    assert (message.volume, message.turnover) == ("88.1000", "274890.15")
    assert (message.ts_open, message.ts_close) == (1_789_999_980_000_000_000, 1_790_000_039_999_000_000)


@pytest.mark.parametrize("interval", ["1m", "5m", "15m", "30m", "1h", "4h", "1d", "1w", "1M"])
def test_intervals_have_the_names_that_messages_use(interval: str) -> None:
    (message,) = one("usdm", f"ethusdt@kline_{interval}", f.kline(i=interval)).messages
    assert isinstance(message, Candle)
    assert message.interval == interval


def test_unknown_interval_is_rejected() -> None:
    output = one("spot", "ethusdt@kline_9m", f.kline(i="9m"))
    assert [rejection.code for rejection in output.rejections] == ["wrong_type"]


def test_open_interest_is_told_when_it_changes() -> None:
    stream = f.driver("usdm")
    (message,) = stream.send(f.open_interest_reply()).messages
    assert isinstance(message, OpenInterest)
    assert (message.open_interest, message.ts_exchange) == ("10659.509", f.E * 1_000_000)
    assert stream.send(f.open_interest_reply()).messages == []
    assert len(stream.send(f.open_interest_reply("10660.1")).messages) == 1


COIN_M: tuple[tuple[str, object], ...] = (
    ("ethusd_perp@aggTrade", f.agg_trade(s="ETHUSD_PERP", st=2)),
    ("ethusd_perp@trade", f.trade(s="ETHUSD_PERP", st=2)),
    ("!bookTicker", f.book_ticker(e="bookTicker", s="ETHUSD_PERP", st=2)),
    ("!ticker@arr", [f.usdm_ticker(s="ETHUSD_PERP", st=2)]),
    ("!markPrice@arr@1s", [f.mark_price(s="ETHUSD_PERP", st=2)]),
    ("!forceOrder@arr", f.force_order(s="ETHUSD_PERP") | {"st": 2}),
    ("ethusd_perp@kline_1m", f.kline() | {"s": "ETHUSD_PERP", "st": 2}),
    ("ethusd_perp@depth@100ms", f.depth(1, 2, 0, s="ETHUSD_PERP", st=2)),
    ("ethusd_perp@depth5", f.depth(1, 2, 0, s="ETHUSD_PERP", st=2)),
)


@pytest.mark.parametrize(("topic", "event"), COIN_M, ids=[topic for topic, _ in COIN_M])
def test_coin_margined_instruments_are_left_out(topic: str, event: object) -> None:
    output = one("usdm", topic, event)
    assert (output.messages, output.rejections, output.resyncs) == ([], [], [])


@pytest.mark.parametrize("time", [-1, 10**13, 2**60])
def test_time_that_is_none_is_rejected(time: int) -> None:
    output = one("spot", "ethusdt@trade", f.trade(T=time))
    assert [rejection.code for rejection in output.rejections] == ["bad_time"]


def codes(stream: Driver, frame: Frame) -> list[str]:
    return [rejection.code for rejection in stream.send(frame).rejections]


@pytest.mark.parametrize(("number", "code"), [(2**63, "wrong_type"), (-1, "wrong_type"), (1.5, "wrong_type")])
def test_id_beyond_64_bits_is_rejected(number: float, code: str) -> None:
    event = f.trade() | {"t": number}
    assert codes(f.driver(), text(f.wrapped("ethusdt@trade", event))) == [code]
