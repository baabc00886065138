"""Which private frame goes where. A parser keeps nothing but the instruments."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from shared.accounts.base import AccountPlan, Found
from shared.envelope import Frame, FrameKind, RestReply
from shared.errors import ParseError
from shared.exchanges.base import Origin
from shared.exchanges.mexc import futures_wire, spot_wire
from shared.exchanges.mexc.account import balances, fills, orders, positions
from shared.exchanges.mexc.account import wire as w
from shared.exchanges.mexc.account.lists import Lists
from shared.exchanges.mexc.account.starts import Starts
from shared.exchanges.mexc.endpoints import SPOT
from shared.exchanges.mexc.push_pb2 import PushDataV3ApiWrapper
from shared.exchanges.mexc.wire import decoded
from shared.exchanges.records import nothing
from shared.instruments import InstrumentTable

__all__ = ["MexcAccountParser"]

_PRIVATE: Final = "spot@private."
_PERSONAL: Final = "push.personal."

_LEFT_OUT: Final = frozenset(
    {
        "plan.order",
        "stop.order",
        "stop.planorder",
        "track.order",
        "risk.limit",
        "adl.level",
        "position.mode",
        "liquidate.risk",
        "leverage.mode",
        "reverse.position",
        "order.chase",
        "generic.notify",
    }
)
"""Pushes that have no message; the filter keeps them away."""

_Reader = Callable[[Origin, futures_wire.Push, int | None, Found], None]


class MexcAccountParser:
    """See :class:`shared.accounts.base.AccountParser`."""

    def __init__(self, plan: AccountPlan, instruments: Mapping[str, InstrumentTable]) -> None:
        self._product = plan.products[0]
        self._starts = Starts(plan.account, self._product, instruments.get(self._product))
        self._lists = Lists(self._product, self._starts)
        self._readers: Final[Mapping[str, _Reader]] = {
            "order": self._order,
            "order.deal": self._deal,
            "position": self._position,
            "asset": self._asset,
        }

    def data(self, origin: Origin, frame: Frame) -> Found:
        """A push; answers give nothing."""
        found = nothing()
        if self._product != SPOT:
            self._contract_push(origin, frame.data, found)
        elif frame.kind == FrameKind.TEXT or frame.data[:1] == b"{":
            decoded(spot_wire.answer, frame.data)
        else:
            self._spot_push(origin, spot_wire.push(frame.data), found)
        return found

    def caught_up(self, origin: Origin, replies: Sequence[RestReply]) -> Found:
        """The lists of a reconciliation."""
        return self._lists.read(origin, replies)

    # --- spot ---

    def _spot_push(self, origin: Origin, push: PushDataV3ApiWrapper, found: Found) -> None:
        sent = w.moment(push.sendTime or push.createTime, "sendTime")
        match push.WhichOneof("body"):
            case "privateOrders":
                start = self._starts.instrument(origin, self._starts.find(push.symbol), sent)
                found.orders.append(orders.pushed(start, push.privateOrders, sent))
            case "privateDeals":
                deal = push.privateDeals
                ts = w.moment(deal.time, "time")
                start = self._starts.instrument(origin, self._starts.find(push.symbol), ts)
                found.fills.append(fills.pushed(start, deal))
            case "privateAccount":
                account = push.privateAccount
                start = self._starts.account(origin, w.moment(account.time, "time") or sent)
                found.balances.append(balances.pushed(start, account))
            case None if push.channel.startswith(_PRIVATE):
                pass  # the venue sends frames with a channel and nothing else now and then
            case None if not push.channel:
                raise ParseError("invalid_protobuf", "a frame had neither channel nor body")
            case body:
                raise ParseError("unknown_event", f"{body} on {push.channel[:120]} is no event of an account")

    # --- futures ---

    def _contract_push(self, origin: Origin, data: bytes, found: Found) -> None:
        push = decoded(futures_wire.push, data)
        if push.channel == "pong" or push.channel.startswith("rs."):
            return
        what = push.channel.removeprefix(_PERSONAL)
        reader = self._readers.get(what) if what != push.channel else None
        if reader is not None:
            sent = push.ts if isinstance(push.ts, int) else None
            reader(origin, push, w.moment(sent, "ts"), found)
        elif what == push.channel or what not in _LEFT_OUT:
            raise ParseError("unknown_event", f"{push.channel[:80]!r} is no event of an account")

    def _order(self, origin: Origin, push: futures_wire.Push, sent: int | None, found: Found) -> None:
        row = decoded(w.contract_order, push.data)
        instrument = self._starts.find(row.symbol)
        start = self._starts.instrument(origin, instrument, w.moment(row.update_time, "updateTime") or sent)
        found.orders.append(orders.contract(start, instrument, row, "stream"))

    def _deal(self, origin: Origin, push: futures_wire.Push, sent: int | None, found: Found) -> None:
        row = decoded(w.deal, push.data)
        instrument = self._starts.find(row.symbol)
        start = self._starts.instrument(origin, instrument, w.moment(row.timestamp, "timestamp") or sent)
        found.fills.append(fills.executed(start, instrument, row, "stream"))

    def _position(self, origin: Origin, push: futures_wire.Push, sent: int | None, found: Found) -> None:
        row = decoded(w.position_row, push.data)
        instrument = self._starts.find(row.symbol)
        start = self._starts.instrument(origin, instrument, w.moment(row.update_time, "updateTime") or sent)
        found.positions.append(positions.position(start, instrument, row, "stream"))

    def _asset(self, origin: Origin, push: futures_wire.Push, sent: int | None, found: Found) -> None:
        row = decoded(w.asset_row, push.data)
        found.balances.append(balances.held(self._starts.account(origin, sent), row, "stream"))
