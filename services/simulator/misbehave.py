"""Faults that strike at once: on connections and on topics; the others wait on the board."""

import asyncio
from collections.abc import Iterator

from services.simulator.connection import Connection
from services.simulator.faults import Fault, FaultError
from services.simulator.frames import unfinished
from services.simulator.hub import Hub
from services.simulator.server import Server
from services.simulator.session import Action
from services.simulator.venues.bybit_topics import BookTopic
from services.simulator.venues.private import PrivateSession

__all__ = ["misbehave"]

NANOSECONDS = 1_000_000_000
ANNOUNCED_BYTES = 65_536
UNFINISHED_TEXT = b'{"unfinished":"'
ABNORMAL_CLOSURE = 1006
CLOSE_CODES = frozenset({1000, 1001, 1006, 1008, 1011, 1012, 1013})


def misbehave(hub: Hub, server: Server, fault: Fault) -> int:
    """Strike now or wait; how many connections or topics were struck now."""
    if fault.kind in ("disconnect", "accept_then_close") and fault.code not in CLOSE_CODES:
        raise FaultError(f"code must be one of {sorted(CLOSE_CODES)}; received {fault.code}")
    if fault.kind in ("rest_error", "refuse") and not 400 <= fault.status <= 599:
        raise FaultError(f"status must be from 400 to 599; received {fault.status}")
    if fault.kind == "clock_offset":
        hub.board.counted(fault.kind)
        return hub.desk.set_clock(fault)
    if fault.kind == "expire_key":
        return _expire(hub, fault)
    if fault.scope == "connection":
        return _on_connections(hub, fault)
    if fault.scope == "topic":
        return _restart_books(hub, fault)
    if fault.kind == "stale_snapshot":
        _keep_snapshots(hub, server, fault)
    hub.board.add(fault)
    return 0


def _matching(hub: Hub, fault: Fault) -> Iterator[Connection]:
    for connection in [*hub.connections.values()]:
        venue = connection.venue
        session = connection.session
        account = session.account if isinstance(session, PrivateSession) else None
        if not fault.concerns(account.name if account is not None else ""):
            continue
        if not fault.at(venue.exchange, venue.product) or connection.ended:
            continue
        topics = [venue.find(name) for name in connection.topics]
        narrow = fault.symbol or fault.feed or fault.topic
        named = account is not None and fault.topic in connection.topics
        if not narrow or named or any(topic is not None and fault.on(topic) for topic in topics):
            yield connection


def _on_connections(hub: Hub, fault: Fault) -> int:
    struck = 0
    for connection in _matching(hub, fault):
        hub.board.counted(fault.kind)
        struck += 1
        match fault.kind:
            case "disconnect" if fault.code == ABNORMAL_CLOSURE:
                connection.flush()
                connection.abort("disconnect")
            case "disconnect":
                hub.spawn(connection.close(fault.code, "", "disconnect"))
            case "half_close":
                connection.die()
            case "silence":
                connection.silent_until_ns = hub.clock() + int(fault.seconds * NANOSECONDS)
            case "unfinished_frame":
                connection.raw(unfinished(UNFINISHED_TEXT, ANNOUNCED_BYTES))
                connection.die()
            case _:
                hub.spawn(_shut_down(hub, connection, fault.seconds))
    return struck


def _expire(hub: Hub, fault: Fault) -> int:
    def perform(connection: Connection, actions: list[Action]) -> None:
        hub.perform(connection, actions, hub.clock())

    struck = hub.desk.expire(fault, perform)
    for _ in range(struck):
        hub.board.counted(fault.kind)
    return struck


async def _shut_down(hub: Hub, connection: Connection, seconds: float) -> None:
    hub.perform(connection, connection.session.shutdown_notice(hub.clock()), hub.clock())
    connection.flush()
    await asyncio.sleep(seconds)
    await connection.close(1001, "", "server_shutdown")


def _restart_books(hub: Hub, fault: Fault) -> int:
    struck = 0
    for venue, topic, _ in hub.channels():
        if isinstance(topic, BookTopic) and fault.at(venue.exchange, venue.product) and fault.on(topic):
            hub.board.counted(fault.kind)
            struck += 1
            hub.publish(venue, topic, [topic.restart(hub.clock())], hub.clock())
    return struck


def _keep_snapshots(hub: Hub, server: Server, fault: Fault) -> None:
    for venue in hub.venues.values():
        if fault.at(venue.exchange, venue.product):
            for symbol in venue.markets:
                if fault.symbol in ("", symbol):
                    server.stale[venue.exchange, venue.product, symbol] = venue.snapshot(symbol, hub.clock())
