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
from shared.exchanges.base import Endpoints, Limits, Request
from shared.exchanges.bybit import symbols
from shared.exchanges.bybit.account import signing
from shared.exchanges.bybit.account.catch_up import BybitCatchUp
from shared.exchanges.bybit.account.dialogue import BybitDialogue
from shared.exchanges.bybit.account.endpoints import CLOCK, LIMITS, PRODUCTS
from shared.exchanges.bybit.account.parser import BybitAccountParser
from shared.exchanges.bybit.account.wire import REPLY
from shared.exchanges.bybit.endpoints import INSTRUMENTS_PATH, NAME, instruments_url
from shared.exchanges.bybit.wire import decode
from shared.exchanges.signing import asked
from shared.instruments import Instrument, InstrumentTable

__all__ = ["ACCOUNT_ADAPTER", "BybitAccountAdapter"]


class BybitAccountAdapter:
    """See :class:`shared.accounts.base.AccountAdapter`."""

    @property
    def name(self) -> str:
        """``bybit``."""
        return NAME

    @property
    def products(self) -> Mapping[str, AccountEndpoints]:
        """``spot``, ``linear``, ``inverse``: one unified account."""
        return PRODUCTS

    def plan(
        self,
        account: str,
        products: Sequence[str],
        symbols: Sequence[str],
        endpoints: Mapping[str, AccountEndpoints],
    ) -> Sequence[AccountPlan]:
        """One connection for everything, at the endpoints of the first product."""
        chosen = tuple(dict.fromkeys(products))
        if not chosen:
            return ()
        return (AccountPlan(f"{NAME}.{account}", NAME, account, chosen, endpoints[chosen[0]], tuple(symbols)),)

    def limits(self, plan: AccountPlan) -> Limits:  # noqa: ARG002 - the protocol's signature
        """The same for every plan."""
        return LIMITS

    def clock(self, plan: AccountPlan) -> Call:  # noqa: ARG002 - as above
        """The venue's time."""
        return Call("GET", CLOCK, signed=False)

    def clock_ms(self, reply: RestReply) -> int:
        """``time`` of the reply; raises ParseError."""
        answer = decode(REPLY, reply.body)
        if reply.status != 200 or answer.ret_code != 0 or answer.time is None or answer.time <= 0:
            raise ParseError("bad_time", f"{CLOCK} was answered with status {reply.status} and time {answer.time}")
        return answer.time

    def refused(self, reply: RestReply) -> str | None:
        """By ``retCode``."""
        return signing.refused(reply)

    def sign(self, plan: AccountPlan, call: Call, credentials: Credentials, now_ms: int) -> SignedRequest:
        """With headers."""
        return signing.sign(plan, call, credentials, now_ms)

    def dialogue(self, plan: AccountPlan, credentials: Credentials) -> Dialogue:
        """For one connection."""
        return BybitDialogue(plan, credentials)

    def catch_up(self, plan: AccountPlan, needs: CatchUpNeeds) -> CatchUp:
        """For one reconciliation; symbols are not needed."""
        return BybitCatchUp(plan, needs)

    def instrument_requests(self, plan: AccountPlan) -> Sequence[Request]:
        """The first page of each product."""
        endpoints = Endpoints(plan.endpoints.websocket, plan.endpoints.rest)
        return [Request(instruments_url(product, endpoints)) for product in plan.products]

    def next_instruments(self, plan: AccountPlan, request: Request, reply: RestReply) -> Request | None:
        """The venue's cursor; raises ParseError."""
        product = _listed(plan, reply)
        return None if product is None else symbols.next_page(product, request, reply.body)

    def instruments(self, plan: AccountPlan, reply: RestReply) -> Sequence[Instrument]:
        """One page; raises ParseError."""
        product = _listed(plan, reply)
        return () if product is None else symbols.instruments(product, reply.body)

    def parser(self, plan: AccountPlan, instruments: Mapping[str, InstrumentTable]) -> AccountParser:
        """A new parser for one stream."""
        return BybitAccountParser(plan, instruments)


def _listed(plan: AccountPlan, reply: RestReply) -> str | None:
    """The product that a page of an instrument list is of."""
    path, parameters = asked(reply.url)
    product = parameters.get("category")
    return product if path.endswith(INSTRUMENTS_PATH) and product in plan.products else None


ACCOUNT_ADAPTER: Final[AccountAdapter] = BybitAccountAdapter()
