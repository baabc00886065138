"""Accounts: whether the state of each is known, what waits on disk, how long a confirm takes."""

from typing import Final

from tools.dashboards.page import Dashboard, Row
from tools.dashboards.panels import heatmap, lines, states, tile
from tools.dashboards.parts import ZERO, Query, Scale, Words, steps
from tools.dashboards.promql import events, grown, heat, quantile, rate, select

__all__ = ["ACCOUNTS"]

ACCOUNT: Final = "exchange, account"
NAME: Final = "{{exchange}} {{account}}"
UNACCOUNTED: Final = 'exchange_account:tidegate_journal_frames_unaccounted:sum{exchange=~"$exchange"}'

OTHER: Final = 'status!="reconciled"'

STATUS: Final[Words] = {
    1: ("reconciled", "green"),
    2: ("authenticated", "yellow"),
    3: ("connecting", "yellow"),
    4: ("stale", "orange"),
    5: ("failed", "red"),
}
USABLE: Final[Words] = {0: ("UNUSABLE", "red"), 1: ("usable", "green")}


def _status_is(word: str) -> str:
    matcher = f'status="{word}"'
    return select("account_status", matcher)


def _by_account(name: str) -> str:
    return f"max by ({ACCOUNT}) ({select(name)})"


def _age(name: str) -> str:
    """Seconds since a time; nothing where it is 0, for never."""
    return f"max by ({ACCOUNT}) (time() - ({select(name)} > 0))"


CODED: Final = " or ".join(f"{value} * ({_status_is(word)} == 1)" for value, (word, _) in STATUS.items())

_status = Row(
    "Status",
    [
        states(
            "Status of each account",
            "reconciled, green, all the time. stale: what was told so far is true, and something may be missing; "
            "failed: the venue refused the account and somebody has to look at its key.",
            STATUS,
            Query(f"max by ({ACCOUNT}) ({CODED})", NAME),
        ).wide(12),
        tile(
            "Accounts not reconciled",
            "0. Accounts of which not everything is known right now.",
            Query(f"sum(max by ({ACCOUNT}) ({select('account_status', OTHER)}))"),
            ZERO,
        ).wide(4),
        tile(
            "Refused, or journal broken",
            "0. In the time shown: the venue refused the key, or the journal could not be written. Somebody has to "
            "act.",
            Query(f"{grown('account_failures_total')} or vector(0)"),
            ZERO,
        ).wide(4),
        tile(
            "Private frames unaccounted",
            "0. Received less published and what the journal holds; one scrape may catch a frame half way.",
            Query(f"max(abs({UNACCOUNTED}))"),
            ZERO,
        ).wide(4),
        lines(
            "Age of what is known",
            "below a minute or two. Time since the moment up to which reconciliations have told everything; of the "
            "stream that is worst off.",
            Scale("s", steps("transparent", (120, "orange"), (300, "red"))),
            Query(_age("reconciled_timestamp_seconds"), NAME),
        ),
        lines(
            "Reconciliations",
            "one a minute per stream, complete. partial: there was more to ask for; failed, too_large, stuck, "
            "refused: see the log.",
            Scale("short"),
            Query(events("reconciliations_total", "outcome"), "{{outcome}}"),
            stacked="normal",
        ),
        lines(
            "Clock offset",
            "below 0.1 s either way, flat. The venue's clock less this machine's; requests are signed with the "
            "venue's.",
            Scale("s", steps("red", (-1, "transparent"), (1, "red")), low=-2, high=2),
            Query(_by_account("account_clock_offset_seconds"), NAME),
        ),
    ],
)

_journal = Row(
    "Journal",
    [
        lines(
            "Frames in the journal",
            "0 to a few. On disk and not yet confirmed by the broker; it grows while the broker is away and shrinks "
            "after.",
            Scale("short", decimals=0),
            Query(_by_account("journal_frames"), NAME),
        ),
        lines(
            "Age of the oldest frame",
            "nothing, or below a second. How long the oldest frame in the journal has waited for the broker.",
            Scale("s", steps("transparent", (5, "orange"), (30, "red"))),
            Query(_age("journal_oldest_timestamp_seconds"), NAME),
        ),
        states(
            "Files",
            "usable, green. UNUSABLE: the disk is full, the file is broken or another process holds it. journal: the "
            "socket is closed until it can be written again, so that nothing is taken that could be lost; state: the "
            "normalizer leaves the account's frames in the broker.",
            USABLE,
            Query(f"min by ({ACCOUNT}) ({select('journal_usable')})", f"journal {NAME}"),
            Query(f"min by ({ACCOUNT}) ({select('account_state_usable')})", f"state {NAME}"),
        ),
        heatmap(
            "Commit to disk",
            "below 10 ms. One commit of a journal; frames that arrive meanwhile share the next one.",
            heat("journal_write_seconds"),
        ),
        lines(
            "Size on disk",
            "flat. Bytes of the journal's files that are in use.",
            Scale("bytes"),
            Query(_by_account("journal_bytes"), NAME),
        ),
        lines(
            "Received and published",
            "alike. Private frames that are on disk, and those that the broker confirmed, per second.",
            Scale("cps"),
            Query(rate("account_frames_received_total", ACCOUNT), f"received {NAME}"),
            Query(rate("account_frames_published_total", ACCOUNT), f"published {NAME}"),
        ),
    ],
)

_delivery = Row(
    "To you",
    [
        heatmap(
            "Commit of the state",
            "below 10 ms. One commit of what the normalizer remembers of an account: executions told, open orders, "
            "balances.",
            heat("account_state_write_seconds"),
        ).wide(6),
        heatmap(
            "Confirm latency",
            "below 20 ms: a quorum queue writes to disk. From the first attempt to publish a frame to its confirm.",
            heat("account_confirm_seconds"),
        ).wide(6),
        lines(
            "Confirm latency by account",
            "p99 below 50 ms. Attempts that failed are in it.",
            Scale("s"),
            Query(quantile(0.5, "account_confirm_seconds", ACCOUNT), f"p50 {NAME}"),
            Query(quantile(0.99, "account_confirm_seconds", ACCOUNT), f"p99 {NAME}"),
        ).wide(6),
        lines(
            "Fills told twice by the venue",
            "a few around each reconciliation. Fills that came over the stream and over REST, and were told once.",
            Scale("short"),
            Query(events("fills_deduplicated_total", ACCOUNT), NAME),
        ).wide(6),
    ],
)

ACCOUNTS: Final = Dashboard(
    "accounts",
    "The account plane: is the state of every account known, does anything wait, how long does a confirm take.",
    [_status, _journal, _delivery],
)
