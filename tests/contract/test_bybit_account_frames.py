"""Every recorded private frame gives records or a named rejection."""

import pytest

from shared.accounts.base import Found
from shared.envelope import Frame, FrameKind, RestReply
from shared.errors import ParseError
from shared.exchanges.base import Rejection
from shared.exchanges.bybit.account import ACCOUNT_ADAPTER
from shared.instruments import InstrumentTable
from tests.contract.account_conformance import check_found
from tests.contract.account_samples import messages_of, origin_of
from tests.support.paths import SHARED, needs_shared

pytestmark = needs_shared

FRAMES = SHARED / "frames" / "bybit"
PLAN = ACCOUNT_ADAPTER.plan("main", list(ACCOUNT_ADAPTER.products), (), ACCOUNT_ADAPTER.products)[0]
NOTHING = "nothing"
"""An answer, a pong, or fast executions, which the full ones follow."""

# What is no record, line by line; every other line gives one or more.
SPECIAL: dict[str, dict[int, str]] = {
    "auth_replies.real.jsonl": dict.fromkeys((1, 2, 3), NOTHING),
    # Greeks, an option's order, a strategy of the venue's own.
    "docs_examples_private.jsonl": {2: NOTHING, 3: "unknown_event", 4: "unknown_event", 6: "unknown_event"},
    # An order of BTCUSDT that says it was an option's, greeks.
    "private_fixtures_gct.jsonl": {2: "unknown_event", 4: "unknown_event"},
    # 19 is a row without its message.
    "private_fixtures_nautilus.jsonl": {3: NOTHING, 4: NOTHING, 19 - 1: "unknown_event"},
    # Topics of an older version, order entry, an option.
    "private_samples_ccxt.jsonl": dict.fromkeys((1, 7, 8), "unknown_event")
    | {5: "wrong_type", 6: "missing_field"}
    | dict.fromkeys((3, 10, 11, 12), NOTHING),
    "synthetic/private_lifecycle.synthetic.jsonl": dict.fromkeys((1, 2, 4, 20), NOTHING),
}


def parsed(data: bytes) -> Found:
    parser = ACCOUNT_ADAPTER.parser(PLAN, {product: InstrumentTable() for product in PLAN.products})
    try:
        found = parser.data(origin_of(PLAN), Frame(FrameKind.TEXT, 0, data))
    except ParseError as error:
        return Found([], [], [], [], [Rejection(error.code, error.detail)])
    check_found(PLAN, found, "stream")
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


def test_life_of_three_orders() -> None:
    lines = (FRAMES / "synthetic" / "private_lifecycle.synthetic.jsonl").read_bytes().splitlines()
    found = [parsed(line) for line in lines]
    statuses = [(order.client_order_id, order.status) for one in found for order in one.orders]
    assert statuses == [
        ("gw-0001", "new"),
        ("gw-0001", "partially_filled"),
        ("gw-0001", "filled"),
        ("gw-0001", "partially_filled"),
        ("gw-0002", "new"),
        ("gw-0002", "canceled"),
        ("gw-0003", "rejected"),
    ]
    executions = [(fill.execution_id[:4], fill.size) for one in found for fill in one.fills]
    assert executions == [("d8da", "0.001"), ("a18c", "0.002"), ("a18c", "0.002"), ("6b31", "0.001")]
    (payment,) = [payment for one in found for payment in one.changes or ()]
    assert (payment.asset, payment.change) == ("USDT", "-0.01680200")


def test_rest_replies() -> None:
    paths = {
        "/v5/position/list?category=linear&settleCoin=USDT": (1, 2),
        "/v5/account/wallet-balance?accountType=UNIFIED": (3, 4, 5),
        "/v5/order/realtime?category=linear&settleCoin=USDT&openOnly=0": (6, 7),
        "/v5/execution/list?category=linear": (8,),
    }
    lines = (FRAMES / "rest_replies_nautilus.jsonl").read_bytes().splitlines()
    parser = ACCOUNT_ADAPTER.parser(PLAN, {product: InstrumentTable() for product in PLAN.products})
    told = {}
    for path, numbers in paths.items():
        for number in numbers:
            reply = RestReply(f"https://api.bybit.com{path}", 200, lines[number - 1])
            found = parser.caught_up(origin_of(PLAN), [reply])
            assert found.rejections == [], number
            check_found(PLAN, found, "rest")
            told[number] = [one.feed for one in messages_of(found)]
    assert told == {
        1: ["position"] * 3,
        2: ["position"],
        3: ["balance"] * 3,
        4: ["balance"] * 2,
        5: ["balance"],
        6: ["order"] * 2,
        7: ["order"] * 2,
        8: ["fill"] * 2,
    }
    for product, line in (("linear", lines[8]), ("spot", lines[9])):
        reply = RestReply(f"https://api.bybit.com/v5/market/instruments-info?category={product}", 200, line)
        assert {one.native_symbol for one in ACCOUNT_ADAPTER.instruments(PLAN, reply)} == {"BTCUSDT", "ETHUSDT"}
        assert ACCOUNT_ADAPTER.next_instruments(PLAN, ACCOUNT_ADAPTER.instrument_requests(PLAN)[0], reply) is None
