from shared.accounts.base import Call
from shared.exchanges.binance.account import ACCOUNT_ADAPTER
from tests.contract.account_conformance import AccountConformance
from tests.unit.exchanges.binance.account import samples as binance


class TestBinanceAccountConformance(AccountConformance):
    adapter = ACCOUNT_ADAPTER
    products = binance.PRODUCTS
    symbols = binance.SYMBOLS
    listed = binance.LISTED
    samples = binance.SAMPLES
    openings = binance.OPENINGS
    controls = binance.CONTROLS
    refusals = binance.REFUSALS
    endings = binance.ENDINGS
    unknown_statuses = binance.UNKNOWN_STATUSES
    refused = binance.REFUSED
    clocks = binance.CLOCKS

    def empty(self, call: Call) -> bytes:
        return binance.empty(call)

    def endless(self, call: Call, seed: int) -> bytes:
        return binance.endless(call, seed)
