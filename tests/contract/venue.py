"""What a venue tells its conformance tests; ``conformance`` says how to fill it in."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import pytest

from shared.envelope import Frame
from shared.exchanges.base import Adapter, Feed
from shared.instruments import Instrument
from tests.contract.driving import Driver
from tests.contract.samples import AckSample, BookScript, Listing, Path, Sample, broken_tokens, with_extra, with_token

__all__ = ["Venue"]


class Venue:
    """Attributes to set, hooks to override, and the parametrization that they give."""

    adapter: ClassVar[Adapter]
    listed: ClassVar[Mapping[str, tuple[Instrument, ...]]]
    samples: ClassVar[tuple[Sample, ...]]
    scripts: ClassVar[tuple[BookScript, ...]]
    acks: ClassVar[tuple[AckSample, ...]]
    listings: ClassVar[tuple[Listing, ...]]
    unknown: ClassVar[tuple[tuple[str, Frame], ...]]
    heartbeats: ClassVar[tuple[tuple[str, bytes], ...]] = ()
    polled: ClassVar[Mapping[str, frozenset[Feed]]] = {}
    payload_bytes: ClassVar[Mapping[str, int]] = {}
    connection_characters: ClassVar[Mapping[str, int]] = {}

    def instrument(self, product: str, index: int) -> Instrument:
        """The ``index``-th made-up instrument of a product; indexes give different native symbols."""
        raise AssertionError(f"{type(self).__name__} must say how instruments of {product} look ({index})")

    def feeds_of(self, product: str, instrument: Instrument) -> frozenset[Feed]:
        """The feeds that an instrument has; override where some have fewer than their product."""
        assert instrument.product == product
        return self.adapter.feeds(product)

    def spoiled(self, sample: Sample, path: Path) -> Iterator[bytes]:
        """The sample with what is no number where a number sits. Override for frames that are no JSON."""
        for token in broken_tokens():
            yield with_token(sample.data, path, token)

    def with_number(self, sample: Sample, path: Path, number: str) -> bytes:
        """The sample with another number where one sits. Override for frames that are no JSON."""
        return with_token(sample.data, path, f'"{number}"')

    def extended(self, sample: Sample) -> bytes:
        """The sample with fields that no document mentions. Override for frames that are no JSON."""
        return with_extra(sample.data)

    def driver(self, product: str, first: int = 0) -> Driver:
        """A fresh stream that knows the listed instruments."""
        return Driver(self.adapter, product, self.listed[product], first)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test per sample, product, script, ack and listing."""
        cases: dict[str, tuple[list[object], list[str]]] = {
            "sample": ([*self.samples], [f"{sample.product}-{sample.name}" for sample in self.samples]),
            "product": ([*self.adapter.products], [*self.adapter.products]),
            "script": ([*self.scripts], [f"{script.product}-{script.native_symbol}" for script in self.scripts]),
            "ack": ([*self.acks], [f"{ack.product}-{index}" for index, ack in enumerate(self.acks)]),
            "listing": ([*self.listings], [f"{one.product}-{index}" for index, one in enumerate(self.listings)]),
        }
        for name, (values, ids) in cases.items():
            if name in metafunc.fixturenames:
                assert values, f"{type(self).__name__} has no {name} to test with"
                metafunc.parametrize(name, values, ids=ids)
