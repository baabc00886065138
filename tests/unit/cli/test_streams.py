"""Who owns what, from what was heard."""

from io import StringIO

from rich.console import Console

from services.cli.streams_board import Board, Member
from services.cli.streams_table import lines, view
from shared.control import Announcement, Holding, Holdings, StreamInfo

S = 1_000_000_000
WALL = 1_790_000_000 * S
NAMES = ("bybit.linear.0", "bybit.linear.1", "bybit.spot.0")


def announcement(*names: str) -> Announcement:
    return Announcement("bybit@1", [StreamInfo("bybit", name.split(".")[1], "market", name) for name in names])


def holdings(pid: int, *streams: str, frames: int = 0, since: int = WALL, lag: int | None = None) -> Holdings:
    held = [Holding(name, "bybit", name.split(".")[1], since, frames, lag, since) for name in streams]
    return Holdings(f"host:{pid}:abcd", "host", pid, held)


def board(*messages: tuple[int, Holdings]) -> Board:
    made = Board()
    made.announced(announcement(*NAMES), 0)
    for at, message in messages:
        made.held(message, at)
    return made


def test_every_announced_stream_has_a_row_with_its_owner_or_without() -> None:
    report = board((S, holdings(1, *NAMES[:2], lag=5_000_000)), (S, holdings(2))).report(2 * S, {NAMES[2]: 7})
    assert [(row.stream, row.pid, row.waiting) for row in report.streams] == [
        (NAMES[0], 1, None),
        (NAMES[1], 1, None),
        (NAMES[2], None, 7),
    ]
    assert report.unowned == [NAMES[2]]
    assert report.members == [Member("host:1:abcd", "host", 1, 2), Member("host:2:abcd", "host", 2, 0)]


def test_a_stream_that_is_owned_and_not_announced_is_shown_too() -> None:
    report = board((S, holdings(1, "mexc.spot.0"))).report(2 * S, {})
    assert "mexc.spot.0" in [row.stream for row in report.streams]


def test_a_rate_takes_two_messages_of_the_same_ownership() -> None:
    first, second = (S, holdings(1, NAMES[0], frames=100)), (3 * S, holdings(1, NAMES[0], frames=300))
    again = (4 * S, holdings(1, NAMES[0], frames=50, since=WALL + S))
    assert board(first).report(3 * S, {}).streams[0].frames_per_s is None
    assert board(first, second).report(3 * S, {}).streams[0].frames_per_s == 100.0
    assert board(first, second, again).report(4 * S, {}).streams[0].frames_per_s is None


def test_who_says_nothing_any_more_is_gone() -> None:
    heard = board((S, holdings(1, NAMES[0])), (5 * S, holdings(2, NAMES[1])))
    heard.announced(announcement(NAMES[1]), 5 * S)
    report = heard.report(9 * S, {})
    assert [(row.stream, row.pid) for row in report.streams] == [(NAMES[1], 2)]
    assert [one.pid for one in report.members] == [2]


def test_of_two_that_name_a_stream_the_later_one_has_it() -> None:
    for order in (1, -1):
        two = [(S, holdings(1, NAMES[0])), (2 * S, holdings(2, NAMES[0], since=WALL + 1))][::order]
        assert board(*two).report(2 * S, {}).streams[0].pid == 2


def test_streams_of_accounts_are_not_waited_for() -> None:
    heard = Board()
    heard.announced(Announcement("x", [StreamInfo("bybit", "linear", "account", "bybit.main")]), 0)
    assert heard.report(0, {}).streams == []


def test_lines_are_one_for_each_stream_and_a_summary() -> None:
    report = board((S, holdings(1, *NAMES[:2], frames=0, lag=1_250_000)), (3 * S, holdings(1, *NAMES[:2], frames=9)))
    assert lines(report.report(3 * S, {NAMES[0]: 3}), WALL + 90 * S) == [
        "bybit.linear.0 owner=host:1 for=1.5m frames/s=4.5 lag=- waiting=3",
        "bybit.linear.1 owner=host:1 for=1.5m frames/s=4.5 lag=- waiting=-",
        "bybit.spot.0 owner=nobody for=- frames/s=- lag=- waiting=-",
        "3 streams, normalizers: host:1 2; without an owner: 1",
    ]
    owned = board((S, holdings(1, *NAMES, lag=1_250_000))).report(S, {})
    assert lines(owned, WALL)[0] == "bybit.linear.0 owner=host:1 for=0.0s frames/s=- lag=1.2ms waiting=-"
    assert lines(owned, WALL + 7_200 * S)[-1] == "3 streams, normalizers: host:1 3"


def test_the_table_fits_a_terminal() -> None:
    report = board((S, holdings(1, *NAMES[:2]))).report(S, {})
    console = Console(width=80, record=True, file=StringIO())
    console.print(view(report, WALL + 12 * S))
    shown = console.export_text()
    assert "nobody" in shown
    assert "12s" in shown
    assert max(map(len, shown.splitlines())) <= 80
