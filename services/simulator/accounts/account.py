"""One account at one exchange: its key, its wallets, what it may do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from services.simulator.accounts.identities import Identities
from services.simulator.accounts.rules import RULES, rules_of
from services.simulator.accounts.wallet import Wallet

__all__ = ["DEFAULT_BALANCES", "Account", "AccountSpec", "Refused"]

DEFAULT_BALANCES: Mapping[str, str] = {
    "USDT": "1000000",
    "BTC": "20",
    "ETH": "200",
    "SOL": "5000",
    "XRP": "200000",
    "DOGE": "2000000",
}


class Refused(ValueError):
    """An order, or anything else, that the venue does not accept; nothing happened."""


@dataclass(frozen=True, slots=True)
class AccountSpec:
    """An account to be made. ``balances`` are what every wallet of it starts with: asset to amount."""

    exchange: str
    name: str
    key: str
    secret: str = field(repr=False)
    balances: Mapping[str, str] = field(default_factory=lambda: DEFAULT_BALANCES)

    def __post_init__(self) -> None:
        if self.exchange not in RULES:
            raise Refused(f"exchange must be one of {', '.join(RULES)}; received {self.exchange!r}")
        if not self.name or not self.key or not self.secret:
            raise Refused("name, key and secret must not be empty")
        for asset, amount in self.balances.items():
            if not amount.replace(".", "", 1).isdecimal():
                raise Refused(f"balances.{asset} must be a number in text; received {amount!r}")


class Account:
    """``wallets`` by name; ``offset_ns`` is how far the venue's clock is ahead of everybody's."""

    def __init__(self, spec: AccountSpec, seed: int, now_ns: int) -> None:
        self.exchange = spec.exchange
        self.name = spec.name
        self.key = spec.key
        self.secret = spec.secret
        balances = {asset: Decimal(amount) for asset, amount in spec.balances.items()}
        seeded = f"{seed}/{spec.exchange}/{spec.name}"
        self.wallets = {
            rules.name: Wallet(rules, Identities(spec.exchange, rules.name, seeded, now_ns), balances, now_ns)
            for rules in RULES[spec.exchange]
        }

    def wallet(self, product: str) -> Wallet:
        """The wallet that holds a product; Refused where there is none."""
        try:
            return self.wallets[rules_of(self.exchange, product).name]
        except KeyError:
            raise Refused(f"{self.exchange} has no product {product!r}") from None
