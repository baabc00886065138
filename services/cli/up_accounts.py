"""The accounts of ``tidegate up``: the processes that hold them, and what they need on the simulated venues."""

import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import json

from services.cli.procfile import PORT_STEP, Process
from shared.credentials import account_targets, credentials
from shared.errors import SettingsError
from shared.settings import Settings

__all__ = ["account_processes", "check_credentials", "simulated"]

STAGE: Final = "TIDEGATE_TELEMETRY__PORT=$PORT exec $PYTHON -m services.cli"
REAL: Final = re.compile(r"TIDEGATE_ACCOUNTS__.*__(KEY|SECRET)", re.IGNORECASE)


def account_processes(settings: Settings, port: int) -> list[Process]:
    """An ingest for each account that is enabled and, ahead of them, their normalizer; nothing without accounts.

    The normalizer has ``port``, the others those from the next hundred on.
    """
    held = [
        Process(
            f"{target.exchange}.{target.account}",
            f"{STAGE} ingest {target.exchange} --account {target.account}",
            port + PORT_STEP + number,
        )
        for number, target in enumerate(account_targets(settings))
    ]
    return [Process("accounts.1", f"{STAGE} normalizer --plane account", port), *held] if held else []


def check_credentials(settings: Settings) -> None:
    """Raises SettingsError that names every key and secret that is not to be had."""
    mistakes: list[tuple[str, str]] = []
    for target in account_targets(settings):
        try:
            credentials(settings, target.exchange, target.account)
        except SettingsError as error:
            mistakes += error.mistakes
    if mistakes:
        raise SettingsError(mistakes)


def simulated(settings: Settings, environment: Mapping[str, str], directory: Path) -> dict[str, str]:
    """The environment in which every account is one of the simulated venues and keeps its files in ``directory``.

    Keys and secrets are those of ``[simulator.accounts]``; an account that is not there gets a secret of chance. Real
    ones that stand in the environment are left out.
    """
    known: dict[str, dict[str, dict[str, Any]]] = {
        exchange: {
            name: {"key": one.key or _key(name), "secret": one.secret.get_secret_value(), "balances": one.balances}
            for name, one in accounts.items()
        }
        for exchange, accounts in settings.simulator.accounts.items()
    }
    found = {name: value for name, value in environment.items() if not REAL.fullmatch(name)}
    for target in account_targets(settings):
        of_venue = known.setdefault(target.exchange, {})
        one = of_venue.setdefault(target.account, {"key": _key(target.account), "secret": secrets.token_hex(16)})
        for part in ("key", "secret"):
            variable = f"TIDEGATE_ACCOUNT_{target.exchange}_{target.account}_{part}".upper().replace("-", "_")
            found[variable] = one[part]
    return {
        **found,
        "TIDEGATE_SIMULATOR__ACCOUNTS": json.encode(known).decode(),
        "TIDEGATE_ACCOUNT__JOURNAL_DIRECTORY": str(directory / "journal"),
        "TIDEGATE_ACCOUNT__STATE_DIRECTORY": str(directory / "state"),
    }


def _key(account: str) -> str:
    """What the simulator makes of an account without a key."""
    return f"sim-{account}"
