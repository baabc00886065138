"""What is told of the connections to the broker, by looking at them now and then."""

from collections.abc import Mapping
from typing import Protocol

from shared.telemetry.events import Events

__all__ = ["BrokerWatch", "State"]


class State(Protocol):
    """How a connection stands."""

    @property
    def connected(self) -> bool:
        """Whether it is up."""
        ...

    @property
    def blocked(self) -> str | None:
        """Why the broker accepts nothing from it at the moment, if it does not."""
        ...

    @property
    def losses(self) -> int:
        """How often it was lost so far."""
        ...


class BrokerWatch:
    """Tells each change once; of a connection that is back already also that it was lost."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._losses: dict[str, int] = {}
        self._connected: set[str] = set()
        self._blocked: set[str] = set()

    def see(self, connections: Mapping[str, State]) -> None:
        """How they stand, by purpose."""
        for connection, state in connections.items():
            self._come_and_go(connection, state)
            self._block(connection, state.blocked)

    def _come_and_go(self, connection: str, state: State) -> None:
        losses = state.losses - self._losses.get(connection, 0)
        self._losses[connection] = state.losses
        for _ in range(losses):
            self._connected.discard(connection)
            self._blocked.discard(connection)
            self._events.broker_lost(connection, "the connection is gone")
        if state.connected and connection not in self._connected:
            self._connected.add(connection)
            self._events.broker_connected(connection)

    def _block(self, connection: str, reason: str | None) -> None:
        if reason is not None and connection not in self._blocked:
            self._blocked.add(connection)
            self._events.broker_blocked(connection, reason)
        elif reason is None and connection in self._blocked:
            self._blocked.discard(connection)
            self._events.broker_unblocked(connection)
