"""How a frame leaves when faults wait for it."""

from typing import NamedTuple, Protocol

from services.simulator.faults import Fault, FaultBoard, Subject
from services.simulator.mutations import change_first_number, extra_fields, unknown_event, unknown_symbol
from services.simulator.topics import Message

__all__ = ["Outgoing", "Place", "Sayable", "struck"]

MEBIBYTE = 1024 * 1024
GARBAGE = b"<html><head><title>502 Bad Gateway</title></head></html>"


class Outgoing(NamedTuple):
    """A payload on its way. ``broken`` ones are not wrapped; ``name`` is the topic name to wrap with, if another."""

    payload: bytes
    binary: bool
    broken: bool = False
    name: str = ""


class Place(Protocol):
    """One product of one exchange."""

    @property
    def exchange(self) -> str:
        """The exchange's name."""
        ...

    @property
    def product(self) -> str:
        """The product's name."""
        ...


class Sayable(Subject, Protocol):
    """A topic, or what else knows how its messages are encoded."""

    @property
    def binary(self) -> bool:
        """Whether they are protobuf."""
        ...

    def encode(self, message: Message) -> bytes:
        """The message's bytes."""
        ...


def struck(board: FaultBoard, venue: Place, topic: Sayable, message: Message) -> list[Outgoing]:
    """The frames that leave instead of this message, in order: none, one, or more."""
    copies, held, broken, renamed = 1, False, "", False
    for fault in board.strike(venue.exchange, venue.product, topic):
        match fault.kind:
            case "gap":
                copies = 0
            case "duplicate":
                copies *= 2
            case "out_of_order":
                held = True
            case "malformed":
                broken = fault.mode
            case "unknown_symbol":
                renamed = True
            case _:
                message = _changed(fault, message, topic)
    outgoing = [_encoded(topic, message, broken, renamed=renamed)] * copies
    key = (venue.exchange, venue.product, topic.name)
    if held:
        board.hold(key, outgoing)
        return []
    return [*outgoing, *board.release(key)]


def _changed(fault: Fault, message: Message, topic: Sayable) -> Message:
    match fault.kind:
        case "wrong_type":
            return change_first_number(message, None)
        case "nan":
            return change_first_number(message, fault.value)
        case "huge":
            return extra_fields(message, fault.size_mib * MEBIBYTE, protobuf=topic.binary)
        case "unknown_event":
            return unknown_event(message, protobuf=topic.binary)
        case _:
            return extra_fields(message, protobuf=topic.binary)


def _encoded(topic: Sayable, message: Message, broken: str, *, renamed: bool) -> Outgoing:
    payload = topic.encode(message)
    if renamed:
        name = unknown_symbol(topic.name.encode(), topic.symbol).decode()
        return Outgoing(unknown_symbol(payload, topic.symbol), topic.binary, name=name)
    if broken == "garbage":
        return Outgoing(GARBAGE, False, broken=True)
    if broken:
        return Outgoing(payload[: len(payload) // 2], topic.binary, broken=True)
    return Outgoing(payload, topic.binary)
