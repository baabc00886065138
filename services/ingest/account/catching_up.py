"""One reconciliation: the venue is asked page by page, and all that it says becomes one frame."""

from collections import deque
from typing import Final, NamedTuple

from services.ingest.account.calling import Caller
from services.ingest.account.reconciling import Window
from shared.accounts.base import AccountAdapter, AccountPlan, CatchUpNeeds
from shared.envelope import MAX_FRAME_BYTES, Reconciliation, RestReply, encode_reconciliation
from shared.errors import ParseError, TidegateError

__all__ = ["CaughtUp", "ReconciliationTooLarge", "catch_up"]

MAX_CALLS: Final = 5_000
"""Adapters bound their pages themselves; this ends what would go on for ever."""


class ReconciliationTooLarge(TidegateError):
    """The replies are too much for one frame: a shorter time is to be asked for."""


class CaughtUp(NamedTuple):
    """The frame's data, up to when executions are complete (ms, the venue's clock), and how many calls it took."""

    data: bytes
    covered_ms: int
    calls: int


async def catch_up(
    adapter: AccountAdapter, plan: AccountPlan, caller: Caller, window: Window, symbols: tuple[str, ...]
) -> CaughtUp:
    """Ask for everything of a window.

    Raises RequestFailed, ParseError (the replies can't be used), ReconciliationTooLarge, AccountRefused.
    """
    work = adapter.catch_up(plan, CatchUpNeeds(window.since_ms, window.until_ms, symbols))
    waiting = deque(work.begin())
    replies: list[RestReply] = []
    size = 0
    while waiting:
        if len(replies) == MAX_CALLS:
            raise ParseError("too_large", f"a reconciliation wanted more than {MAX_CALLS} calls")
        call = waiting.popleft()
        reply = await caller.call(call)
        replies.append(reply)
        size += len(reply.body) + len(reply.url)
        if size > MAX_FRAME_BYTES:
            raise ReconciliationTooLarge(f"{len(replies)} replies had {size} bytes")
        waiting += work.replied(call, reply)
    covered_ms = min(work.covered_ms, window.until_ms)
    data = encode_reconciliation(Reconciliation(window.since_ms, covered_ms, replies))
    if len(data) > MAX_FRAME_BYTES:
        raise ReconciliationTooLarge(f"{len(replies)} replies had {len(data)} bytes")
    return CaughtUp(data, covered_ms, len(replies))
