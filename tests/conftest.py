"""Fixtures that every kind of test may ask for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.prometheus import ensure_prometheus
from tests.support.rabbit import RabbitNode, VirtualHosts, ensure_server

NEEDS_RABBIT = {"rabbit_node", "own_rabbit_node"}
NEEDS_PROMETHEUS = {"promtool", "prometheus"}


def pytest_collection_finish(session: pytest.Session) -> None:
    """Install what the chosen tests need before the first of them starts: a test's timeout is not for apt-get."""
    if session.config.option.collectonly:
        return
    wanted = {name for item in session.items if isinstance(item, pytest.Function) for name in item.fixturenames}
    if wanted & NEEDS_RABBIT:
        ensure_server()
    if wanted & NEEDS_PROMETHEUS:
        ensure_prometheus()


@pytest.fixture(scope="session")
def rabbit_node() -> Iterator[RabbitNode]:
    """The node that tests share; don't stop, pause or alarm it."""
    with RabbitNode(prometheus=True) as node:
        yield node


@pytest.fixture(scope="session")
def virtual_hosts(rabbit_node: RabbitNode) -> VirtualHosts:
    return VirtualHosts(rabbit_node)


@pytest.fixture
def rabbit_url(virtual_hosts: VirtualHosts) -> str:
    """AMQP URL of an empty virtual host on the shared node."""
    return virtual_hosts.url()


@pytest.fixture
def own_rabbit_node() -> Iterator[RabbitNode]:
    """A running node for one test to kill, pause and restart."""
    with RabbitNode() as node:
        yield node


@pytest.fixture(scope="session")
def prometheus() -> Path:
    return ensure_prometheus()[0]


@pytest.fixture(scope="session")
def promtool() -> Path:
    return ensure_prometheus()[1]
