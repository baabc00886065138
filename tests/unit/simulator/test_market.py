import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.simulator import DEFAULT_INSTRUMENTS
from services.simulator.engine import Liquidation, Market, Trade
from services.simulator.engine.candles import MINUTE_MS
from services.simulator.engine.market import MOST_EVENTS_PER_STEP
from services.simulator.instruments import Instrument
from tests.unit.simulator.client import SECOND_NS, START_NS, driven, market


@pytest.mark.parametrize(
    "one", DEFAULT_INSTRUMENTS, ids=lambda one: f"{one.exchange}-{one.product}-{one.native_symbol}"
)
def test_every_instrument_has_a_market_that_is_deep_moves_and_keeps_the_books_balanced(one: Instrument) -> None:
    run = Market(one, 3, START_NS, 50.0)
    tap: list[Trade] = []
    run.trade_taps.append(tap)
    before = run.book.update_id
    driven(run, 20)
    book = run.book
    assert len(book.bid_ticks) > 50
    assert len(book.ask_ticks) > 50
    assert book.best_bid is not None
    assert book.best_ask is not None
    assert book.best_bid < book.best_ask
    assert {trade.buy for trade in tap} == {True, False}
    assert book.update_id > before
    spent = run.cancelled_lots + run.dropped_lots + 2 * run.filled_lots
    assert run.submitted_lots == run.resting_lots() + spent


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), step_ms=st.sampled_from([1, 7, 10, 50, 333]))
def test_a_seed_and_a_clock_give_one_tape_however_fine_the_steps(seed: int, step_ms: int) -> None:
    tapes = []
    for step_ns in (10_000_000, step_ms * 1_000_000):
        run = market("bybit", "linear", "BTCUSDT", rate=40.0, seed=seed)
        tap: list[Trade] = []
        run.trade_taps.append(tap)
        driven(run, 3 + step_ns / SECOND_NS, step_ns)
        tapes.append([trade for trade in tap if trade.ts_ns < START_NS + 3 * SECOND_NS])
    assert tapes[0] == tapes[1]
    assert tapes[0]


def test_other_seeds_give_other_tapes() -> None:
    runs = [market("bybit", "spot", "BTCUSDT", seed=seed) for seed in (1, 2)]
    for run in runs:
        driven(run, 5)
    assert [trade.tick for trade in runs[0].trades] != [trade.tick for trade in runs[1].trades]


def test_candles_and_statistics_say_what_the_trades_say() -> None:
    run = market("binance", "spot", "BTCUSDT", rate=100.0)
    tap: list[Trade] = []
    run.trade_taps.append(tap)
    run.candles.get(5 * MINUTE_MS, START_NS // 1_000_000)
    run.candles.get(0, START_NS // 1_000_000)
    driven(run, 150)
    for minute in run.candles.minutes:
        inside = [trade for trade in tap if minute.start_ms <= trade.ts_ns // 1_000_000 < minute.end_ms]
        assert minute.trades == len(inside) > 0
        assert minute.volume == sum(trade.lots for trade in inside)
        assert minute.turnover == sum(trade.lots * trade.tick for trade in inside)
        assert minute.buy_volume == sum(trade.lots for trade in inside if trade.buy)
        assert minute.close == inside[-1].tick
        assert (minute.high, minute.low) == (
            max(minute.open, *(trade.tick for trade in inside)),
            min(minute.open, *(trade.tick for trade in inside)),
        )
        assert (minute.first_trade, minute.last_trade) == (inside[0].id, inside[-1].id)
    month = run.candles.get(0, run.now_ns // 1_000_000)
    assert month.volume == run.statistics.volume == sum(trade.lots for trade in tap)
    assert run.statistics.last == tap[-1].tick


def test_a_longer_interval_asked_for_late_starts_from_the_minutes_that_were() -> None:
    run = market("bybit", "spot", "ETHUSDT", rate=100.0)
    now_ns = driven(run, 130)
    hour = run.candles.get(60 * MINUTE_MS, now_ns // 1_000_000)
    minutes = [*run.candles.minutes, run.candles.current[MINUTE_MS]]
    assert hour.volume == sum(minute.volume for minute in minutes)
    assert hour.trades == sum(minute.trades for minute in minutes)


def test_a_burst_multiplies_the_rate_brings_liquidations_and_ends() -> None:
    run = market("binance", "usdm", "BTCUSDT", rate=20.0)
    tap: list[Liquidation] = []
    run.liquidation_taps.append(tap)
    now_ns = driven(run, 10)
    calm, before = run.events, len(tap)
    run.burst(50, now_ns + 10 * SECOND_NS)
    now_ns = driven(run, 10)
    assert run.events - calm > 20 * calm
    assert len(tap) - before > 50
    busy = run.events
    driven(run, 10)
    assert run.events - busy < 20 * calm


def test_a_cascade_runs_in_one_direction() -> None:
    run = market("bybit", "linear", "ETHUSDT")
    now_ns = driven(run, 1)
    tap: list[Liquidation] = []
    run.liquidation_taps.append(tap)
    run.burst(100, now_ns + 5 * SECOND_NS)
    driven(run, 4)
    assert len({one.buy for one in tap}) == 1


def test_a_paused_market_stands_still_and_does_not_catch_up() -> None:
    run = market("mexc", "spot", "BTCUSDT", rate=100.0)
    driven(run, 1)
    events, update_id = run.events, run.book.update_id
    run.paused = True
    run.step(run.now_ns + 60 * SECOND_NS)
    assert (run.events, run.book.update_id) == (events, update_id)
    run.paused = False
    run.step(run.now_ns + 60 * SECOND_NS + 10_000_000)
    assert run.events - events < MOST_EVENTS_PER_STEP


def test_what_a_step_cannot_do_is_skipped_and_counted() -> None:
    run = market("mexc", "spot", "BTCUSDT", rate=1000.0)
    assert run.step(run.now_ns + 10 * SECOND_NS) == MOST_EVENTS_PER_STEP
    assert run.skipped > 9000


def test_funding_moves_to_the_next_period_and_stays_within_its_bounds() -> None:
    run = market("binance", "usdm", "BTCUSDT", rate=1.0)
    first = run.derivatives.next_funding_ms
    assert first > START_NS // 1_000_000
    for second in range(1, 10):
        run.step(first * 1_000_000 + second * SECOND_NS)
    assert run.derivatives.next_funding_ms == first + 8 * 3_600_000
    assert abs(run.derivatives.rate) <= 500_000
