"""``tidegate journal``: what an account's journals hold, and the way out when one is broken."""

import argparse
import sys
import time
from pathlib import Path
from typing import Final

from services.ingest.account.journal import Journal
from services.ingest.account.main import journal_path
from shared.accounts.base import AccountPlan
from shared.credentials import account_target
from shared.errors import JournalError
from shared.exchanges.accounts import account_adapter
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry

__all__ = ["add_arguments", "run"]

UNUSABLE: Final = frozenset({"corrupt", "foreign"})
SUFFIXES: Final = ("", "-wal", "-shm")
"""Files of an SQLite database in WAL mode."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``journal``."""
    add = parser.add_argument
    add("exchange", help="the account's exchange")
    add("--account", metavar="NAME", required=True, help="the account's name in the settings")
    add(
        "--set-aside",
        action="store_true",
        help="rename journals that can't be read, so that the account can start with new ones; what was in them and not"
        " yet published is lost to the stream: start with account.lookback_s long enough to ask the venue for it again",
    )


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """0 when every journal can be used afterwards, 1 otherwise. Only while the account's own process does not run."""
    del telemetry
    target = account_target(settings, arguments.exchange, arguments.account)
    adapter = account_adapter(target.exchange)
    plans = adapter.plan(target.account, target.products, (), target.endpoints)
    fine = [_look(plan, settings, set_aside=arguments.set_aside) for plan in plans]
    return 0 if all(fine) else 1


def _look(plan: AccountPlan, settings: Settings, *, set_aside: bool) -> bool:
    path = journal_path(settings.account.journal_directory, plan.name)
    if not path.exists():
        _say("ok", plan.name, f"{path}: none yet")
        return True
    try:
        journal = Journal(path, plan.name, settings.account.journal_max_bytes)
        try:
            _say("ok", plan.name, f"{path}: {_described(journal)}")
        finally:
            journal.close()
    except JournalError as error:
        if error.reason == "locked":
            _say("ok", plan.name, f"{path}: in use; the process that has it shows its state on /metrics")
            return not set_aside
        if set_aside and error.reason in UNUSABLE:
            _say("ok", plan.name, f"{path}: set aside as {_rename(path)}")
            return True
        _say("FAIL", plan.name, str(error))
        return False
    return True


def _described(journal: Journal) -> str:
    size, head = journal.size(), journal.head
    oldest = journal.read(-1, 1, 1)
    parts = [f"{size.frames} frames to be published"]
    if size.held:
        parts.append(f"{size.held} held")
    if oldest:
        parts.append(f"the oldest from {_utc(oldest[0].frame.ts_received // 1_000_000_000)}")
    covered = head.covered_ms
    parts.append("never reconciled" if covered is None else f"reconciled up to {_utc(covered // 1000)}")
    return ", ".join(parts)


def _rename(path: Path) -> Path:
    """All files of a journal get a name that says when; raises OSError."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = path.with_name(f"{path.name}.aside-{stamp}")
    for suffix in SUFFIXES:
        file = Path(f"{path}{suffix}")
        if file.exists():
            file.rename(f"{aside}{suffix}")
    return aside


def _utc(seconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def _say(verdict: str, subject: str, text: str) -> None:
    sys.stdout.write(f"{verdict:<4}  {subject}: {text}\n")
