"""The line that ``tidegate up`` prints now and then."""

from services.cli.status import line
from services.cli.top_report import Balance, ExchangeRow, ProcessRow, Report, StreamRow

NAMES = {"127.0.0.1:9210": "normalizer.1", "127.0.0.1:9310": "bybit.1"}


def exchange(name: str, frames: float | None, messages: float | None, gaps: int = 0) -> ExchangeRow:
    return ExchangeRow(name, frames, messages, {}, None, None, None, 0, 0, None, 0, 0, 0, gaps, "closed")


def stream(name: str, *, up: bool) -> StreamRow:
    return StreamRow("bybit", name, up, 0.1, 1.0, 1.0, 0, 0, 0, [])


def process(target: str, *, up: bool) -> ProcessRow:
    return ProcessRow(target, up, None, "", None, 0, None, None, 0, 0)


def test_all_is_well() -> None:
    found = Report(
        0,
        [exchange("binance", 1412.4, 430.0), exchange("bybit", None, None)],
        [stream("a", up=True), stream("b", up=True)],
        [process(target, up=True) for target in NAMES],
        Balance(9, 9, 0, 0, 0, 0, 0, 0, 0, 9),
    )
    assert line(found, NAMES) == (
        "binance 1,412/430, bybit -/- frames/messages a second; 2 streams up; nothing shed or lost"
    )


def test_what_is_wrong_is_named() -> None:
    found = Report(
        0,
        [exchange("bybit", 1.0, 2.0, gaps=3)],
        [stream("a", up=True), stream("b", up=False)],
        [process("127.0.0.1:9210", up=False), process("127.0.0.1:9310", up=True)],
        Balance(9, 9, 0, 1200, 0, 5, 0, 0, 0, 9),
    )
    assert line(found, NAMES) == (
        "bybit 1/2 frames/messages a second; 1 of 2 streams up; shed 1,200, lost 5, gaps 3; "
        "normalizer.1 does not answer"
    )
