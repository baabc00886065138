"""Settings of accounts: which there are, and how their private streams are held. Keys: :mod:`shared.credentials`."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, SecretStr

from shared.exchanges.accounts import ACCOUNT_EXCHANGES
from shared.sections import Section, items, url

__all__ = [
    "CREDENTIAL",
    "AccountEndpointSettings",
    "AccountName",
    "AccountSection",
    "AccountSettings",
    "unknown_accounts",
    "written_secrets",
]

AccountName = Annotated[str, Field(pattern=r"^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$")]
"""Part of stream names, routing keys and file names."""

CREDENTIAL: Final = re.compile(r"TIDEGATE_ACCOUNT_[A-Z0-9_]+_(KEY|SECRET)")
"""An account's key or secret in the environment; see :mod:`shared.credentials`."""


class AccountEndpointSettings(Section):
    """Where the private side of one product is, where it is not the documented place."""

    websocket: Annotated[str, url("ws", "wss")] | None = None
    rest: Annotated[str, url("http", "https")] | None = None


class AccountSettings(Section):
    """One account of a venue. Key and secret come from files or the environment, never out of the settings file.

    ``symbols`` (unified): those that a venue wants to be asked for one by one; others become known from the stream.
    """

    enabled: bool = True
    products: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    key: SecretStr | None = None
    secret: SecretStr | None = None
    key_file: Path | None = None
    secret_file: Path | None = None
    endpoints: Mapping[str, AccountEndpointSettings] = Field(default_factory=dict)


class AccountSection(Section):
    """How private streams are held, for every account; ``lookback_s``: how far an account's first start looks back."""

    journal_directory: Path = Path("var/journal")
    state_directory: Path = Path("var/state")
    journal_max_bytes: Annotated[int, Field(ge=1024 * 1024)] = 4 * 1024 * 1024 * 1024
    publish_deadline_s: Annotated[float, Field(gt=0)] = 5.0
    reconcile_interval_s: Annotated[float, Field(gt=0)] = 60.0
    hold_s: Annotated[float, Field(gt=0)] = 10.0
    alive_interval_s: Annotated[float, Field(gt=0)] = 5.0
    lookback_s: Annotated[float, Field(ge=0)] = 0.0
    recv_window_ms: Annotated[int, Field(gt=0, le=60_000)] = 5_000
    max_clock_offset_ms: Annotated[int, Field(gt=0)] = 1_000
    refused_initial_s: Annotated[float, Field(gt=0)] = 60.0
    refused_cap_s: Annotated[float, Field(gt=0)] = 1_800.0


def unknown_accounts(accounts: object) -> list[tuple[str, str]]:
    """Exchanges and products that there are no accounts of."""
    mistakes = []
    for name, section in items(accounts):
        if name not in ACCOUNT_EXCHANGES:
            mistakes.append((f"accounts.{name}", f"is no exchange; there are {', '.join(sorted(ACCOUNT_EXCHANGES))}"))
            continue
        known = ACCOUNT_EXCHANGES[name].products
        for account, wanted in items(section):
            found = dict(items(wanted))
            products = [*_strings(found.get("products")), *(product for product, _ in items(found.get("endpoints")))]
            mistakes += [
                (f"accounts.{name}.{account}", f"{product} is no product; there are {', '.join(sorted(known))}")
                for product in dict.fromkeys(products)
                if product not in known
            ]
    return mistakes


def written_secrets(accounts: object) -> list[tuple[str, str]]:
    """Secrets that stand in the settings file itself."""
    return [
        (f"accounts.{exchange}.{account}.{field}", f"does not belong into this file; name a {field}_file instead")
        for exchange, section in items(accounts)
        for account, wanted in items(section)
        for field, _ in items(wanted)
        if field in {"key", "secret"}
    ]


def _strings(values: object) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list | tuple) else []
