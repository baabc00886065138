"""The object that the registry holds."""

from collections.abc import Mapping, Sequence
from typing import Final

from shared.accounts.base import (
    AccountAdapter,
    AccountEndpoints,
    AccountParser,
    AccountPlan,
    Call,
    CatchUp,
    CatchUpNeeds,
    Credentials,
    Dialogue,
    SignedRequest,
)
from shared.envelope import RestReply
from shared.errors import ParseError
from shared.exchanges.base import Limits, Request
from shared.exchanges.mexc.account import signing
from shared.exchanges.mexc.account.catch_up import FuturesCatchUp, SpotCatchUp
from shared.exchanges.mexc.account.dialogue import FuturesDialogue, SpotDialogue
from shared.exchanges.mexc.account.endpoints import LIMITS, PRODUCTS, clock
from shared.exchanges.mexc.account.parser import MexcAccountParser
from shared.exchanges.mexc.account.wire import clock_reply
from shared.exchanges.mexc.endpoints import FUTURES_INSTRUMENTS, SPOT, SPOT_INSTRUMENTS, instrument_request, path_of
from shared.exchanges.mexc.symbols import EXCHANGE, futures_instruments, spot_instruments
from shared.exchanges.mexc.wire import LAST_MS, decoded
from shared.instruments import Instrument, InstrumentTable

__all__ = ["ACCOUNT_ADAPTER", "MexcAccountAdapter"]


class MexcAccountAdapter:
    """See :class:`shared.accounts.base.AccountAdapter`."""

    @property
    def name(self) -> str:
        """``mexc``."""
        return EXCHANGE

    @property
    def products(self) -> Mapping[str, AccountEndpoints]:
        """``spot`` and ``futures``."""
        return PRODUCTS

    def plan(
        self,
        account: str,
        products: Sequence[str],
        symbols: Sequence[str],
        endpoints: Mapping[str, AccountEndpoints],
    ) -> Sequence[AccountPlan]:
        """One connection per product."""
        return [
            AccountPlan(
                f"{EXCHANGE}.{account}.{product}", EXCHANGE, account, (product,), endpoints[product], tuple(symbols)
            )
            for product in dict.fromkeys(products)
        ]

    def limits(self, plan: AccountPlan) -> Limits:
        """Those of the product."""
        return LIMITS[plan.products[0]]

    def clock(self, plan: AccountPlan) -> Call:
        """The venue's time."""
        return clock(plan.products[0])

    def clock_ms(self, reply: RestReply) -> int:
        """``serverTime`` (spot) or ``data`` (futures) of the reply; raises ParseError."""
        said = decoded(clock_reply, reply.body)
        time = said.data if said.server_time is None else said.server_time
        if reply.status != 200 or time is None or not 0 < time < LAST_MS:
            raise ParseError("bad_time", f"the time was answered with status {reply.status} and {time}")
        return time

    def refused(self, reply: RestReply) -> str | None:
        """By the code of an error."""
        return signing.refused(reply)

    def sign(self, plan: AccountPlan, call: Call, credentials: Credentials, now_ms: int) -> SignedRequest:
        """Spot in the query, futures with headers."""
        return signing.sign(plan, call, credentials, now_ms)

    def dialogue(self, plan: AccountPlan, credentials: Credentials) -> Dialogue:
        """For one connection."""
        if plan.products[0] == SPOT:
            return SpotDialogue(plan, credentials)
        return FuturesDialogue(plan, credentials)

    def catch_up(self, plan: AccountPlan, needs: CatchUpNeeds) -> CatchUp:
        """For one reconciliation."""
        return SpotCatchUp(plan, needs) if plan.products[0] == SPOT else FuturesCatchUp(plan, needs)

    def instrument_requests(self, plan: AccountPlan) -> Sequence[Request]:
        """The whole list, in one reply."""
        return [instrument_request(plan.products[0], plan.endpoints.rest)]

    def next_instruments(self, plan: AccountPlan, request: Request, reply: RestReply) -> Request | None:  # noqa: ARG002
        """None: there are no pages."""
        return None

    def instruments(self, plan: AccountPlan, reply: RestReply) -> Sequence[Instrument]:
        """Those of an instrument list; raises ParseError."""
        spot = plan.products[0] == SPOT
        if not path_of(reply.url).endswith(SPOT_INSTRUMENTS if spot else FUTURES_INSTRUMENTS):
            return ()
        return spot_instruments(reply.body) if spot else futures_instruments(reply.body)

    def parser(self, plan: AccountPlan, instruments: Mapping[str, InstrumentTable]) -> AccountParser:
        """A new parser for one stream."""
        return MexcAccountParser(plan, instruments)


ACCOUNT_ADAPTER: Final[AccountAdapter] = MexcAccountAdapter()
