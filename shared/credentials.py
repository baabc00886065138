"""Keys of accounts: from files or the environment, shown nowhere. And what the settings say of an account, resolved.

Where a key (or secret) comes from, the first that there is:

1. ``TIDEGATE_ACCOUNTS__<EXCHANGE>__<NAME>__KEY`` or ``TIDEGATE_ACCOUNT_<EXCHANGE>_<NAME>_KEY`` (``-`` as ``_``)
2. the file that ``key_file`` of the account names
3. ``/run/secrets/<exchange>-<name>-key``
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from shared.account_settings import AccountEndpointSettings, AccountSettings
from shared.accounts.base import AccountEndpoints, Credentials
from shared.errors import SettingsError
from shared.exchanges.accounts import account_adapter
from shared.settings import Settings

__all__ = ["AccountTarget", "account_target", "account_targets", "credentials"]

SECRETS: Final = Path("/run/secrets")
MAX_BYTES: Final = 64 * 1024
"""No key is longer; a file that is, is another one."""

Part = Literal["key", "secret"]


class AccountTarget(Struct, frozen=True):
    """One account to hold, with every default filled in; ``symbols`` are unified ones."""

    exchange: str
    account: str
    products: tuple[str, ...]
    symbols: tuple[str, ...]
    endpoints: Mapping[str, AccountEndpoints]


def account_targets(settings: Settings) -> list[AccountTarget]:
    """The accounts that are enabled; one without ``products`` has all that the venue has."""
    return [
        _target(settings, exchange, name, account)
        for exchange, accounts in settings.accounts.items()
        for name, account in accounts.items()
        if account.enabled
    ]


def account_target(settings: Settings, exchange: str, name: str) -> AccountTarget:
    """One of them; raises SettingsError where there is none or it is not enabled."""
    account = settings.accounts.get(exchange, {}).get(name)
    if account is None:
        known = ", ".join(settings.accounts.get(exchange, {})) or "none"
        raise SettingsError([(f"accounts.{exchange}.{name}", f"there is no such account; there are: {known}")])
    if not account.enabled:
        raise SettingsError([(f"accounts.{exchange}.{name}", "is not enabled")])
    return _target(settings, exchange, name, account)


def credentials(settings: Settings, exchange: str, name: str) -> Credentials:
    """Key and secret of an account; raises SettingsError that says where they were looked for."""
    account = settings.accounts[exchange][name]
    mistakes: list[tuple[str, str]] = []
    found = [_part(account, exchange, name, part, mistakes) for part in _PARTS]
    if mistakes:
        raise SettingsError(mistakes)
    return Credentials(*found)


_PARTS: Final[tuple[Part, Part]] = ("key", "secret")


def _target(settings: Settings, exchange: str, name: str, account: AccountSettings) -> AccountTarget:
    documented = account_adapter(exchange).products
    products = account.products or tuple(documented)
    simulator = settings.simulator.connect
    return AccountTarget(
        exchange,
        name,
        products,
        account.symbols,
        {
            product: _endpoints(simulator, exchange, product, account.endpoints.get(product), documented[product])
            for product in products
        },
    )


def _endpoints(
    simulator: str | None,
    exchange: str,
    product: str,
    wanted: AccountEndpointSettings | None,
    documented: AccountEndpoints,
) -> AccountEndpoints:
    if simulator is not None:
        documented = AccountEndpoints(
            f"ws://{simulator}/{exchange}/{product}", f"http://{simulator}/{exchange}/{product}"
        )
    if wanted is None:
        return documented
    return AccountEndpoints(wanted.websocket or documented.websocket, wanted.rest or documented.rest)


def _part(account: AccountSettings, exchange: str, name: str, part: Part, mistakes: list[tuple[str, str]]) -> str:
    given = account.key if part == "key" else account.secret
    variable = f"TIDEGATE_ACCOUNT_{exchange}_{name}_{part}".upper().replace("-", "_")
    text = given.get_secret_value() if given is not None else os.environ.get(variable)
    named = account.key_file if part == "key" else account.secret_file
    where = f"accounts.{exchange}.{name}.{part}"
    if text is None:
        file = named or SECRETS / f"{exchange}-{name}-{part}"
        try:
            text = _read(file)
        except OSError as error:
            looked = f"{file} cannot be read: {error.strerror}"
            mistakes.append((where, looked if named is not None else f"{looked}; {variable} is not set either"))
            return ""
        except ValueError as error:
            mistakes.append((where, f"{file} {error}"))
            return ""
    text = text.strip()
    if not text:
        mistakes.append((where, "is empty"))
    elif not text.isascii() or not text.isprintable():
        mistakes.append((where, "has characters that no key has"))
    return text


def _read(file: Path) -> str:
    with file.open("rb") as opened:
        content = opened.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"has more than {MAX_BYTES} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ValueError("is no UTF-8") from None
