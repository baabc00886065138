"""Which private frame goes where. A parser keeps nothing but the instruments."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Raw

from shared.accounts.base import AccountPlan, Found
from shared.accounts.messages import Source
from shared.envelope import Frame, RestReply
from shared.errors import ParseError
from shared.exchanges.base import Origin
from shared.exchanges.bybit.account.balances import balance
from shared.exchanges.bybit.account.endpoints import (
    EXECUTIONS,
    OPEN_ORDERS,
    ORDER_HISTORY,
    POSITIONS,
    SETTLE_COINS,
    UNIFIED,
    WALLET,
)
from shared.exchanges.bybit.account.fills import FUNDING, fill, funding
from shared.exchanges.bybit.account.orders import order
from shared.exchanges.bybit.account.positions import position
from shared.exchanges.bybit.account.wire import (
    COIN_ROW,
    EXECUTION_ROW,
    ORDER_ROW,
    POSITION_ROW,
    PRIVATE_FRAME,
    WALLET_ROW,
    moment,
    page,
)
from shared.exchanges.bybit.subscribe import CONTROL_OPS
from shared.exchanges.bybit.symbols import is_option, named
from shared.exchanges.bybit.wire import decode, nanoseconds
from shared.exchanges.records import each, nothing, of_account, of_instrument
from shared.exchanges.signing import asked
from shared.instruments import Instrument, InstrumentTable

__all__ = ["BybitAccountParser"]

FAST: Final = "execution.fast"
"""The same executions without their fees; the full ones come too, so that nothing is made of these."""


class BybitAccountParser:
    """See :class:`shared.accounts.base.AccountParser`."""

    def __init__(self, plan: AccountPlan, instruments: Mapping[str, InstrumentTable]) -> None:
        self._account = plan.account
        self._products = plan.products
        self._tables = instruments

    def data(self, origin: Origin, frame: Frame) -> Found:
        """A message of a private topic; control messages give nothing."""
        message = decode(PRIVATE_FRAME, frame[2])
        found = nothing()
        if message.topic is None:
            if message.success is None and message.op not in CONTROL_OPS:
                raise ParseError("unknown_event", f"a frame had no topic, op was {str(message.op)[:40]!r}")
            return found
        channel, _, category = message.topic.partition(".")
        if message.topic == FAST or message.topic.startswith(FAST + "."):
            return found
        ts = None if message.creation_time is None else nanoseconds(message.creation_time, "creationTime")
        rows = _Rows(self, origin, category or None, ts, "stream", found)
        take = rows.takers.get(channel)
        if take is None:
            raise ParseError("unknown_event", f"the topic was {message.topic[:80]!r}")
        if message.data is None:
            raise ParseError("missing_field", f"a frame of {channel} had no data")
        each(message.data, take, found)
        return found

    def caught_up(self, origin: Origin, replies: Sequence[RestReply]) -> Found:
        """The pages of a reconciliation. What is complete is told by the last page of each list."""
        found = nothing()
        whole: set[tuple[str, str, str | None]] = set()
        for reply in replies:
            path, parameters = asked(reply.url)
            path = next((one for one in _LISTS if path.endswith(one)), "")
            if not path:
                raise ParseError("unknown_event", f"a reply came from {reply.url[:200]!r}")
            listed = page(reply.status, reply.body, path)
            category = parameters.get("category")
            ended = path == ORDER_HISTORY or parameters.get("openOnly") == "1"
            rows = _Rows(self, origin, category, None, "rest", found, ended=ended)
            each(listed.rows, rows.takers[_LISTS[path]], found)
            if listed.is_last(parameters.get("cursor")) and category is not None and not ended:
                whole.add((path, category, parameters.get("settleCoin")))
            found.all_balances = found.all_balances or path == WALLET
        found.open_orders_of = self._whole(OPEN_ORDERS, whole)
        found.positions_of = self._whole(POSITIONS, whole)
        return found

    def _whole(self, path: str, whole: set[tuple[str, str, str | None]]) -> tuple[str, ...]:
        return tuple(
            product
            for product in self._products
            if all((path, product, settle) in whole for settle in SETTLE_COINS[product])
        )

    def instrument(self, category: str | None, native_symbol: str, *, contract: bool) -> Instrument:
        """What a row is about; raises ParseError. A row without category is of the one product that has the symbol."""
        if is_option(native_symbol):
            raise ParseError("unknown_event", f"{native_symbol[:60]!r} is an option")
        if category is not None:
            if category not in self._products:
                raise ParseError("unknown_event", f"the account has no product {category[:40]!r}")
            candidates = [category]
        else:
            candidates = [product for product in self._products if not (contract and product == "spot")]
        found = [one for product in candidates if (one := self._lookup(product, native_symbol)) is not None]
        if len(found) > 1:
            raise ParseError("missing_field", f"a row about {native_symbol[:60]!r} had no category")
        if not found:
            raise ParseError("unknown_instrument", f"{native_symbol[:60]!r} is not listed in {' or '.join(candidates)}")
        return found[0]

    def _lookup(self, product: str, native_symbol: str) -> Instrument | None:
        table = self._tables.get(product)
        return (None if table is None else table.get(native_symbol)) or named(product, native_symbol)

    @property
    def account(self) -> str:
        """The account's name."""
        return self._account


_LISTS: Final = {
    OPEN_ORDERS: "order",
    ORDER_HISTORY: "order",
    EXECUTIONS: "execution",
    POSITIONS: "position",
    WALLET: "wallet",
}
"""Which channel's rows a list has."""


class _Rows:
    """What takes the rows of one frame or page."""

    def __init__(
        self,
        parser: BybitAccountParser,
        origin: Origin,
        category: str | None,
        ts: int | None,
        source: Source,
        found: Found,
        *,
        ended: bool = False,
    ) -> None:
        self._parser = parser
        self._origin = origin
        self._category = category
        self._ts = ts
        self._source = source
        self._found = found
        self._ended = ended
        self.takers = {
            "order": self._order,
            "execution": self._execution,
            "position": self._position,
            "wallet": self._wallet,
        }

    def _order(self, raw: Raw) -> None:
        row = decode(ORDER_ROW, raw)
        instrument = self._instrument(row.category, row.symbol)
        start = of_instrument(
            self._origin, self._parser.account, instrument, moment(row.updated_time, "updatedTime") or self._ts
        )
        self._found.orders.append(order(start, instrument, row, self._source, ended=self._ended))

    def _execution(self, raw: Raw) -> None:
        row = decode(EXECUTION_ROW, raw)
        instrument = self._instrument(row.category, row.symbol)
        start = of_instrument(self._origin, self._parser.account, instrument, moment(row.exec_time, "execTime"))
        if row.exec_type != FUNDING:
            self._found.fills.append(fill(start, instrument, row, self._source))
            return
        paid = funding(start, instrument, row, self._source)
        if paid is not None:
            self._found.changes = [*(self._found.changes or ()), paid]

    def _position(self, raw: Raw) -> None:
        row = decode(POSITION_ROW, raw)
        instrument = self._instrument(row.category, row.symbol, contract=True)
        start = of_instrument(
            self._origin, self._parser.account, instrument, moment(row.updated_time, "updatedTime") or self._ts
        )
        self._found.positions.append(position(start, instrument, row, self._source))

    def _wallet(self, raw: Raw) -> None:
        row = decode(WALLET_ROW, raw)
        if row.account_type not in {None, "", UNIFIED}:
            raise ParseError("unknown_event", f"accountType was {row.account_type!r}"[:200])
        start = of_account(self._origin, self._parser.account, self._ts)
        each(
            row.coin,
            lambda coin: self._found.balances.append(balance(start, decode(COIN_ROW, coin), self._source)),
            self._found,
        )

    def _instrument(self, category: str | None, native_symbol: str, *, contract: bool = False) -> Instrument:
        return self._parser.instrument(category or self._category, native_symbol, contract=contract)
