"""What a system may run out of."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["room_for"]


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """A disk on which no file gets longer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
