"""One private connection, message by message."""

import pytest
from msgspec import json

from shared.accounts.base import AccountPlan, StepKind
from shared.exchanges.bybit.account import ACCOUNT_ADAPTER
from shared.exchanges.bybit.account.dialogue import BybitDialogue
from tests.contract.account_samples import CREDENTIALS, KEY, NOW, SECRET
from tests.support.paths import SHARED, needs_shared
from tests.unit.exchanges.bybit.account import frames as f
from tests.unit.exchanges.bybit.account.samples import OPENING

LOGGED_IN, SUBSCRIBED = (event.data for event in OPENING)


def plan(*products: str) -> AccountPlan:
    return ACCOUNT_ADAPTER.plan("desk", products or ("linear",), (), ACCOUNT_ADAPTER.products)[0]


def opened(*products: str) -> BybitDialogue:
    dialogue = BybitDialogue(plan(*products), CREDENTIALS)
    dialogue.opened(NOW)
    return dialogue


def authenticated() -> BybitDialogue:
    dialogue = opened()
    dialogue.received(LOGGED_IN, False, NOW)
    assert dialogue.received(SUBSCRIBED, False, NOW).kind is StepKind.AUTHENTICATED
    return dialogue


def test_nothing_but_the_login_is_sent_before_it_is_accepted() -> None:
    dialogue = BybitDialogue(plan(), CREDENTIALS)
    (payload,) = dialogue.opened(NOW).send
    assert json.decode(payload)["op"] == "auth"
    assert dialogue.received(b'{"op":"pong","args":["1"]}', False, NOW).send == ()
    assert dialogue.received(SUBSCRIBED, False, NOW).kind is StepKind.CONTROL
    (subscription,) = dialogue.received(LOGGED_IN, False, NOW).send
    assert json.decode(subscription)["op"] == "subscribe"


def test_topics_are_those_of_the_products() -> None:
    dialogue = opened("spot", "linear")
    (subscription,) = dialogue.received(LOGGED_IN, False, NOW).send
    assert json.decode(subscription)["args"] == [
        "order.spot",
        "execution.spot",
        "order.linear",
        "execution.linear",
        "position.linear",
        "wallet",
    ]


def test_second_login_answer_subscribes_no_second_time() -> None:
    dialogue = authenticated()
    assert dialogue.received(LOGGED_IN, False, NOW) == (StepKind.CONTROL, (), (), None, ())


@pytest.mark.parametrize(
    "text",
    [
        b'{"success":false,"ret_msg":"Params Error","op":"auth","conn_id":"x"}',
        b'{"op":"auth","retCode":10003,"retMsg":"Invalid apikey","connId":"x"}',
        b'{"success":true,"retCode":33004,"retMsg":"expired","op":"auth"}',
        b'{"op":"auth"}',
    ],
)
def test_079_refused_login_is_a_hard_state(text: bytes) -> None:
    dialogue = opened()
    step = dialogue.received(text, False, NOW)
    assert step.kind is StepKind.REFUSED
    assert step.send == ()
    late = dialogue.received(
        b'{"success":false,"ret_msg":"error:topic:order needs auth first","op":"subscribe"}', False, NOW
    )
    assert late.kind is StepKind.BROKEN
    assert "needs auth first" in (late.detail or "")


def test_code_of_a_refusal_gives_its_word() -> None:
    step = opened().received(b'{"op":"auth","retCode":10010,"retMsg":"unmatched IP"}', False, NOW)
    assert step.detail == "address: login: retCode 10010 unmatched IP"


def test_refusal_that_repeats_the_request_is_cleaned() -> None:
    dialogue = BybitDialogue(plan(), CREDENTIALS)
    (payload,) = dialogue.opened(NOW).send
    signature = json.decode(payload)["args"][2]
    echo = json.encode({"op": "auth", "success": False, "ret_msg": f"error:USVC1111 {payload} {SECRET}"})
    detail = dialogue.received(echo, False, NOW).detail or ""
    assert detail.startswith("other: login: error:USVC1111")
    for secret in (KEY, SECRET, signature):
        assert secret not in detail


def test_heartbeats_go_out_whatever_else_comes() -> None:
    dialogue = authenticated()
    order = f.message("order", f.order())
    for second in range(1, 20):
        assert dialogue.received(order, False, NOW + 1000 * second).kind is StepKind.DATA
        assert dialogue.due(NOW + 1000 * second).send == ()
    (payload,) = dialogue.due(NOW + 20_000).send
    assert json.decode(payload)["op"] == "ping"
    assert dialogue.due(NOW + 20_001).send == ()
    assert dialogue.due(NOW + 40_000).send != ()


def test_silence_breaks_the_connection() -> None:
    dialogue = authenticated()
    assert dialogue.due(NOW + 60_000).kind is StepKind.CONTROL
    assert dialogue.due(NOW + 60_001).kind is StepKind.BROKEN


def test_time_does_nothing_before_the_socket_is_open() -> None:
    assert BybitDialogue(plan(), CREDENTIALS).due(NOW).kind is StepKind.CONTROL


@needs_shared
def test_recorded_login_answers() -> None:
    lines = (SHARED / "frames" / "bybit" / "auth_replies.real.jsonl").read_bytes().splitlines()
    kinds = [opened().received(line, False, NOW).kind for line in lines]
    assert kinds == [StepKind.CONTROL, StepKind.REFUSED, StepKind.BROKEN]
    samples = (SHARED / "frames" / "bybit" / "private_samples_ccxt.jsonl").read_bytes().splitlines()
    answers = [line for line in samples if b'"op":"auth"' in line]
    assert len(answers) == 3
    for line in answers:
        step = opened().received(line, False, NOW)
        assert step.kind is StepKind.CONTROL
        assert len(step.send) == 1
