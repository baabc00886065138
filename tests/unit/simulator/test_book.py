from hypothesis import given
from hypothesis import strategies as st

from services.simulator.engine.book import Book, Watch

STEP = 1
orders = st.lists(st.tuples(st.booleans(), st.integers(90, 110), st.integers(1, 50)), max_size=60)


def _submit(book: Book, number: int, tick: int, lots: int, *, buy: bool) -> int:
    fills, left = book.match(tick, lots, STEP, buy=buy)
    if left:
        book.add(number, tick, left, STEP, buy=buy)
    return sum(fill.lots for fill in fills)


@given(orders)
def test_the_book_is_never_crossed_and_no_quantity_appears_or_vanishes(sequence: list[tuple[bool, int, int]]) -> None:
    book, submitted, filled = Book(0), 0, 0
    for number, (buy, tick, lots) in enumerate(sequence):
        submitted += lots
        filled += _submit(book, number, tick, lots, buy=buy)
        assert book.best_bid is None or book.best_ask is None or book.best_bid < book.best_ask
    resting = sum(level.total for side in (book.bids, book.asks) for level in side.values())
    assert submitted == resting + 2 * filled


@given(orders)
def test_levels_hold_what_their_orders_hold_and_prices_are_sorted(sequence: list[tuple[bool, int, int]]) -> None:
    book = Book(0)
    for number, (buy, tick, lots) in enumerate(sequence):
        _submit(book, number, tick, lots, buy=buy)
    for ticks, levels in ((book.bid_ticks, book.bids), (book.ask_ticks, book.asks)):
        assert ticks == sorted(levels)
        assert all(level.total == sum(level.orders.values()) > 0 for level in levels.values())
    assert set(book.resting) == {
        order for side in (book.bids, book.asks) for one in side.values() for order in one.orders
    }


@given(orders)
def test_a_watch_and_its_log_tell_every_changed_level(sequence: list[tuple[bool, int, int]]) -> None:
    book = Book(1000)
    for number, (buy, tick, lots) in enumerate(sequence[:20]):
        _submit(book, number, tick, lots, buy=buy)
    copy = {True: dict(book.top_bids(1000)), False: dict(book.top_asks(1000))}
    logged = {True: dict(copy[True]), False: dict(copy[False])}
    book.watches.append(watch := Watch())
    watch.log = []
    for number, (buy, tick, lots) in enumerate(sequence[20:], start=20):
        _submit(book, number, tick, lots, buy=buy)
    for buy, ticks in ((True, watch.bids), (False, watch.asks)):
        copy[buy].update({tick: book.size_at(tick, buy=buy) for tick in ticks})
    for _, buy, tick, lots in watch.log:
        logged[buy][tick] = lots
    for replayed in (copy, logged):
        assert {tick: lots for tick, lots in replayed[True].items() if lots} == dict(book.top_bids(1000))
        assert {tick: lots for tick, lots in replayed[False].items() if lots} == dict(book.top_asks(1000))


def test_the_oldest_order_at_the_best_price_is_filled_first() -> None:
    book = Book(0)
    for order, tick in ((1, 101), (2, 100), (3, 100)):
        book.add(order, tick, 5, STEP, buy=False)
    fills, left = book.match(101, 12, STEP, buy=True)
    assert [(fill.maker, fill.tick, fill.lots) for fill in fills] == [(2, 100, 5), (3, 100, 5), (1, 101, 2)]
    assert left == 0
    assert book.top_asks(5) == [(101, 3)]


def test_a_cancelled_order_leaves_no_level_behind() -> None:
    book = Book(0)
    book.add(1, 99, 4, STEP, buy=True)
    assert book.cancel(1, STEP) == 4
    assert book.best_bid is None
    assert book.resting == {}


def test_every_change_of_a_level_has_an_id_of_its_own() -> None:
    book = Book(10)
    book.add(1, 99, 4, 3, buy=True)
    book.add(2, 98, 4, 3, buy=True)
    book.match(None, 6, 3, buy=False)
    assert book.update_id == 10 + 4 * 3
