"""The bus on RabbitMQ, while the broker is well."""

import pytest

from services.cli.connecting import rabbit
from shared.bus.rabbit import PublisherKind, RabbitBus
from shared.bus.rabbit.plain import PlainPublisher
from shared.bus.rabbit.publisher import LeanPublisher
from shared.settings import Settings
from shared.topology import QueueLimits
from tests.contract.bus_conformance import BusConformance, OpenBus

pytestmark = pytest.mark.integration


@pytest.fixture(params=["lean", "plain"])
def open_bus(rabbit_url: str, request: pytest.FixtureRequest) -> OpenBus:
    publisher: PublisherKind = request.param

    def make(limits: QueueLimits | None = None) -> RabbitBus:
        return RabbitBus(rabbit_url, "conformance", limits, prefetch=1000, publisher=publisher)

    return make


class TestRabbitBus(BusConformance):
    pass


@pytest.mark.parametrize(
    ("broker", "expected"),
    [({}, LeanPublisher), ({"publisher": "lean"}, LeanPublisher), ({"publisher": "plain"}, PlainPublisher)],
)
async def test_setting_chooses_the_publisher(broker: dict[str, str], expected: type) -> None:
    bus = rabbit(Settings.model_validate({"broker": broker}), "test")
    assert type(await bus.publisher()) is expected
