"""What the live table shows, and how late messages come."""

from msgspec.structs import replace

from services.cli.watch import Latencies, MarketWatch, Row
from shared.messages import AnyMessage, Quote, Ticker, decode_messages, encode_messages
from tests.unit.core.making import START, delta, every_message, status, trade


def test_no_latency_without_messages() -> None:
    """Rather none than zero."""
    assert Latencies().percentile(0.5) is None


def test_percentiles_in_microseconds() -> None:
    """Of nanoseconds taken in any order."""
    latencies = Latencies()
    for value in reversed(range(1, 1_002)):
        latencies.add(value * 1_000)
    assert (latencies.percentile(0.0), latencies.percentile(0.5), latencies.percentile(1.0)) == (1.0, 501.0, 1_001.0)


def test_sample_is_bounded_and_uniform() -> None:
    """A long run is told from a sample of all of it, neither its beginning nor its end."""
    latencies = Latencies(500)
    for value in range(20_000):
        latencies.add(value)
    assert latencies.count == 20_000
    assert len(latencies.sample) == 500
    quarters = [
        sum(quarter * 5_000 <= value < (quarter + 1) * 5_000 for value in latencies.sample) for quarter in range(4)
    ]
    assert all(75 < quarter < 175 for quarter in quarters)


def test_merged_samples() -> None:
    """All exchanges together."""
    one, other = Latencies(), Latencies()
    one.add(1_000)
    other.add(3_000)
    both = one.merged(other)
    assert (both.count, both.percentile(0.0), both.percentile(1.0)) == (2, 1.0, 3.0)
    assert (one.count, other.count) == (1, 1)


def test_rows_follow_messages() -> None:
    """Prices as last seen, messages, frames, gaps, and what was shed."""
    watch = MarketWatch()
    sent: list[AnyMessage] = [
        trade(frame=1),
        trade(frame=1, part=1),
        delta(frame=2),
        status(said="gap", frame=3),
        replace(status(said="shed", frame=4), count=7),
    ]
    for message in sent:
        watch.take([message], START + 2_000)
    row = watch.rows["tiny", "BTC/USDT"]
    assert row == Row("tiny", "BTC/USDT", None, None, "64000.10", 4, 5, 1, 7, 2.0)
    assert watch.messages == 5
    assert watch.latencies["tiny"].count == 5


def test_bid_and_ask_come_from_quotes_and_tickers() -> None:
    """A quote says what there is, a ticker may say nothing of it."""
    watch = MarketWatch()
    quote, ticker = (one for one in every_message() if isinstance(one, Quote | Ticker))
    assert isinstance(ticker, Ticker)
    assert isinstance(quote, Quote)
    watch.take([quote], START)
    watch.take([replace(ticker, bid_price=None)], START)
    row = watch.rows["tiny", "BTC/USDT"]
    assert (row.bid, row.ask, row.last) == ("1", "4", "1")
    watch.take([replace(quote, bid_price=None, bid_size=None)], START)
    assert row.bid is None


def test_messages_of_a_whole_stream_have_no_row() -> None:
    """They are counted all the same."""
    watch = MarketWatch()
    watch.take(decode_messages(encode_messages([status(None, "connected")])), START)
    assert (watch.rows, watch.messages) == ({}, 1)
