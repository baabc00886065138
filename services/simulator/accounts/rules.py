"""What the venues do differently with an account, in neutral terms."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

__all__ = ["RULES", "WalletRules", "rules_of"]

DEFAULT_LEVERAGE = 10


def _rates(maker: str, taker: str) -> tuple[Decimal, Decimal]:
    return Decimal(maker), Decimal(taker)


@dataclass(frozen=True, slots=True)
class WalletRules:
    """One wallet of a venue: the products that share its balances.

    ``fees`` are maker and taker rates by product. Spot fees are taken from what was ``received``, or from the quote
    currency. ``hedged``: contracts are held as separate long and short legs. ``amends``: which products let an order
    be changed; ``shrinks_only``: to a smaller size alone. ``post_only_ends`` is what becomes of a post-only order that
    would take, ``immediate_ends`` of the rest of an order that must fill at once, ``self_match_ends`` of an order that
    would trade with the account itself.
    """

    name: str
    products: tuple[str, ...]
    fees: Mapping[str, tuple[Decimal, Decimal]]
    received: bool = True
    hedged: bool = False
    amends: frozenset[str] = frozenset()
    shrinks_only: frozenset[str] = frozenset()
    post_only_ends: str = "canceled"
    immediate_ends: str = "canceled"
    self_match_ends: str = "canceled"
    leverage: int = DEFAULT_LEVERAGE


RULES: Mapping[str, tuple[WalletRules, ...]] = {
    "bybit": (
        WalletRules(
            "unified",
            ("spot", "linear", "inverse"),
            {
                "spot": _rates("0.001", "0.001"),
                "linear": _rates("0.0002", "0.00055"),
                "inverse": _rates("0.0002", "0.00055"),
            },
            amends=frozenset({"spot", "linear", "inverse"}),
            post_only_ends="rejected",
        ),
    ),
    "mexc": (
        WalletRules("spot", ("spot",), {"spot": _rates("0", "0.0005")}, received=False),
        WalletRules(
            "futures",
            ("futures",),
            {"futures": _rates("0.0006", "0.0008")},
            hedged=True,
            post_only_ends="rejected",
        ),
    ),
    "binance": (
        WalletRules(
            "spot",
            ("spot",),
            {"spot": _rates("0.001", "0.001")},
            amends=frozenset({"spot"}),
            shrinks_only=frozenset({"spot"}),
            post_only_ends="rejected",
            immediate_ends="expired",
            self_match_ends="expired",
        ),
        WalletRules(
            "usdm",
            ("usdm",),
            {"usdm": _rates("0.0002", "0.0005")},
            amends=frozenset({"usdm"}),
            post_only_ends="expired",
            immediate_ends="expired",
            self_match_ends="expired",
        ),
    ),
}
"""By exchange. MEXC's futures fees are those of API orders since 2026-06-01."""


def rules_of(exchange: str, product: str) -> WalletRules:
    """The wallet that holds a product; KeyError where there is none."""
    for rules in RULES[exchange]:
        if product in rules.products:
            return rules
    raise KeyError(product)
