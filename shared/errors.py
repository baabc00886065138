"""Everything that Tidegate raises.

TidegateError
├─ SettingsError                 a setting is wrong; lists every mistake with its path
├─ ParseError                    a frame (or one element of it) cannot be normalized; ``code`` is a bounded label
├─ ExchangeError                 a venue did something that ends a connection or a request
│  ├─ StreamClosed               the socket ended (whoever ended it)
│  ├─ StreamStale                nothing but heartbeats for too long
│  ├─ RequestFailed              a REST request got no usable reply
│  └─ AccountRefused             the venue refuses an account's key, signature or time
├─ BrokerError                   the bus
│  ├─ BrokerUnavailable          no connection, or lost while waiting
│  ├─ PublishFailed              nacked, returned, refused, or no confirm within the deadline: in doubt
│  ├─ StreamBusy                 a raw queue has another consumer (shared.bus.base)
│  └─ TopologyMismatch           a queue or AMQP exchange exists with other arguments
├─ JournalError                  an account's journal cannot be used
├─ StateError                    what is remembered of an account cannot be used
└─ CaptureError                  a capture file is not what it should be
"""

import os
from typing import Final

__all__ = [
    "PARSE_CODES",
    "AccountRefused",
    "BrokerError",
    "BrokerUnavailable",
    "CaptureError",
    "ExchangeError",
    "JournalError",
    "ParseError",
    "PublishFailed",
    "RequestFailed",
    "SettingsError",
    "StateError",
    "StreamClosed",
    "StreamStale",
    "TidegateError",
    "TopologyMismatch",
    "about",
]

PARSE_CODES: Final = frozenset(
    {
        "invalid_json",  # not JSON, truncated, or bytes that are no UTF-8
        "invalid_protobuf",  # bytes that the venue's protobuf definition does not explain
        "wrong_type",  # a field of another type than documented
        "missing_field",
        "bad_number",  # NaN, Infinity, empty or non-numeric where a number must be
        "bad_time",
        "unknown_event",  # a frame of a kind that this version does not know
        "unknown_instrument",
        "invalid_envelope",  # the AMQP body is no envelope of a known schema version
        "too_large",
        "internal",  # a defect in an adapter, caught so that the stream goes on
    }
)


class TidegateError(Exception):
    """Root of the tree."""


class SettingsError(TidegateError):
    """Settings that cannot be used; ``mistakes`` holds ``(path, problem)`` pairs."""

    def __init__(self, mistakes: list[tuple[str, str]]) -> None:
        self.mistakes = mistakes
        super().__init__("; ".join(f"{path}: {problem}" for path, problem in mistakes))


class ParseError(TidegateError):
    """A frame that cannot become messages. ``code`` is one of :data:`PARSE_CODES`, ``detail`` says what and where."""

    def __init__(self, code: str, detail: str) -> None:
        self.code = code
        self.detail = detail
        super().__init__(f"{code}: {detail}")


class ExchangeError(TidegateError):
    """A venue's connection or request failed."""


class StreamClosed(ExchangeError):
    """The WebSocket ended. ``code`` is the close code of RFC 6455 section 7.4 (1006 where there was none)."""

    def __init__(self, code: int, reason: str) -> None:
        self.code = code
        self.reason = reason
        super().__init__(f"the stream was closed with {code} {reason}".rstrip())


class StreamStale(ExchangeError):
    """No data for longer than the stream's deadline."""


class RequestFailed(ExchangeError):
    """A REST request was not answered with a usable reply; ``status`` is None where there was no answer at all."""

    def __init__(self, url: str, problem: str, status: int | None = None, method: str = "GET") -> None:
        self.url = url
        self.problem = problem
        self.status = status
        super().__init__(f"{method} {url} {problem}")


class AccountRefused(ExchangeError):
    """The venue refuses an account's key, signature or time; the text holds no secret."""


class BrokerError(TidegateError):
    """The bus could not do what it was asked."""


class BrokerUnavailable(BrokerError):
    """There is no connection to the broker, or it was lost before an answer came."""


class PublishFailed(BrokerError):
    """A publish was refused, returned or not confirmed in time. ``reason``: nacked, returned, refused, timeout."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        super().__init__(f"publish {reason}: {detail}")


class TopologyMismatch(BrokerError):
    """A queue or AMQP exchange exists already with other arguments than ours."""


class JournalError(TidegateError):
    """A journal cannot be opened, read or written.

    ``reason``: ``full``, ``corrupt``, ``foreign`` (no journal of this stream and version), ``locked``, ``unwritable``.
    """

    def __init__(self, reason: str, path: str, detail: str) -> None:
        self.reason = reason
        self.path = path
        super().__init__(f"journal {path} {reason}: {detail}")


class StateError(TidegateError):
    """What a normalizer remembers of an account stream cannot be opened, read or written; ``reason`` as above."""

    def __init__(self, reason: str, path: str, detail: str) -> None:
        self.reason = reason
        self.path = path
        super().__init__(f"account state {path} {reason}: {detail}")


class CaptureError(TidegateError):
    """A capture file that cannot be read; says at which offset."""


def about(error: OSError, what: str) -> OSError:
    """The error with what it is about as its ``filename``: a full disk or a taken port does not tell by itself."""
    number = error.errno or 0
    return OSError(number, os.strerror(number) if number > 0 else error.strerror or str(error), what)
