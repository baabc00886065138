from collections.abc import Iterator

from typing_extensions import override

from shared.accounts.base import Call
from shared.exchanges.mexc.account import ACCOUNT_ADAPTER
from shared.exchanges.mexc.push_pb2 import PushDataV3ApiWrapper
from tests.contract.account_conformance import AccountConformance
from tests.contract.account_samples import AccountSample
from tests.contract.samples import Path, with_token
from tests.contract.test_mexc_conformance import NO_NUMBERS, extend, with_value
from tests.unit.exchanges.mexc.account import samples as mexc


class TestMexcAccountConformance(AccountConformance):
    adapter = ACCOUNT_ADAPTER
    products = mexc.PRODUCTS
    symbols = mexc.SYMBOLS
    listed = mexc.LISTED
    samples = mexc.SAMPLES
    openings = mexc.OPENINGS
    controls = mexc.CONTROLS
    refusals = mexc.REFUSALS
    endings = mexc.ENDINGS
    unknown_statuses = mexc.UNKNOWN_STATUSES
    refused = mexc.REFUSED
    clocks = mexc.CLOCKS

    @override
    def empty(self, call: Call) -> bytes:
        return mexc.empty(call)

    @override
    def endless(self, call: Call, seed: int) -> bytes:
        return mexc.endless(call, seed)

    @override
    def spoiled(self, sample: AccountSample, path: Path) -> Iterator[bytes]:
        if not sample.binary:
            yield from super().spoiled(sample, path)
            return
        for value in filter(None, NO_NUMBERS):  # empty: the venue does not tell
            yield with_value(sample.data, path, value)

    @override
    def with_number(self, sample: AccountSample, path: Path, number: str) -> bytes:
        if sample.binary:
            return with_value(sample.data, path, number)
        if sample.stream == mexc.FUTURES:  # whose numbers are bare
            return with_token(sample.data, path, number)
        return super().with_number(sample, path, number)

    @override
    def extended(self, sample: AccountSample) -> bytes:
        if not sample.binary:
            return super().extended(sample)
        wrapper = PushDataV3ApiWrapper.FromString(sample.data)
        extend(wrapper)
        return wrapper.SerializeToString()
