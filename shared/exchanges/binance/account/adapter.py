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
from shared.exchanges.binance.account import signing
from shared.exchanges.binance.account.catch_up import BinanceCatchUp
from shared.exchanges.binance.account.dialogue import SpotDialogue, UsdmDialogue
from shared.exchanges.binance.account.endpoints import LIMITS, PRODUCTS, clock
from shared.exchanges.binance.account.parser import BinanceAccountParser
from shared.exchanges.binance.account.rows import CLOCK_REPLY
from shared.exchanges.binance.account.wire import decode
from shared.exchanges.binance.endpoints import SPOT, asked, instruments_url
from shared.exchanges.binance.limits import INSTRUMENTS_WEIGHT
from shared.exchanges.binance.symbols import EXCHANGE, instruments_of
from shared.exchanges.binance.values import LAST_MS
from shared.instruments import Instrument, InstrumentTable

__all__ = ["ACCOUNT_ADAPTER", "BinanceAccountAdapter"]


class BinanceAccountAdapter:
    """See :class:`shared.accounts.base.AccountAdapter`."""

    @property
    def name(self) -> str:
        """``binance``."""
        return EXCHANGE

    @property
    def products(self) -> Mapping[str, AccountEndpoints]:
        """``spot`` and ``usdm``."""
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
        """``serverTime`` of the reply; raises ParseError."""
        time = decode(CLOCK_REPLY, reply.body).server_time
        if reply.status != 200 or not 0 < time < LAST_MS:
            raise ParseError("bad_time", f"the time was answered with status {reply.status} and {time}")
        return time

    def refused(self, reply: RestReply) -> str | None:
        """By the code of an error."""
        return signing.refused(reply)

    def sign(self, plan: AccountPlan, call: Call, credentials: Credentials, now_ms: int) -> SignedRequest:
        """In the query, the key in a header."""
        return signing.sign(plan, call, credentials, now_ms)

    def dialogue(self, plan: AccountPlan, credentials: Credentials) -> Dialogue:
        """For one connection."""
        if plan.products[0] == SPOT:
            return SpotDialogue(plan, credentials)
        return UsdmDialogue(plan, credentials)

    def catch_up(self, plan: AccountPlan, needs: CatchUpNeeds) -> CatchUp:
        """For one reconciliation, symbol by symbol."""
        return BinanceCatchUp(plan, needs)

    def instrument_requests(self, plan: AccountPlan) -> Sequence[Request]:
        """The whole list, in one reply."""
        product = plan.products[0]
        return [Request(instruments_url(product, plan.endpoints.rest), INSTRUMENTS_WEIGHT[product])]

    def next_instruments(self, plan: AccountPlan, request: Request, reply: RestReply) -> Request | None:  # noqa: ARG002
        """None: there are no pages."""
        return None

    def instruments(self, plan: AccountPlan, reply: RestReply) -> Sequence[Instrument]:
        """Those of an ``exchangeInfo`` reply; raises ParseError."""
        product = plan.products[0]
        request = asked(product, reply.url)
        return () if request is None or request.what != "exchangeInfo" else instruments_of(product, reply.body)

    def parser(self, plan: AccountPlan, instruments: Mapping[str, InstrumentTable]) -> AccountParser:
        """A new parser for one stream."""
        return BinanceAccountParser(plan, instruments)


ACCOUNT_ADAPTER: Final[AccountAdapter] = BinanceAccountAdapter()
