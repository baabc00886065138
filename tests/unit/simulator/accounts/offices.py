"""A desk whose time a test drives, and an auditor of its ledgers."""

import json
from collections import defaultdict
from decimal import Decimal
from typing import Any

from services.simulator import AccountSpec, SimulatorSettings, select
from services.simulator.accounts.account import Account
from services.simulator.accounts.desk import Desk
from services.simulator.accounts.requests import OrderRequest, TimeInForce
from services.simulator.accounts.script import Script, ScriptRequest
from services.simulator.connection import Connection
from services.simulator.engine import Market
from services.simulator.faults import FaultBoard
from services.simulator.topics import encode_json
from services.simulator.venues.registry import make_venue
from tests.unit.simulator.client import START_NS

STEP_NS = 10_000_000


class Office:
    """One exchange's accounts and a few of its markets, without a socket."""

    def __init__(self, exchange: str, *symbols: str, names: tuple[str, ...] = ("main",), rate: float = 50.0) -> None:
        self.exchange = exchange
        self.now_ns = START_NS
        self.frames: list[tuple[str, int]] = []
        specs = tuple(AccountSpec(exchange, name, f"key of {name}", f"secret of {name}") for name in names)
        instruments = select(*symbols, exchange=exchange)
        settings = SimulatorSettings(exchanges=(exchange,), instruments=instruments, accounts=specs)
        self.markets = {(one.product, one.native_symbol): Market(one, 3, START_NS, rate) for one in instruments}
        products = {product for product, _ in self.markets}
        venues = {
            (exchange, product): make_venue(
                exchange,
                product,
                {symbol: market for (of, symbol), market in self.markets.items() if of == product},
                settings,
            )
            for product in products
        }
        self.board = FaultBoard()
        self.desk = Desk(venues, settings, self.board, lambda: self.now_ns, self._sent)

    def _sent(self, connection: Connection, feed: str, size: int) -> None:
        del connection
        self.frames.append((feed, size))

    def account(self, name: str = "main") -> Account:
        return self.desk.keyring.account(self.exchange, name)

    def market(self, product: str, symbol: str) -> Market:
        return self.markets[product, symbol]

    def pass_time(self, seconds: float, *, still: bool = False) -> None:
        for _ in range(int(seconds * 1_000_000_000) // STEP_NS):
            self.now_ns += STEP_NS
            if not still:
                for market in self.markets.values():
                    market.step(self.now_ns)
            self.desk.tick(self.now_ns)

    def busy(self, name: str = "main", *, still: bool = False, **request: Any) -> Script:
        """A script, run to its end."""
        script = self.desk.script(self.account(name), ScriptRequest(**request))
        while script.running:
            self.pass_time(0.01, still=still)
        return script

    def order(
        self,
        product: str,
        symbol: str,
        side: str,
        lots: int,
        tick: int | None = None,
        *,
        tif: TimeInForce = "gtc",
        leg: str = "",
        reduce_only: bool = False,
        name: str = "main",
    ) -> Any:
        instrument = self.market(product, symbol).instrument
        return self.desk.trading.submit(
            self.account(name),
            OrderRequest(
                product=product,
                symbol=symbol,
                side="buy" if side == "buy" else "sell",
                size=instrument.size(lots),
                price=instrument.price(tick) if tick is not None else "",
                tif=tif,
                leg=leg,
                reduce_only=reduce_only,
            ),
        )

    def best(self, product: str, symbol: str, *, buy: bool) -> int:
        book = self.market(product, symbol).book
        tick = book.best_bid if buy else book.best_ask
        assert tick is not None
        return tick

    def ledger(self, name: str = "main") -> Any:
        return json.loads(encode_json(self.desk.reports[self.account(name)].ledger()))


def audited(ledger: Any, wallet_of: dict[str, str]) -> None:
    """Balances, positions and orders follow from executions, payments and transfers alone.

    ``wallet_of`` names the wallet of each product.
    """
    totals: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    held: dict[tuple[str, str, str], Decimal] = defaultdict(Decimal)
    filled: dict[str, Decimal] = defaultdict(Decimal)
    for one in ledger["transfers"]:
        totals[one["wallet"], one["asset"]] += Decimal(one["amount"])
    for one in ledger["fundings"]:
        totals[wallet_of[one["product"]], one["asset"]] -= Decimal(one["amount"])
    named = {(one["symbol"], one["execution_id"]) for one in ledger["executions"]}
    assert len(named) == len(ledger["executions"])
    for one in ledger["executions"]:
        wallet, sign = wallet_of[one["product"]], 1 if one["side"] == "buy" else -1
        size = Decimal(one["size_native"])
        filled[one["order_id"]] += size
        totals[wallet, one["fee_asset"]] -= Decimal(one["fee"])
        if one["product"] == "spot":
            base, quote = one["symbol"].split("/")
            totals[wallet, base] += sign * size
            totals[wallet, quote] -= sign * size * Decimal(one["price"])
        else:
            held[one["product"], one["native_symbol"], one["leg"]] += sign * size
            totals[wallet, one["symbol"].partition(":")[2].partition("-")[0]] += Decimal(one["realized_pnl"])
    told = {(wallet, asset): row for wallet, rows in ledger["balances"].items() for asset, row in rows.items()}
    assert {key: Decimal(row["total"]) for key, row in told.items()} == totals
    for row in told.values():
        rest = [Decimal(row[name]) for name in ("locked", "order_margin", "position_margin")]
        assert Decimal(row["available"]) == Decimal(row["total"]) - sum(rest)
        assert min(rest) >= 0
    signs = {"long": 1, "short": -1, None: 0}
    positions = {
        (one["product"], one["native_symbol"], one["leg"]): signs[one["side"]] * Decimal(one["size_native"])
        for one in ledger["positions"]
    }
    assert positions == held
    for order_id, one in ledger["orders"].items():
        assert Decimal(one["filled_size_native"]) == filled[order_id]
        assert (one["status"] == "filled") == (filled[order_id] == Decimal(one["size_native"]))
        assert one["ts_created"] <= one["ts_updated"]
    assert set(filled) - {key for key, size in filled.items() if not size} <= set(ledger["orders"])
