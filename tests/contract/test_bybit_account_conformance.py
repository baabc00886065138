from shared.accounts.base import Call
from shared.exchanges.bybit.account import ACCOUNT_ADAPTER
from tests.contract.account_conformance import AccountConformance
from tests.unit.exchanges.bybit.account import samples as bybit


class TestBybitAccountConformance(AccountConformance):
    adapter = ACCOUNT_ADAPTER
    products = bybit.PRODUCTS
    listed = bybit.LISTED
    samples = bybit.SAMPLES
    openings = bybit.OPENINGS
    controls = bybit.CONTROLS
    refusals = bybit.REFUSALS
    endings = bybit.ENDINGS
    unknown_statuses = bybit.UNKNOWN_STATUSES
    refused = bybit.REFUSED
    clocks = bybit.CLOCKS

    def empty(self, call: Call) -> bytes:
        return bybit.empty(call)

    def endless(self, call: Call, seed: int) -> bytes:
        return bybit.endless(call, seed)
