"""Why a connection is blocked. aiormq knows (``connection.blocked`` of RabbitMQ) but only says so in its log."""

import logging

__all__ = ["BlockedReasons"]

_LOGGER = logging.getLogger("aiormq.connection")
_MESSAGE = "Connection %r was blocked by: %r"


class BlockedReasons(logging.Handler):
    """Keeps the last reason per connection of whoever ``attach``ed it, for as long as it is attached."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._reasons: dict[int, str] = {}

    def attach(self) -> None:
        """Begin to listen."""
        _LOGGER.addHandler(self)

    def detach(self) -> None:
        """Stop and forget."""
        _LOGGER.removeHandler(self)
        self._reasons.clear()

    def emit(self, record: logging.LogRecord) -> None:
        """Take the reason from aiormq's record."""
        if record.msg == _MESSAGE and isinstance(record.args, tuple):
            connection, reason = record.args
            self._reasons = {id(connection): str(reason)}

    def of(self, connection: object) -> str:
        """The reason of a connection that is known to be blocked."""
        return self._reasons.get(id(connection), "blocked by the broker")
