"""One private connection, message by message."""

import pytest
from msgspec import json

from shared.accounts.base import AccountPlan, Call, Step, StepKind
from shared.envelope import RestReply
from shared.exchanges.binance.account import ACCOUNT_ADAPTER
from shared.exchanges.binance.account.dialogue import SpotDialogue, UsdmDialogue
from tests.contract.account_samples import CREDENTIALS, KEY, NOW, SECRET
from tests.support.paths import SHARED, needs_shared
from tests.unit.exchanges.binance.account import frames as f

MINUTE = 60_000
LISTEN_KEY = "l1stenKey0f4test"


def plan(product: str) -> AccountPlan:
    return ACCOUNT_ADAPTER.plan("desk", [product], (), ACCOUNT_ADAPTER.products)[0]


def subscribed(error: dict[str, object] | None = None, status: int = 200) -> bytes:
    result = {"result": {"subscriptionId": 0}} if error is None else {"error": error}
    return json.encode({"id": "account", "status": status, **result})


def spot() -> SpotDialogue:
    dialogue = SpotDialogue(plan("spot"), CREDENTIALS)
    dialogue.opened(NOW)
    return dialogue


def replied(dialogue: UsdmDialogue, call: Call, body: bytes, status: int = 200) -> Step:
    return dialogue.replied(call, RestReply("https://fapi.binance.com/fapi/v1/listenKey", status, body))


def usdm() -> UsdmDialogue:
    dialogue = UsdmDialogue(plan("usdm"), CREDENTIALS)
    call = dialogue.before()
    assert call is not None
    assert (call.method, call.path, call.signed) == ("POST", "/fapi/v1/listenKey", False)
    assert replied(dialogue, call, json.encode({"listenKey": LISTEN_KEY})).kind is StepKind.CONTROL
    assert dialogue.opened(NOW).kind is StepKind.AUTHENTICATED
    return dialogue


def test_spot_subscribes_with_one_signed_request() -> None:
    dialogue = SpotDialogue(plan("spot"), CREDENTIALS)
    assert dialogue.before() is None
    assert dialogue.url == dialogue.label == "wss://ws-api.binance.com:443/ws-api/v3"
    (payload,) = dialogue.opened(NOW).send
    assert json.decode(payload)["params"]["apiKey"] == KEY
    assert dialogue.received(subscribed(), False, NOW).kind is StepKind.AUTHENTICATED
    assert dialogue.due(NOW + 10 * MINUTE).kind is StepKind.CONTROL


@pytest.mark.parametrize(
    ("code", "word"), [(-1022, "signature"), (-1021, "clock"), (-2015, "key"), (-2014, "key"), (-1002, "permission")]
)
def test_spot_refusals(code: int, word: str) -> None:
    step = spot().received(subscribed({"code": code, "msg": "no"}, 400), False, NOW)
    assert step.kind is StepKind.REFUSED
    assert (step.detail or "").startswith(f"{word}: subscription: status 400 code {code} no")


def test_spot_answer_that_is_no_refusal_of_the_key_breaks_the_connection() -> None:
    step = spot().received(subscribed({"code": -1003, "msg": "Too much request weight used."}, 429), False, NOW)
    assert step.kind is StepKind.BROKEN
    assert "Too much request weight" in (step.detail or "")


def test_spot_refusal_that_repeats_the_request_is_cleaned() -> None:
    dialogue = SpotDialogue(plan("spot"), CREDENTIALS)
    (payload,) = dialogue.opened(NOW).send
    signature = json.decode(payload)["params"]["signature"]
    detail = dialogue.received(subscribed({"code": -1022, "msg": f"{payload} {SECRET}"}, 400), False, NOW).detail or ""
    for secret in (KEY, SECRET, signature):
        assert secret not in detail


def test_spot_data_names_its_symbol() -> None:
    dialogue = spot()
    assert dialogue.received(f.wrapped(f.execution_report()), False, NOW) == Step(StepKind.DATA, symbols=("SOLUSDC",))
    assert dialogue.received(f.wrapped(f.account_position(("SOL", "1", "0"))), False, NOW) == Step(StepKind.DATA)


def test_usdm_url_has_the_listen_key_and_the_label_has_not() -> None:
    dialogue = usdm()
    assert dialogue.url == f"wss://fstream.binance.com/private/ws/{LISTEN_KEY}"
    assert dialogue.label == "wss://fstream.binance.com/private/ws/***"


@pytest.mark.parametrize("body", [b"{}", b'{"listenKey":""}', b"[]", b"", b'{"code":-1003,"msg":"busy"}'])
def test_usdm_without_a_listen_key_there_is_no_connection(body: bytes) -> None:
    dialogue = UsdmDialogue(plan("usdm"), CREDENTIALS)
    call = dialogue.before()
    assert call is not None
    assert replied(dialogue, call, body).kind is StepKind.BROKEN


def test_usdm_listen_key_is_renewed_in_time() -> None:
    dialogue = usdm()
    assert dialogue.due(NOW + 29 * MINUTE) == Step(StepKind.CONTROL)
    (call,) = dialogue.due(NOW + 30 * MINUTE).calls
    assert (call.method, call.path) == ("PUT", "/fapi/v1/listenKey")
    assert replied(dialogue, call, b"{}").kind is StepKind.CONTROL
    assert dialogue.due(NOW + 59 * MINUTE) == Step(StepKind.CONTROL)
    assert dialogue.due(NOW + 60 * MINUTE).calls


def test_usdm_renewal_that_fails_is_tried_again_until_the_key_has_run_out() -> None:
    dialogue = usdm()
    asked = 0
    for minute in range(30, 61):
        for call in dialogue.due(NOW + minute * MINUTE).calls:
            asked += 1
            assert replied(dialogue, call, b'{"code":-1001,"msg":"DISCONNECTED"}', 503).kind is StepKind.CONTROL
        assert dialogue.due(NOW + minute * MINUTE + 1_000).calls == ()
    assert asked == 31
    assert dialogue.due(NOW + 60 * MINUTE + 1).kind is StepKind.BROKEN


def test_usdm_key_that_is_gone_or_refused_ends_the_connection() -> None:
    dialogue = usdm()
    (call,) = dialogue.due(NOW + 30 * MINUTE).calls
    assert (
        replied(dialogue, call, b'{"code":-1125,"msg":"This listenKey does not exist."}', 400).kind is StepKind.BROKEN
    )
    assert replied(dialogue, call, b'{"code":-2015,"msg":"Invalid API-key"}', 401).kind is StepKind.REFUSED


@pytest.mark.parametrize("name", ["listenKeyExpired", "serverShutdown"])
def test_usdm_announced_ends(name: str) -> None:
    event = json.encode({"stream": LISTEN_KEY, "data": {"e": name, "E": NOW, "listenKey": LISTEN_KEY}})
    step = usdm().received(event, False, NOW)
    assert step == Step(StepKind.BROKEN, detail=name)


def test_usdm_data_names_its_symbols_once_each() -> None:
    legs = (f.leg(), f.leg(ps="LONG"), f.leg(s="NEARUSDT"))
    step = usdm().received(f.account_update(f.asset(), legs=legs), False, NOW)
    assert step.symbols == ("SOLUSDT", "NEARUSDT")
    assert usdm().received(f.order_update(), False, NOW).symbols == ("SOLUSDT",)
    assert usdm().received(f.algo_update(), False, NOW).symbols == ("SOLUSDT",)


def test_usdm_time_does_nothing_before_the_socket_is_open() -> None:
    assert UsdmDialogue(plan("usdm"), CREDENTIALS).due(NOW) == Step(StepKind.CONTROL)


@needs_shared
def test_recorded_answers_of_the_websocket_api() -> None:
    lines = (SHARED / "frames" / "binance" / "spot_wsapi_docs_examples.jsonl").read_bytes().splitlines()
    kinds = [spot().received(line, False, NOW).kind for line in lines if b'"status"' in line or b'"event"' in line]
    assert set(kinds) == {StepKind.CONTROL, StepKind.DATA}
    assert kinds.count(StepKind.DATA) == 1
