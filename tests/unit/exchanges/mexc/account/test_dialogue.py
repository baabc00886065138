"""One private connection, message by message."""

import pytest
from msgspec import json

from shared.accounts.base import AccountPlan, Call, Step, StepKind
from shared.envelope import RestReply
from shared.exchanges.mexc.account import ACCOUNT_ADAPTER
from shared.exchanges.mexc.account.dialogue import TOPICS, FuturesDialogue, SpotDialogue
from tests.contract.account_samples import CREDENTIALS, KEY, NOW, SECRET
from tests.unit.exchanges.mexc.account import frames as f

MINUTE = 60_000
LISTEN_KEY = "l1stenKey0f4test"


def plan(product: str) -> AccountPlan:
    return ACCOUNT_ADAPTER.plan("desk", [product], (), ACCOUNT_ADAPTER.products)[0]


def reply(body: object, status: int = 200) -> RestReply:
    return RestReply("https://api.mexc.com/api/v3/userDataStream", status, json.encode(body))


def accepted(*topics: str) -> bytes:
    return json.encode({"id": 1, "code": 0, "msg": ",".join(topics)})


def said(channel: str, data: object = "success") -> bytes:
    return json.encode({"channel": channel, "data": data, "ts": f.TS})


def spot() -> SpotDialogue:
    dialogue = SpotDialogue(plan("spot"), CREDENTIALS)
    call = dialogue.before()
    assert call is not None
    assert (call.method, call.path, call.signed) == ("POST", "/api/v3/userDataStream", True)
    assert dialogue.replied(call, reply({"listenKey": LISTEN_KEY})).kind is StepKind.CONTROL
    (sent,) = dialogue.opened(NOW).send
    assert json.decode(sent) == {"method": "SUBSCRIPTION", "params": list(TOPICS), "id": 1}
    return dialogue


def subscribed() -> SpotDialogue:
    dialogue = spot()
    assert dialogue.received(accepted(*TOPICS), False, NOW).kind is StepKind.AUTHENTICATED
    return dialogue


def living(dialogue: SpotDialogue | FuturesDialogue, pong: bytes, since: int, until: int) -> list[Step]:
    """Everything that the time demands, with each heartbeat answered."""
    steps = []
    for now in range(since, until, 5_000):
        step = dialogue.due(now)
        if step.send:
            dialogue.received(pong, False, now)
        if step.calls or step.kind is not StepKind.CONTROL:
            steps.append(step)
    return steps


PONG = b'{"id":0,"code":0,"msg":"PONG"}'


def test_spot_is_authenticated_when_every_topic_is_accepted() -> None:
    dialogue = spot()
    assert dialogue.url == f"wss://wbs-api.mexc.com/ws?listenKey={LISTEN_KEY}"
    assert dialogue.label == "wss://wbs-api.mexc.com/ws?listenKey=***"
    assert dialogue.received(accepted(*TOPICS[:2]), False, NOW).kind is StepKind.CONTROL
    assert dialogue.received(accepted(TOPICS[2]), False, NOW).kind is StepKind.AUTHENTICATED
    assert dialogue.received(accepted(*TOPICS), False, NOW).kind is StepKind.CONTROL


def test_062_a_refused_topic_is_seen_though_the_code_is_zero() -> None:
    text = f"Subscribed successful! [{TOPICS[0]}]. Not Subscribed successfully! [{TOPICS[1]}]. Reason\uff1a Blocked! "
    step = spot().received(json.encode({"id": 1, "code": 0, "msg": text}), False, NOW)
    assert step.kind is StepKind.BROKEN
    assert step.detail == f"subscription refused: {TOPICS[1]}: Blocked!"


def test_heartbeats_are_sent_and_their_absence_is_noticed() -> None:
    dialogue = subscribed()
    assert dialogue.due(NOW + 19_999).send == ()
    assert dialogue.due(NOW + 20_000).send == ('{"method":"PING"}',)
    assert dialogue.received(PONG, False, NOW + 20_100).kind is StepKind.CONTROL
    assert dialogue.due(NOW + 80_000).kind is StepKind.CONTROL
    assert dialogue.due(NOW + 81_000).kind is StepKind.BROKEN


def test_listen_key_is_renewed_twice_an_hour() -> None:
    dialogue = subscribed()
    renewals = living(dialogue, PONG, NOW, NOW + 32 * MINUTE)
    assert [[call.method for call in step.calls] for step in renewals] == [["PUT"], ["PUT"]], "again: no reply yet"
    call = renewals[0].calls[0]
    assert LISTEN_KEY not in repr(call)
    assert dialogue.replied(call, reply({"listenKey": LISTEN_KEY})).kind is StepKind.CONTROL
    assert living(dialogue, PONG, NOW + 32 * MINUTE, NOW + 60 * MINUTE) == []


def test_listen_key_that_cannot_be_renewed_is_given_up_within_its_hour() -> None:
    dialogue = subscribed()
    asked, broken = 0, []
    for now in range(NOW, NOW + 61 * MINUTE, 5_000):
        step = dialogue.due(now)
        dialogue.received(PONG, False, now)
        for call in step.calls:
            asked += 1
            assert dialogue.replied(call, reply({"code": 500, "msg": "busy"}, 500)).kind is StepKind.CONTROL
        if step.kind is StepKind.BROKEN:
            broken.append(now)
    assert asked == 30
    assert broken[0] == NOW + 60 * MINUTE + 5_000


def test_listen_key_that_is_gone_breaks_the_connection() -> None:
    dialogue = subscribed()
    call = living(dialogue, PONG, NOW, NOW + 31 * MINUTE)[0].calls[0]
    step = dialogue.replied(call, reply({"code": 700005, "msg": "Invalid listen key."}, 400))
    assert (step.kind, step.detail) == (StepKind.BROKEN, "the listen key is not renewed: code 700005")


def test_listen_key_of_a_connection_that_is_over_is_given_back() -> None:
    dialogue = spot()
    call = dialogue.after()
    assert call is not None
    assert (call.method, call.path) == ("DELETE", "/api/v3/userDataStream")
    assert LISTEN_KEY not in repr(call)
    assert LISTEN_KEY in ACCOUNT_ADAPTER.sign(plan("spot"), call, CREDENTIALS, NOW).url
    assert SpotDialogue(plan("spot"), CREDENTIALS).after() is None, "there was none"


def test_where_there_are_too_many_listen_keys_one_of_them_is_used_and_left() -> None:
    dialogue = SpotDialogue(plan("spot"), CREDENTIALS)
    call = dialogue.before()
    assert call is not None
    step = dialogue.replied(call, reply({"code": 700013, "msg": "Too many"}, 400))
    assert [(each.method, each.path) for each in step.calls] == [("GET", "/api/v3/userDataStream")]
    assert dialogue.replied(step.calls[0], reply({"listenKey": ["another", LISTEN_KEY]})).kind is StepKind.CONTROL
    assert dialogue.url.endswith(LISTEN_KEY)
    assert dialogue.after() is None


@pytest.mark.parametrize("body", [{"listenKey": []}, {"listenKey": ["a/../b?c"]}, {"code": 1, "msg": "busy"}])
def test_where_there_is_none_to_be_had_there_is_no_connection(body: object) -> None:
    dialogue = SpotDialogue(plan("spot"), CREDENTIALS)
    assert dialogue.replied(Call("GET", "/api/v3/userDataStream"), reply(body)).kind is StepKind.BROKEN


@pytest.mark.parametrize(
    "body", [{}, {"listenKey": ""}, {"listenKey": "a/../b?c"}, {"code": 700013, "msg": "Too many"}]
)
def test_what_is_no_listen_key_is_not_connected_with(body: object) -> None:
    dialogue = SpotDialogue(plan("spot"), CREDENTIALS)
    call = dialogue.before()
    assert call is not None
    assert dialogue.replied(call, reply(body)).kind is StepKind.BROKEN


def test_data_names_its_symbol() -> None:
    step = subscribed().received(f.spot_deal("月光USDT"), True, NOW)
    assert (step.kind, step.symbols) == (StepKind.DATA, ("月光USDT",))


def futures() -> FuturesDialogue:
    dialogue = FuturesDialogue(plan("futures"), CREDENTIALS)
    assert dialogue.before() is None
    (sent,) = dialogue.opened(NOW).send
    assert json.decode(sent)["method"] == "login"
    return dialogue


def test_futures_logs_in_and_then_asks_for_what_it_wants() -> None:
    dialogue = futures()
    assert dialogue.url == dialogue.label == "wss://contract.mexc.com/edge"
    step = dialogue.received(said("rs.login"), False, NOW)
    assert step.kind is StepKind.CONTROL
    assert json.decode(step.send[0]) == {
        "method": "personal.filter",
        "param": {"filters": [{"filter": name} for name in ("order", "order.deal", "position", "asset")]},
    }
    early = dialogue.received(f.contract_push("order", f.contract_order()), False, NOW)
    assert (early.kind, early.symbols) == (StepKind.DATA, ("SOL_USDT",))
    assert dialogue.received(said("rs.personal.filter"), False, NOW).kind is StepKind.AUTHENTICATED


def test_futures_refusal_does_not_repeat_what_was_sent() -> None:
    dialogue = futures()
    step = dialogue.received(said("rs.error", f"no {KEY} {SECRET}"), False, NOW)
    assert (step.kind, step.detail) == (StepKind.REFUSED, "other: login: no *** ***")


def test_futures_pings_even_while_data_flows() -> None:
    dialogue = futures()
    dialogue.received(said("rs.login"), False, NOW)
    dialogue.received(said("rs.personal.filter"), False, NOW)
    sent: list[str] = []
    for now in range(NOW, NOW + MINUTE, 1_000):
        dialogue.received(f.contract_push("asset", f.asset()), False, now)
        sent += dialogue.due(now).send
    assert sent == ['{"method":"ping"}'] * 3


@pytest.mark.parametrize("channel", ["rs.error", "rs.personal.filter"])
def test_a_refused_filter_breaks_the_connection(channel: str) -> None:
    dialogue = futures()
    dialogue.received(said("rs.login"), False, NOW)
    step = dialogue.received(said(channel, "filter param is not valid!"), False, NOW)
    assert (step.kind, step.detail) == (StepKind.BROKEN, "the venue complained: filter param is not valid!")


def test_the_notice_of_closing_is_no_refusal_of_a_login() -> None:
    text = "more than 60 seconds no response, close the channel"
    assert futures().received(said("rs.error", text), False, NOW).kind is StepKind.BROKEN
