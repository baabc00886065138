"""WebSocket frames as a server sends them (RFC 6455 section 5.2): built once, written to every subscriber."""

__all__ = ["frame", "ping", "pong", "unfinished"]

FINAL_TEXT = 0x81
FINAL_BINARY = 0x82
FINAL_PING = 0x89
FINAL_PONG = 0x8A


def _header(first: int, length: int) -> bytes:
    if length < 126:
        return bytes((first, length))
    if length < 65536:
        return bytes((first, 126)) + length.to_bytes(2, "big")
    return bytes((first, 127)) + length.to_bytes(8, "big")


def frame(payload: bytes, *, binary: bool = False) -> bytes:
    """A whole message in one frame."""
    return _header(FINAL_BINARY if binary else FINAL_TEXT, len(payload)) + payload


def ping(payload: bytes) -> bytes:
    """A protocol ping; the client answers with the same payload."""
    return _header(FINAL_PING, len(payload)) + payload


def pong(payload: bytes) -> bytes:
    """The answer to a client's ping, with its payload."""
    return _header(FINAL_PONG, len(payload)) + payload


def unfinished(payload: bytes, announced: int) -> bytes:
    """A text frame that announces more bytes than will ever come."""
    return _header(FINAL_TEXT, max(announced, len(payload) + 1)) + payload
