from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest
from google.protobuf.message import Message

from shared.exchanges.mexc import ADAPTER
from shared.exchanges.mexc.limits import REQUEST_BYTES
from shared.exchanges.mexc.push_pb2 import PushDataV3ApiWrapper
from shared.instruments import Instrument
from tests.contract.conformance import AdapterConformance
from tests.contract.samples import Path, Sample, with_token
from tests.unit.exchanges.mexc import answers
from tests.unit.exchanges.mexc import samples as mexc
from tests.unit.exchanges.mexc.frames import contract, spot

UNKNOWN_FIELD = b"\xba\x3e\x02hi"
"""Field 999, two bytes."""

NO_NUMBERS = ("", "NaN", "Infinity", "-Infinity", "1,5", "0x10", "1e999999", " 1", "-1", "\uff11", "true")


def with_value(data: bytes, path: Path, value: str) -> bytes:
    """The frame with another text at ``path``."""
    wrapper = PushDataV3ApiWrapper.FromString(data)
    holder: Any = wrapper
    for key in path[:-1]:
        holder = holder[key] if isinstance(key, int) else getattr(holder, key)
    setattr(holder, str(path[-1]), value)
    return wrapper.SerializeToString()


def extend(message: Message) -> None:
    """Put an unknown field into a message and all that it holds."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for item in value if field.is_repeated else [value]:
                extend(item)
    message.MergeFromString(UNKNOWN_FIELD)


class TestMexcConformance(AdapterConformance):
    adapter = ADAPTER
    listed = mexc.LISTED
    samples = mexc.SAMPLES
    scripts = mexc.SCRIPTS
    acks = answers.ACKS
    listings = answers.LISTINGS
    unknown = mexc.UNKNOWN
    heartbeats = answers.HEARTBEATS
    payload_bytes = MappingProxyType({"spot": REQUEST_BYTES})

    def instrument(self, product: str, index: int) -> Instrument:
        return spot(f"COIN{index}USDT") if product == "spot" else contract(f"COIN{index}_USDT", "0.01")

    def spoiled(self, sample: Sample, path: Path) -> Iterator[bytes]:
        if not sample.binary:
            yield from super().spoiled(sample, path)
            return
        for value in NO_NUMBERS:
            yield with_value(sample.data, path, value)

    def with_number(self, sample: Sample, path: Path, number: str) -> bytes:
        if sample.binary:
            return with_value(sample.data, path, number)
        if sample.product == "futures":  # whose numbers are none in quotes
            return with_token(sample.data, path, number)
        return super().with_number(sample, path, number)

    def extended(self, sample: Sample) -> bytes:
        if not sample.binary:
            return super().extended(sample)
        wrapper = PushDataV3ApiWrapper.FromString(sample.data)
        extend(wrapper)
        return wrapper.SerializeToString()


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_is_no_number_is_seen_in_protobuf(value: str) -> None:
    sample = mexc.SAMPLES[0]
    assert sample.name == "trades"
    spoiled = with_value(sample.data, sample.numbers[0], value)
    output = TestMexcConformance().driver("spot").send(sample.frame(spoiled))
    assert [rejection.code for rejection in output.rejections] == ["bad_number"]
    assert [message.feed for message in output.messages] == ["trade"]
