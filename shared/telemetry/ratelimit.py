"""How often the same thing may be said."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

__all__ = ["RateLimiter"]

KEY_LIMIT: Final = 4_096


class RateLimiter:
    """One pass per key and interval (monotonic ns). A bounded number of keys is remembered, the oldest forgotten."""

    __slots__ = ("_interval", "_key_limit", "_passed")

    def __init__(self, interval: int = 10_000_000_000, key_limit: int = KEY_LIMIT) -> None:
        self._interval: Final = interval
        self._key_limit: Final = key_limit
        self._passed: OrderedDict[Hashable, list[int]] = OrderedDict()

    def allow(self, key: Hashable, now: int) -> int | None:
        """None: not now, and counted. A number: go on; so many were held back since the last pass of this key."""
        entry = self._passed.get(key)
        if entry is not None and now - entry[0] < self._interval:
            entry[1] += 1
            return None
        self._passed[key] = [now, 0]
        self._passed.move_to_end(key)
        if len(self._passed) > self._key_limit:
            self._passed.popitem(last=False)
        return 0 if entry is None else entry[1]
