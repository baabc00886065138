"""Talking to a session without a socket."""

import json
from typing import Any

from services.simulator import SimulatorSettings
from services.simulator.session import Action, Reply, Session
from services.simulator.venues.base import Venue
from services.simulator.venues.registry import make_venue
from tests.unit.simulator.client import SECOND_NS, START_NS, market


def venue(exchange: str, product: str, *symbols: str) -> Venue:
    markets = {symbol: market(exchange, product, symbol) for symbol in symbols}
    return make_venue(exchange, product, markets, SimulatorSettings())


def opened(one: Venue, path: str, query: dict[str, str] | None = None) -> Session:
    session = one.session(path, query or {}, lambda name: one.find(name) is not None, START_NS)
    assert session is not None
    return session


def ask(session: Session, request: object, at: float = 1.0) -> list[Action]:
    text = request if isinstance(request, str) else json.dumps(request)
    return session.receive(text, START_NS + int(at * SECOND_NS))


def replies(actions: list[Action]) -> list[Any]:
    return [json.loads(action.data) for action in actions if isinstance(action, Reply)]
