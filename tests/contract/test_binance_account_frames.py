"""Every recorded private frame gives records or a named rejection."""

import pytest

from shared.accounts.base import Found
from shared.envelope import Frame, FrameKind
from shared.errors import ParseError
from shared.exchanges.base import Rejection
from shared.exchanges.binance.account import ACCOUNT_ADAPTER
from shared.instruments import InstrumentTable
from tests.contract.account_conformance import check_found
from tests.contract.account_samples import messages_of, origin_of
from tests.support.paths import SHARED, needs_shared

pytestmark = needs_shared

FRAMES = SHARED / "frames" / "binance"
SPOT, USDM = ACCOUNT_ADAPTER.plan("main", ["spot", "usdm"], (), ACCOUNT_ADAPTER.products)
NOTHING = "nothing"
"""An answer, or an event that has no message."""

# What is no record, line by line; every other line gives one or more.
SPECIAL: dict[str, dict[int, str]] = {
    # 1 and 6 answer requests; 4 has a COIN-M position beside its balance, 7 is of equities, 11 of options.
    "private_samples_ccxt.jsonl": {
        1: NOTHING,
        4: "unknown_instrument",
        6: NOTHING,
        7: "unknown_event",
        11: "unknown_event",
    },
    # The list of an order list, the announced end.
    "spot_private_docs_examples.jsonl": {4: NOTHING, 5: NOTHING},
    "spot_private_fixtures_nautilus.jsonl": {11: NOTHING},
    # 8 is the delivery of a COIN-M future, 14 a TRADE_LITE.
    "usdm_private_fixtures_nautilus.jsonl": {8: "unknown_instrument", 14: NOTHING},
    "synthetic/spot_private_lifecycle.synthetic.jsonl": {1: NOTHING, 10: NOTHING},
    # Requests, which no venue sends, and the answers to them.
    "spot_wsapi_docs_examples.jsonl": dict.fromkeys((2, 4, 6, 8, 10, 12, 14), "missing_field")
    | dict.fromkeys((3, 5, 7, 9, 11, 13, 15), NOTHING),
    # The first four are market data.
    "spot_fixtures_gct.jsonl": dict.fromkeys((1, 2, 3, 4), "unknown_event") | {6: NOTHING},
}
USDM_EVENTS = (
    b"ORDER_TRADE_UPDATE",
    b"ACCOUNT_UPDATE",
    b"ALGO_UPDATE",
    b"TRADE_LITE",
    b"BALANCE_POSITION",
    b"orderReport",
)


def parsed(data: bytes) -> Found:
    plan = USDM if any(name in data[:60] for name in USDM_EVENTS) else SPOT
    parser = ACCOUNT_ADAPTER.parser(plan, {plan.products[0]: InstrumentTable()})
    try:
        found = parser.data(origin_of(plan), Frame(FrameKind.TEXT, 0, data))
    except ParseError as error:
        return Found([], [], [], [], [Rejection(error.code, error.detail)])
    check_found(plan, found, "stream")
    return found


@pytest.mark.parametrize("name", SPECIAL)
def test_each_line_gives_records_or_the_right_rejection(name: str) -> None:
    told = {}
    for line, data in enumerate((FRAMES / name).read_bytes().splitlines(), start=1):
        found = parsed(data)
        if found.rejections:
            told[line] = ",".join(rejection[0] for rejection in found.rejections)
        elif not messages_of(found):
            told[line] = NOTHING
    assert told == SPECIAL[name]


def test_every_private_file_is_looked_at() -> None:
    seen = {path.relative_to(FRAMES).as_posix() for path in FRAMES.glob("**/*private*.jsonl")}
    assert seen <= set(SPECIAL)


def test_life_of_two_orders() -> None:
    lines = (FRAMES / "synthetic" / "spot_private_lifecycle.synthetic.jsonl").read_bytes().splitlines()
    found = [parsed(line) for line in lines]
    statuses = [(order.client_order_id, order.status) for one in found for order in one.orders]
    assert statuses == [
        ("gw-0001", "new"),
        ("gw-0001", "partially_filled"),
        ("gw-0001", "filled"),
        ("gw-0001", "filled"),
        ("gw-0002", "canceled"),
    ]
    assert [fill.execution_id for one in found for fill in one.fills] == ["900001", "900002", "900002"]
    assert [change.change for one in found for change in one.changes or ()] == ["100.00000000"]


def test_kinds_of_forced_fills() -> None:
    lines = (FRAMES / "usdm_private_fixtures_nautilus.jsonl").read_bytes().splitlines()
    kinds = {fill.client_order_id: fill.kind for line in lines for fill in parsed(line).fills}
    assert kinds == {
        "adl_autoclose_12345": "adl",
        "autoclose-1234567890": "liquidation",
        "autoclose-insurance-5678": "liquidation",
        "settlement_autoclose-9999": "settlement",
        "TEST": "trade",
    }
