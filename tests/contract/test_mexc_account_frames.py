"""Every recorded private frame gives records or a named rejection."""

from base64 import b64decode
from collections.abc import Iterator

import pytest

from shared.accounts.base import Found
from shared.envelope import Frame, FrameKind
from shared.errors import ParseError
from shared.exchanges.base import Rejection
from shared.exchanges.mexc.account import ACCOUNT_ADAPTER
from shared.instruments import InstrumentTable
from tests.contract.account_conformance import check_found
from tests.contract.account_samples import messages_of, origin_of
from tests.support.paths import SHARED, needs_shared
from tests.unit.exchanges.mexc.frames import contract, spot

pytestmark = needs_shared

FRAMES = SHARED / "frames" / "mexc"
SPOT, FUTURES = ACCOUNT_ADAPTER.plan("main", ["spot", "futures"], (), ACCOUNT_ADAPTER.products)
LISTED = {
    "spot": InstrumentTable([spot("MXUSDT"), spot("EXAMPLEUSDT"), spot("BTCUSDT")]),
    "futures": InstrumentTable([contract("CRV_USDT", "1"), contract("BTC_USDT", "0.0001")]),
}
NOTHING = "nothing"
"""An answer, or an event that has no message."""

# What is no record, line by line; every other line gives one or more.
SPECIAL: dict[str, dict[int, str]] = {
    # 5 is a level of auto-deleveraging, 6 the position mode.
    "futures_private_docs_examples.jsonl": {1: NOTHING, 5: NOTHING, 6: NOTHING},
    "private_samples_ccxt.jsonl": {},
    # Answers, and the notice of closing.
    "synthetic/futures_private_lifecycle.synthetic.jsonl": dict.fromkeys((1, 2, 11, 12), NOTHING),
    "spot_private.doc_examples_synth.b64": {},
    "spot_private.reencoded_from_real_values.b64": {},
    "synthetic/spot_private_lifecycle.synthetic.b64": {},
}


def parsed(data: bytes, *, binary: bool) -> Found:
    plan = SPOT if binary else FUTURES
    kind = FrameKind.BINARY if binary else FrameKind.TEXT
    try:
        found = ACCOUNT_ADAPTER.parser(plan, LISTED).data(origin_of(plan), Frame(kind, 0, data))
    except ParseError as error:
        return Found([], [], [], [], [Rejection(error.code, error.detail)])
    check_found(plan, found, "stream")
    return found


def lines(name: str) -> Iterator[Found]:
    binary = name.endswith(".b64")
    for line in (FRAMES / name).read_bytes().splitlines():
        yield parsed(b64decode(line) if binary else line, binary=binary)


@pytest.mark.parametrize("name", SPECIAL)
def test_each_line_gives_records_or_the_right_rejection(name: str) -> None:
    told = {}
    for line, found in enumerate(lines(name), start=1):
        if found.rejections:
            told[line] = ",".join(rejection[0] for rejection in found.rejections)
        elif not messages_of(found):
            told[line] = NOTHING
    assert told == SPECIAL[name]


def test_every_private_file_is_looked_at() -> None:
    seen = {path.relative_to(FRAMES).as_posix() for path in FRAMES.glob("**/*private*") if path.suffix != ".txt"}
    assert {name for name in seen if ".decoded." not in name} == set(SPECIAL)


def test_life_of_two_spot_orders() -> None:
    found = list(lines("synthetic/spot_private_lifecycle.synthetic.b64"))
    assert [(order.client_order_id, order.status, order.filled_size) for one in found for order in one.orders] == [
        ("gw-0001", "new", "0"),
        ("gw-0001", "partially_filled", "0.0004"),
        ("gw-0001", "filled", "0.001"),
        ("gw-0002", "new", "0"),
        ("gw-0002", "canceled", "0"),
    ]
    ids = [fill.execution_id for one in found for fill in one.fills]
    assert len(ids) == 3
    assert ids[1] == ids[2], "the venue repeated itself: the account's state tells it once"
    assert {change.change for one in found for change in one.balances} == {None}


def test_life_of_a_futures_order() -> None:
    found = list(lines("synthetic/futures_private_lifecycle.synthetic.jsonl"))
    orders = [order for one in found for order in one.orders]
    assert [(order.status, order.filled_size, order.filled_size_native) for order in orders] == [
        ("new", "0", None),
        ("partially_filled", "0.0004", "4"),
        ("filled", "0.001", "10"),
        ("partially_filled", "0.0004", "4"),
    ]
    assert orders[3].ts_updated is not None
    assert orders[2].ts_updated is not None
    assert orders[3].ts_updated < orders[2].ts_updated, "an older version came late"
    assert [(fill.size, fill.size_native, fill.order_id) for one in found for fill in one.fills] == [
        ("0.0004", "4", orders[0].order_id),
        ("0.0006", "6", orders[0].order_id),
    ]
