"""How frames that come by the thousand are read: sorted by how they begin, then all of one kind in one go.

Whoever reads frames one by one pays for each what can be had once for many: a call, the look-up of names, code that
another kind of frame has driven out of the processor's caches. So frames are sorted first: up to a mark they begin
alike where they are of one topic, which tells their :class:`Lane`. Lanes of one kind have a :class:`Pile` in common,
where their frames wait in order until there are enough. The messages of one routing key come of one pile, or of none.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

from msgspec import DecodeError

from shared.exchanges.output import Origin, Output

__all__ = [
    "AT_ONCE",
    "UNREADABLE",
    "Lane",
    "Pile",
    "Piled",
    "Put",
    "Read",
    "Routed",
    "Routes",
    "Waiting",
]

UNREADABLE: Final = (DecodeError, UnicodeDecodeError, RecursionError)
"""What decoders of JSON raise."""

StateT = TypeVar("StateT")

Read = Callable[[Origin, bytes, Output], None]
"""Reads the data of the frame in hand, whatever it is; raises as :meth:`shared.exchanges.base.Parser.data` does."""


Put = Callable[[tuple[Any, int, int, bytes]], bool | None]
"""Lays a frame (see :data:`Waiting`) on a pile, and gives nothing; True for one that is to be read at once.

Raises KeyError for one that is to be read when everything that waits was read.
"""


AT_ONCE: Final[Put] = bool
"""Keeps nothing: a frame is true."""


class Lane:
    """What takes frames that begin alike: ``put`` first, ``read`` where that does not keep them."""

    __slots__ = ("put", "read")

    def __init__(self, read: Read, put: Put = AT_ONCE) -> None:
        self.put = put
        self.read = read


class Piled(Lane, Generic[StateT]):
    """Frames that wait on a pile, with what it remembers of those before; ``read`` reads one that it does not take."""

    __slots__ = ("state",)

    def __init__(self, put: Put, state: StateT, read: Read) -> None:
        super().__init__(read, put)
        self.state = state


Waiting = tuple[Piled[StateT], int, int, bytes]
"""A frame on a pile: its lane, its number, when it was received (ns), its data."""


class Pile(ABC, Generic[StateT]):
    """Frames of one kind that wait to be read."""

    def __init__(self) -> None:
        self.frames: list[Waiting[StateT]] = []

    def lane(self, state: StateT, read: Read) -> Lane:
        """A lane that leads here."""
        return Piled(self.frames.append, state, read)

    @abstractmethod
    def take(self, origin: Origin, output: Output) -> int:
        """Read the frames in order as long as they are as they usually are, and give their number.

        The next one is left as it is, and so is what is remembered of it. Nothing is rejected, nothing raises.
        ``origin`` and ``output`` do not know the frame in hand: each has its messages begin with part 0.
        """

    def position(self, number: int) -> int:
        """Which of the frames has this number: how many were read, where it is the first that is not taken."""
        return [frame for _, frame, _, _ in self.frames].index(number)


class Routes(NamedTuple):
    """Frames that can be told by how they begin: by what comes before the first ``mark``, a single byte.

    What begins as a key of ``lanes`` may be given to that lane instead of :meth:`Parser.data`. The parser owns the
    dictionary and changes it as it learns, though not while it reads a pile. The key alone proves nothing: a frame cut
    short or made up may begin with it too.
    """

    lanes: dict[bytes, Lane]
    piles: tuple[Pile[Any], ...]
    mark: bytes


@runtime_checkable
class Routed(Protocol):
    """A parser that hot code may go around."""

    @property
    def routes(self) -> Routes:
        """The same for the life of the parser."""
        ...
