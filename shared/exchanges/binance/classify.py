"""What ingest must know of a frame: told by its first bytes, topics remembered."""

from functools import lru_cache
from typing import Final

from msgspec import DecodeError

from shared.exchanges.base import DATA, MOST_ROUTES, Ack, Feed, FrameClass, Overflow, Route
from shared.exchanges.binance.topics import (
    EVENT_HEAD,
    EVENTS,
    FEEDS,
    OVERFLOWS,
    SHUTDOWN,
    STREAM_HEAD,
    Kind,
    event_name,
    topic_name,
    topic_of,
)
from shared.exchanges.binance.wire import decode_control

__all__ = ["classify", "is_data"]

_CLOSING: Final = Route(FrameClass.CLOSING, detail="serverShutdown")
_ANSWER: Final = Route(FrameClass.HEARTBEAT, detail="answer")
_INLINE_BOOK: Final = Route(FrameClass.DATA, Feed.BOOK)
_CONTROL_HEADS: Final = (b'{"result":', b'{"id":', b'{"code":', b'{"error":', b'{"msg":')

_TOPIC_AT: Final = len(STREAM_HEAD)


def classify(data: bytes, routes: dict[bytes, Route]) -> Route:
    """The route of a frame; never raises. Both products' frames begin alike.

    ``routes`` remembers those of ``/stream`` sockets by the frame's bytes up to the quote behind the topic.
    """
    begin = data[: data.find(b'"', _TOPIC_AT) + 1]
    route = routes.get(begin)
    if route is None:
        if not data.startswith(STREAM_HEAD):
            return _of_event(data)
        route = _of_topic(topic_name(data))
        if route is not DATA and len(routes) < MOST_ROUTES:
            routes[begin] = route
    return route


def is_data(data: bytes) -> bool:
    """Whether a frame without the name of a topic is to be parsed: it is no answer to a request."""
    return not data.startswith(_CONTROL_HEADS) or _control(data) is DATA


def _of_event(data: bytes) -> Route:
    """What comes without the name of a topic: on a ``/ws`` socket everything, on another what is no event."""
    if data.startswith(EVENT_HEAD):
        name = event_name(data)
        if name == SHUTDOWN:
            return _CLOSING
        kind = EVENTS.get(name)
        return DATA if kind is None else _route(kind, _symbol(data))
    if data.startswith(b'{"u":'):
        return _route(Kind.BOOK_TICKER, _symbol(data))
    if data.startswith(b'{"lastUpdateId":'):
        return _INLINE_BOOK
    return _control(data) if data.startswith(_CONTROL_HEADS) else DATA


@lru_cache(maxsize=16_384)
def _of_topic(name: bytes) -> Route:
    if name == b"!" + SHUTDOWN:
        return _CLOSING
    topic = topic_of(name)
    return DATA if topic is None or topic.native_symbol is None else _route(topic.kind, topic.native_symbol)


def _route(kind: Kind, native_symbol: str | None) -> Route:
    if native_symbol is None:
        return DATA
    return Route(FrameClass.DATA, FEEDS[kind], native_symbol, OVERFLOWS.get(kind, Overflow.SHED))


def _symbol(data: bytes) -> str | None:
    """The first ``s`` of an event, wherever it stands; a liquidation has it in its order."""
    begin = data.find(b'"s":"') + 5
    end = data.find(b'"', begin)
    if begin < 5 or end < 0:
        return None
    try:
        return data[begin:end].decode()
    except UnicodeDecodeError:
        return None


def _control(data: bytes) -> Route:
    """Answers to SUBSCRIBE; other answers are no sign of life of a stream."""
    try:
        answer = decode_control(data)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return DATA
    if answer.status:  # the WS-API's, which no market stream speaks
        return DATA
    request_id = None if answer.id is None else str(answer.id)
    if answer.error is not None:
        return _refused(request_id, answer.error.code, answer.error.msg)
    if answer.code is not None:
        return _refused(request_id, answer.code, answer.msg)
    if request_id is None or not answer.result:
        return DATA
    return Route(FrameClass.ACK, ack=Ack(request_id)) if bytes(answer.result) == b"null" else _ANSWER


def _refused(request_id: str | None, code: int | None, text: str) -> Route:
    reason = f"{code} {text[:200]}"
    return Route(FrameClass.ACK, ack=Ack(request_id, refused=reason), detail=reason)
