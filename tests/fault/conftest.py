"""One node per module for the bus's fault tests, and an empty virtual host on it for every test."""

from collections.abc import Iterator

import pytest

from shared.bus.rabbit import PublisherKind
from tests.fault.broker import Broker
from tests.support.rabbit import RabbitNode, VirtualHosts


@pytest.fixture(params=["lean", "plain"])
def publishing(request: pytest.FixtureRequest) -> PublisherKind:
    """Each of the two publishers."""
    kind: PublisherKind = request.param
    return kind


@pytest.fixture(scope="module")
def broker_hosts() -> Iterator[VirtualHosts]:
    with RabbitNode() as node:
        yield VirtualHosts(node)


@pytest.fixture
def broker(broker_hosts: VirtualHosts) -> Iterator[Broker]:
    """A node that runs, to kill, pause and alarm."""
    node = broker_hosts.node
    node.start()
    yield Broker(node, broker_hosts.url())
    if node.running:
        node.resume()
