"""Private messages on their way to whoever logged in, and what faults do to them."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from services.simulator.accounts.account import Account
from services.simulator.connection import Connection
from services.simulator.faults import FaultBoard
from services.simulator.frames import frame
from services.simulator.strikes import struck
from services.simulator.venues.private import PrivateMessage, PrivateSession

__all__ = ["Delivery"]

NANOSECONDS = 1_000_000_000
MOST_HELD = 10_000

Sent = Callable[[Connection, str, int], None]
"""Told of every frame: whose, which feed, how many bytes."""


class _Place(NamedTuple):
    exchange: str
    product: str


class _Held(NamedTuple):
    due_ns: int
    account: Account
    connection: Connection
    name: str
    data: bytes


class Delivery:
    """Nothing is kept for those who are not there: what is said while nobody listens is gone, as with the venues."""

    def __init__(self, board: FaultBoard, clock: Callable[[], int], sent: Sent) -> None:
        self.connections: list[Connection] = []
        self._board = board
        self._clock = clock
        self._sent = sent
        self._held: list[_Held] = []

    def listeners(self, account: Account, wallet: str) -> list[Connection]:
        """Connections that are logged in to a wallet of an account."""
        return [
            one
            for one in self.connections
            if isinstance(one.session, PrivateSession)
            and one.session.account is account
            and one.session.wallet == wallet
            and not one.ended
        ]

    def send(self, account: Account, wallet: str, messages: Iterable[PrivateMessage]) -> None:
        """Say this, in order."""
        for message in messages:
            listening = [one for one in self.listeners(account, wallet) if _session(one).wants(message)]
            if not listening:
                continue
            where = _Place(account.exchange, message.product)
            if message.feed == "fill" and self._board.take("drop_socket", *where, message) is not None:
                for connection in self.listeners(account, wallet):
                    connection.flush()
                    connection.abort("drop_socket")
                return
            self._say(account, where, message, listening)
            if message.feed == "fill":
                self._release(lambda held: held.account is account)

    def tick(self, now_ns: int) -> None:
        """What was held back for too long leaves."""
        if self._held:
            self._release(lambda held: held.due_ns <= now_ns)

    def _say(self, account: Account, where: _Place, message: PrivateMessage, listening: list[Connection]) -> None:
        held = None
        if message.feed == "order" and len(self._held) < MOST_HELD:
            held = self._board.take("reorder", *where, message)
        now_ns = self._clock()
        for outgoing in struck(self._board, where, message, message.body):
            for connection in listening:
                payload = outgoing.payload
                if not outgoing.broken:
                    name = outgoing.name or message.name
                    payload = connection.session.wrap(f"{name}@{message.product}", payload)
                data = frame(payload, binary=outgoing.binary)
                if held is not None:
                    due_ns = now_ns + int(held.seconds * NANOSECONDS)
                    self._held.append(_Held(due_ns, account, connection, message.name, data))
                elif connection.data(message.name, data, now_ns):
                    self._sent(connection, message.feed, len(payload))

    def _release(self, chosen: Callable[[_Held], bool]) -> None:
        leaving = [one for one in self._held if chosen(one)]
        self._held = [one for one in self._held if one not in leaving]
        for one in leaving:
            if one.connection.data(one.name, one.data, self._clock()):
                self._sent(one.connection, "order", len(one.data))


def _session(connection: Connection) -> PrivateSession:
    session = connection.session
    if not isinstance(session, PrivateSession):
        raise TypeError("the connection is no private one")
    return session
