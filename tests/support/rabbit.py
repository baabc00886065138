"""RabbitMQ for tests: private nodes, and a virtual host of its own for every test."""

import os

from services.cli.local_rabbit import LocalRabbitError, RabbitNode, provide_server
from services.cli.rabbit_container import IMAGE
from tests.support.debian import install

__all__ = ["RabbitNode", "VirtualHosts", "ensure_server"]


def ensure_server() -> None:
    """Have what a node starts from: the image that is named, else the distribution's package, installed if need be."""
    try:
        provide_server()
    except LocalRabbitError:
        if os.environ.get(IMAGE):
            raise
        install("rabbitmq-server")


class VirtualHosts:
    """Empty virtual hosts of a node, made a batch at a time: ``rabbitmqctl`` is slow to start, not to work."""

    BATCH = 20
    CREATE = """
        lists:foreach(fun(V) -> rabbit_vhost:delete(V, <<"tests">>) end, [{used}]),
        lists:foreach(fun(V) ->
            rabbit_vhost:add(V, <<"tests">>),
            rabbit_auth_backend_internal:set_permissions(<<"guest">>, V, <<".*">>, <<".*">>, <<".*">>, <<"tests">>)
        end, [{fresh}]).
    """

    def __init__(self, node: RabbitNode) -> None:
        self.node = node
        self._made = 0
        self._fresh: list[str] = []
        self._used: list[str] = []

    def url(self) -> str:
        """AMQP URL of a virtual host that nobody has used."""
        if not self._fresh:
            self._refill()
        vhost = self._fresh.pop(0)
        self._used.append(vhost)
        return self.node.url_of(vhost)

    def _refill(self) -> None:
        fresh = [f"t{number}" for number in range(self._made, self._made + self.BATCH)]
        self.node.ctl("eval", self.CREATE.format(used=_binaries(self._used), fresh=_binaries(fresh)))
        self._made += self.BATCH
        self._fresh, self._used = fresh, []


def _binaries(names: list[str]) -> str:
    return ", ".join(f'<<"{name}">>' for name in names)
