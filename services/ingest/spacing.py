"""How often the same thing may be done: a decision, not a timer. Times are monotonic nanoseconds."""

__all__ = ["Spacing"]


class Spacing:
    """Per key: at once, then not again for ``spacing_ns``. What is asked meanwhile is done once, when that is over."""

    def __init__(self, spacing_ns: int) -> None:
        self._spacing_ns = spacing_ns
        self._done: dict[str, int] = {}
        self._deferred: dict[str, None] = {}

    def ask(self, key: str, now: int) -> bool:
        """Whether to do it now; otherwise :meth:`due` will name it."""
        if key in self._deferred:
            return False
        if key in self._done and now - self._done[key] < self._spacing_ns:
            self._deferred[key] = None
            return False
        self._done[key] = now
        return True

    def due(self, now: int) -> list[str]:
        """What was deferred and is to be done now."""
        if not self._deferred:
            return []
        ready = [key for key in self._deferred if now - self._done[key] >= self._spacing_ns]
        for key in ready:
            del self._deferred[key]
            self._done[key] = now
        return ready
