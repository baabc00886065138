"""Why nothing comes from an exchange: which host could not be reached, in the words of ingest's own events."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from shared.settings import Target

__all__ = ["Failures"]

EVENTS: Final = "tidegate.events"
AGAIN: Final = "; again in "


class Failures(logging.Handler):
    """Keeps what ingest told last of each host and stream that it could not reach, or not keep."""

    def __init__(self, targets: Sequence[Target]) -> None:
        super().__init__(logging.WARNING)
        self._hosts = {f"{one.exchange}.{one.product}": urlsplit(one.endpoints.websocket).netloc for one in targets}
        self._last: dict[str, dict[str, str]] = {}
        """By exchange, then by what it is about."""

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Within the block."""
        logger = logging.getLogger(EVENTS)
        logger.addHandler(self)
        try:
            yield
        finally:
            logger.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Called by logging."""
        event, fields = getattr(record, "event", None), getattr(record, "fields", {})
        if event == "rest_failed":
            host = urlsplit(str(fields["url"])).netloc
            self._keep(fields["exchange"], host, str(fields["detail"]).partition(AGAIN)[0])
        elif event in {"connect_failed", "stream_disconnected"}:
            stream, words = fields["stream"], [fields["reason"], fields.get("detail")]
            host = self._hosts.get(stream.rpartition(".")[0], "its host")
            self._keep(fields["exchange"], stream, f"{host}: {stream} {' '.join(word for word in words if word)}")

    def told(self, exchanges: Iterable[str]) -> list[str]:
        """Lines about exchanges that nothing came from."""
        return [
            f"nothing was received from {exchange}; {text}"
            for exchange in exchanges
            for text in self._last.get(exchange, {"": "no failure was seen"}).values()
        ]

    def _keep(self, exchange: str, subject: str, text: str) -> None:
        self._last.setdefault(exchange, {})[subject] = text
