"""The bus on RabbitMQ, while the broker is well."""

import pytest

from shared.bus.rabbit import RabbitBus
from shared.topology import QueueLimits
from tests.contract.bus_conformance import BusConformance, OpenBus

pytestmark = pytest.mark.integration


@pytest.fixture
def open_bus(rabbit_url: str) -> OpenBus:
    def make(limits: QueueLimits | None = None) -> RabbitBus:
        return RabbitBus(rabbit_url, "conformance", limits, prefetch=1000)

    return make


class TestRabbitBus(BusConformance):
    pass
