"""Who is who: API keys, signatures, listen keys."""

import hmac
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from typing import NamedTuple

from services.simulator.accounts.account import Account, AccountSpec, Refused

__all__ = ["Checked", "Keyring", "ListenKey", "signature"]

MOST_ACCOUNTS = 1000


def signature(secret: str, text: str) -> str:
    """HMAC-SHA256 of the text, in lower-case hexadecimal digits."""
    return hmac.new(secret.encode(), text.encode(errors="surrogateescape"), sha256).hexdigest()


class Checked(NamedTuple):
    """Whose request it is, or why it is nobody's: ``problem`` is key or signature."""

    account: Account | None
    problem: str = ""


@dataclass(slots=True)
class ListenKey:
    """Names a private stream for as long as it is renewed."""

    text: str
    account: Account
    wallet: str
    expires_ns: int
    connections: int = field(default=0)


class Keyring:
    """Every account, by name and by key.

    ``refuses`` tells whether a fault refuses this login at a product, ``rejects`` whether one refuses this topic,
    ``offset`` how far an exchange's clock is ahead (ns).
    """

    def __init__(
        self,
        seed: int,
        refuses: Callable[[Account, str], bool] = lambda _account, _product: False,
        rejects: Callable[[Account, str, str], bool] = lambda _account, _product, _topic: False,
        offset: Callable[[str], int] = lambda _exchange: 0,
    ) -> None:
        self.rejects = rejects
        self.offset = offset
        self.accounts: dict[tuple[str, str], Account] = {}
        self.listen_keys: dict[str, ListenKey] = {}
        self._by_key: dict[tuple[str, str], Account] = {}
        self._seed = seed
        self._rng = Random(f"{seed}/listen keys")
        self._refuses = refuses

    def add(self, spec: AccountSpec, now_ns: int) -> Account:
        """Make an account; Refused where its name or its key is taken."""
        if len(self.accounts) >= MOST_ACCOUNTS:
            raise Refused(f"there are {MOST_ACCOUNTS} accounts already")
        if (spec.exchange, spec.name) in self.accounts or (spec.exchange, spec.key) in self._by_key:
            raise Refused(f"{spec.exchange} has an account of this name or key already")
        account = Account(spec, self._seed, now_ns)
        self.accounts[spec.exchange, spec.name] = self._by_key[spec.exchange, spec.key] = account
        return account

    def account(self, exchange: str, name: str) -> Account:
        """By name; Refused where there is none."""
        try:
            return self.accounts[exchange, name]
        except KeyError:
            raise Refused(f"{exchange} has no account {name!r}") from None

    def holder(self, exchange: str, key: str) -> Account | None:
        """By API key."""
        return self._by_key.get((exchange, key))

    def check(self, exchange: str, product: str, key: str, text: str, given: str) -> Checked:
        """Whether ``given`` is the signature of ``text`` by the holder of ``key``."""
        account = self.holder(exchange, key)
        if account is None or self._refuses(account, product):
            return Checked(None, "key")
        if not hmac.compare_digest(signature(account.secret, text).encode(), given.lower().encode(errors="replace")):
            return Checked(None, "signature")
        return Checked(account)

    def check_key(self, exchange: str, product: str, key: str) -> Checked:
        """For requests that carry the key alone."""
        account = self.holder(exchange, key)
        if account is None or self._refuses(account, product):
            return Checked(None, "key")
        return Checked(account)

    def grant(self, account: Account, wallet: str, expires_ns: int) -> ListenKey:
        """A new listen key."""
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        text = "".join(self._rng.choices(alphabet, k=64))
        self.listen_keys[text] = ListenKey(text, account, wallet, expires_ns)
        return self.listen_keys[text]

    def granted(self, account: Account, wallet: str, now_ns: int) -> Iterator[ListenKey]:
        """The listen keys of an account's wallet that are still good."""
        for one in [*self.listen_keys.values()]:
            if one.account is account and one.wallet == wallet and self.good(one.text, now_ns):
                yield one

    def good(self, text: str, now_ns: int) -> ListenKey | None:
        """A listen key, if there is one of this text that did not expire."""
        found = self.listen_keys.get(text)
        if found is not None and found.expires_ns <= now_ns:
            del self.listen_keys[text]
            return None
        return found

    def revoke(self, text: str) -> None:
        """Make a listen key worthless."""
        self.listen_keys.pop(text, None)
