"""Fixtures that every kind of test may ask for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.prometheus import ensure_prometheus
from tests.support.rabbit import RabbitNode, VirtualHosts, ensure_server
from tests.support.spreading import spread

NEEDS_RABBIT = {"rabbit_node", "own_rabbit_node"}
NEEDS_PROMETHEUS = {"promtool", "prometheus"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items[:] = spread(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Install what the chosen tests need before the first of them starts: a test's timeout is not for apt-get."""
    if session.config.option.collectonly:
        return
    wanted = {name for item in session.items if isinstance(item, pytest.Function) for name in item.fixturenames}
    if wanted & NEEDS_RABBIT:
        ensure_server()
    if wanted & NEEDS_PROMETHEUS:
        ensure_prometheus()


@pytest.fixture(scope="session", autouse=True)
def runtime_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where commands leave notes for each other: what the user of this machine runs meanwhile is none of ours."""
    directory = tmp_path_factory.mktemp("runtime")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(directory))
        yield directory


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
