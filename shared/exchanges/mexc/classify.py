"""What a frame is, told from its beginning: data of which feed and instrument, an answer, a heartbeat, a farewell."""

from functools import lru_cache
from typing import Final

from msgspec import DecodeError

from shared.exchanges.base import DATA, Ack, FrameClass, Route
from shared.exchanges.mexc import futures_wire, spot_wire
from shared.exchanges.mexc.topics import FUTURES_CHANNELS, spot_channel

__all__ = ["classify_futures", "classify_spot"]

_HEARTBEAT: Final = Route(FrameClass.HEARTBEAT)
_ROUTES: Final = 8_192
"""Channels remembered, more than a process has topics."""

_CHANNEL_AT: Final = 2
"""Behind the field's tag and its length, one byte each."""

_TOPIC: Final = "spot@"
_ACCEPTED: Final = "Subscribed successful! ["
_REJECTED: Final = "Not Subscribed successfully! ["

_FULL_WIDTH_COLON: Final = "\uff1a"

_CHANNEL_KEY: Final = b'"channel":"'
_SYMBOL_KEY: Final = b'"symbol":"'
_LONGEST: Final = 64
"""Bytes of a channel or symbol that are worth remembering."""


def classify_spot(data: bytes, routes: dict[bytes, Route], *, binary: bool) -> Route:
    """Text is an answer; a binary frame names its channel in field 1, mostly the first.

    ``routes`` remembers those by the frame's bytes up to the end of a leading channel.
    """
    begin = data[: _CHANNEL_AT + data[1]] if binary and len(data) > _CHANNEL_AT else b""
    known = routes.get(begin)
    if known is not None:
        return known
    if data[:1] == b"{":
        return _spot_answer(data)
    if not binary:
        return DATA
    at = data.find(b"spot@")
    while at >= _CHANNEL_AT:
        if data[at - 2] == 0x0A and data[at - 1] < 0x80:
            route = _spot_route(data[at : at + data[at - 1]])
            if at == _CHANNEL_AT and route is not DATA and len(routes) < _ROUTES:
                routes[begin] = route
            return route
        at = data.find(b"spot@", at + 1)  # an event type, not the channel
    return DATA


@lru_cache(_ROUTES)
def _spot_route(channel: bytes) -> Route:
    known, symbol = spot_channel(channel.decode(errors="replace"))
    return DATA if known is None else Route(FrameClass.DATA, known.feed, symbol, known.overflow)


def _spot_answer(data: bytes) -> Route:
    try:
        answer = spot_wire.answer(data)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return DATA
    if answer.msg == "PONG":
        return _HEARTBEAT
    return Route(FrameClass.ACK, ack=_spot_ack(answer), detail=answer.msg)


def _spot_ack(answer: spot_wire.Answer) -> Ack:
    """The venue answers code 0 to rejections too; ``msg`` tells.

    It is the accepted topics, comma-joined, or ``Not Subscribed successfully! [topics].  Reason: Blocked! ``
    (the colon is full-width), with ``Subscribed successful! [topics]. `` before it where some were accepted.
    """
    request = str(answer.id) if answer.id else None
    message = answer.msg
    if answer.code:
        return Ack(request, refused=f"{answer.code} {message}")
    rejected = tuple(
        (topic, _reason(rest))
        for part in message.split(_REJECTED)[1:]
        for names, _, rest in [part.partition("]")]
        for topic in _topics(names)
    )
    if rejected or _ACCEPTED in message:
        accepted = message.partition(_ACCEPTED)[2].partition("]")[0]
        return Ack(request, tuple(_topics(accepted)), rejected)
    topics = _topics(message)
    if topics and all(topic.startswith(_TOPIC) for topic in topics):
        return Ack(request, tuple(topics))
    return Ack(request, refused=message or "an empty answer")


def _topics(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def _reason(rest: str) -> str:
    return rest.partition("Reason")[2].strip(f" :.{_FULL_WIDTH_COLON}") or "no reason given"


def classify_futures(data: bytes) -> Route:
    """``channel`` says what it is, ``symbol`` (of the frame or of its data, the same) whose; keys come in any order."""
    channel = _value(data, _CHANNEL_KEY)
    if channel.startswith(b"push."):
        return _futures_route(channel, b"" if channel == b"push.tickers" else _value(data, _SYMBOL_KEY))
    return _futures_answer(data) if channel else DATA


def _value(data: bytes, key: bytes) -> bytes:
    """The text after the first ``key``; empty where there is none, or one that no venue would send."""
    start = data.find(key)
    if start < 0:
        return b""
    start += len(key)
    end = data.find(b'"', start, start + _LONGEST)
    return data[start:end] if end > 0 else b""


@lru_cache(_ROUTES)
def _futures_route(channel: bytes, symbol: bytes) -> Route:
    known = FUTURES_CHANNELS.get(channel)
    if known is None:
        return DATA
    return Route(FrameClass.DATA, known.feed, symbol.decode(errors="replace") or None, known.overflow)


def _futures_answer(data: bytes) -> Route:
    try:
        answer = futures_wire.push(data)
        said = futures_wire.anything(answer.data)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return DATA
    if answer.channel.startswith("rs.sub."):
        return Route(FrameClass.ACK, ack=Ack(None, refused=None if said == "success" else str(said)))
    if answer.channel != "rs.error":
        # A pong, or the answer to something that was never asked on this plane.
        return _HEARTBEAT if answer.channel == "pong" or answer.channel.startswith("rs.") else DATA
    if "close the channel" in str(said):
        return Route(FrameClass.CLOSING, detail=str(said))
    # Only subscriptions are asked for here, so an error answers the oldest that is open.
    return Route(FrameClass.ACK, ack=Ack(None, refused=str(said)), detail=str(said))
