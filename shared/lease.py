"""How long an owner may act on what it last heard from its lock manager: a decision, not a timer."""

__all__ = ["Lease"]


class Lease:
    """Holds for ``length_ns`` from when the last request was sent that was answered; for ever where that is 0.

    From when it was *sent*: the answer may have lain in a buffer while this process, or its machine, stood still.
    Times are of one clock that also goes on while the machine is suspended (:func:`shared.clock.boot_ns`).
    """

    __slots__ = ("_answered", "_length_ns")

    def __init__(self, length_ns: int) -> None:
        self._length_ns = length_ns
        self._answered: int | None = None

    def renew(self, sent: int) -> None:
        """A request that was sent then has been answered."""
        if self._answered is None or sent > self._answered:
            self._answered = sent

    def holds(self, now: int) -> bool:
        """Whether what was locked is still locked for sure; never before the first answer."""
        return self._answered is not None and (not self._length_ns or now - self._answered < self._length_ns)
