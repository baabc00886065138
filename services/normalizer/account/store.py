"""What is remembered of one account stream, on disk: executions told, orders, balances, positions, instruments.

One transaction says that frames were dealt with and what that changed. It is written after everything that came of
them was confirmed, and before they are acknowledged. So after a crash a frame comes again and gives the same messages
with the same identity, or is known and left alone.

A file that is lost costs no event: the frames that are not acknowledged come again, and a reconciliation is asked for.
It may cost repetitions under a new identity: of executions that this reconciliation lists again, of orders that ended
within it, of balances and positions. Consumers recognize an execution by its id.
"""

from pathlib import Path
from typing import Final, TypeVar

from msgspec import DecodeError, msgpack

from shared.accounts.messages import OPEN_STATUSES
from shared.accounts.state_orders import when
from shared.accounts.state_records import (
    Changes,
    Header,
    HeldBalance,
    HeldPosition,
    Needs,
    OrderKey,
    PositionKey,
    Recalled,
    Snapshot,
    TrackedOrder,
)
from shared.database import Database, Form
from shared.errors import StateError
from shared.instruments import Instrument

__all__ = ["SEEN_DAYS", "Store"]

SEEN_DAYS: Final = 35
"""How long an execution is remembered, by the venue's clock; longer while a reconciliation may have to reach back."""

ENDED_DAYS: Final = 7
"""How long an order that ended is."""

_DAY_NS: Final = 86_400 * 1_000_000_000
PRUNE_EVERY: Final = 256
"""Commits between two looks for what is too old."""

PRUNE_ROWS: Final = 2_000
"""Rows that one look removes at most: many more than so many commits add."""

_FORM: Final = Form(
    "account state",
    0x54474153,  # TGAS
    1,
    (
        "CREATE TABLE stream (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL, header BLOB NOT NULL)",
        "CREATE TABLE seen (scope TEXT, identity TEXT, at INTEGER, PRIMARY KEY (scope, identity)) WITHOUT ROWID",
        "CREATE INDEX seen_at ON seen (at)",
        "CREATE TABLE orders (symbol TEXT, id TEXT, open, at, body, PRIMARY KEY (symbol, id)) WITHOUT ROWID",
        "CREATE INDEX orders_at ON orders (open, at)",
        "CREATE TABLE balances (asset TEXT PRIMARY KEY, body) WITHOUT ROWID",
        "CREATE TABLE positions (symbol TEXT, leg TEXT, body, PRIMARY KEY (symbol, leg)) WITHOUT ROWID",
        "CREATE TABLE instruments (product TEXT, native TEXT, body, PRIMARY KEY (product, native)) WITHOUT ROWID",
    ),
    StateError,
)

T = TypeVar("T")

_encode: Final = msgpack.Encoder().encode


class Store:
    """An open file. Every method raises StateError; then close it, open it anew and go on from what is in it."""

    def __init__(self, path: Path, stream: str) -> None:
        self._stream = stream
        self._database = Database(path, _FORM)
        self._commits = 0
        try:
            self._newest = self._check()
        except BaseException:
            self._database.close()
            raise

    def load(self) -> Snapshot:
        """What it holds; empty for a new file."""
        rows, decoded = self._database.rows, self._decoded
        row = self._database.one("SELECT header FROM stream")
        header = Header() if row is None else decoded(row[0], Header)
        return Snapshot(
            header,
            {
                OrderKey(symbol, order_id): decoded(body, TrackedOrder)
                for symbol, order_id, body in rows("SELECT symbol, id, body FROM orders WHERE open = 1")
            },
            {asset: decoded(body, HeldBalance) for asset, body in rows("SELECT asset, body FROM balances")},
            {
                PositionKey(symbol, leg): decoded(body, HeldPosition)
                for symbol, leg, body in rows("SELECT symbol, leg, body FROM positions")
            },
            [decoded(body, Instrument) for (body,) in rows("SELECT body FROM instruments")],
        )

    def recall(self, needs: Needs) -> Recalled:
        """What is known of these."""
        one = self._database.one
        orders = {}
        for key in needs.orders:
            row = one("SELECT body FROM orders WHERE symbol = ? AND id = ?", key)
            if row is not None:
                orders[key] = self._decoded(row[0], TrackedOrder)
        seen = {key for key in needs.seen if one("SELECT 1 FROM seen WHERE scope = ? AND identity = ?", key)}
        return Recalled(seen, orders)

    def commit(self, header: Header, changes: Changes) -> None:
        """Frames up to ``header`` were dealt with: one transaction, synced when this returns."""
        database = self._database
        with database.transaction():
            database.write("INSERT OR REPLACE INTO stream VALUES (1, ?, ?)", (self._stream, _encode(header)))
            write = database.write_many
            seen = [(*key, at) for key, at in changes.seen.items()]
            write("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", seen)
            orders = [_row(key, tracked) for key, tracked in changes.orders.items()]
            write("INSERT OR REPLACE INTO orders VALUES (?, ?, ?, ?, ?)", orders)
            balances = [(asset, _encode(held)) for asset, held in changes.balances.items()]
            write("INSERT OR REPLACE INTO balances VALUES (?, ?)", balances)
            positions = [(*place, _encode(held)) for place, held in changes.positions.items()]
            write("INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", positions)
            instruments = [(*place, _encode(instrument)) for place, instrument in changes.instruments.items()]
            write("INSERT OR REPLACE INTO instruments VALUES (?, ?, ?)", instruments)
            self._newest = max([self._newest, *(at for *_, at in seen), *(at for _, _, _, at, _ in orders)])
            self._commits += 1
            if self._commits % PRUNE_EVERY == 0:
                self._prune(header.standing.covered_ms)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _prune(self, covered_ms: int | None) -> None:
        """Forget what no reconciliation will ask for: they begin at what is covered, or a little before it."""
        write, newest = self._database.write, self._newest
        if covered_ms is not None:
            newest = min(newest, covered_ms * 1_000_000)
        write(
            "DELETE FROM seen WHERE (scope, identity) IN"
            " (SELECT scope, identity FROM seen WHERE at < ? ORDER BY at LIMIT ?)",
            (newest - SEEN_DAYS * _DAY_NS, PRUNE_ROWS),
        )
        write(
            "DELETE FROM orders WHERE (symbol, id) IN"
            " (SELECT symbol, id FROM orders WHERE open = 0 AND at < ? ORDER BY at LIMIT ?)",
            (newest - ENDED_DAYS * _DAY_NS, PRUNE_ROWS),
        )

    def _check(self) -> int:
        """The newest thing in it (ns, the venue's clock): what is old is old against this, whatever our clock says."""
        row = self._database.one("SELECT name FROM stream")
        if row is not None and row[0] != self._stream:
            raise self._database.fail("foreign", f"it is that of {row[0]}")
        found = self._database.one(
            "SELECT max(coalesce((SELECT max(at) FROM seen), 0), coalesce((SELECT max(at) FROM orders), 0))"
        )
        return 0 if found is None else int(found[0])

    def _decoded(self, body: bytes, kind: type[T]) -> T:
        try:
            return msgpack.decode(body, type=kind)
        except DecodeError as error:
            raise self._database.fail("corrupt", f"a {kind.__name__} can't be read: {error}") from error


def _row(key: OrderKey, tracked: TrackedOrder) -> tuple[str, str, bool, int, bytes]:
    order = tracked.order
    return key.symbol, key.order_id, order.status in OPEN_STATUSES, when(order), _encode(tracked)
