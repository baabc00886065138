"""How often something may be asked."""

__all__ = ["Budget"]

MOST_KEYS = 10_000


class Budget:
    """``limit`` units for every key in each window of time, which begins with the first request in it."""

    def __init__(self, limit: float, window_ns: int) -> None:
        self.limit = max(1, int(limit))
        self.window_ns = window_ns
        self._used: dict[object, tuple[int, int]] = {}

    def take(self, key: object, units: int, now_ns: int) -> int:
        """Use some of it; what is left, below 0 where it was too much (and is counted all the same)."""
        began_ns, used = self._used.get(key, (now_ns, 0))
        if not 0 <= now_ns - began_ns < self.window_ns:
            began_ns, used = now_ns, 0
        if len(self._used) >= MOST_KEYS:
            self._used.clear()
        self._used[key] = (began_ns, used + units)
        return self.limit - used - units

    def used(self, key: object) -> int:
        """What was used in the running window."""
        return self._used.get(key, (0, 0))[1]

    def ends_ns(self, key: object) -> int:
        """When the running window ends."""
        return self._used.get(key, (0, 0))[0] + self.window_ns
