"""What is in the journal and not yet published: the oldest of it in memory, the rest to be read from disk."""

from collections import deque
from collections.abc import Sequence
from typing import Final

from services.ingest.account.numbering import Row

__all__ = ["Tail"]

MAX_ROWS: Final = 1_000
MAX_BYTES: Final = 8 * 1024 * 1024


class Tail:
    """Rows in their order, each once. What is committed while there is room is not read from disk again."""

    def __init__(self, max_rows: int = MAX_ROWS, max_bytes: int = MAX_BYTES) -> None:
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        self._rows: deque[Row] = deque()
        self._bytes = 0
        self.end = -1
        """Position of the newest row that was taken in here."""
        self.newest = -1
        """Position of the newest row that is known to be in the journal."""

    @property
    def behind(self) -> bool:
        """Whether there are rows that have to be read from disk, from the one after ``end`` on."""
        return not self._rows and self.end < self.newest

    @property
    def oldest(self) -> Row | None:
        """The row that is to be taken next, where it is in memory."""
        return self._rows[0] if self._rows else None

    def found(self, first: int, newest: int) -> None:
        """The journal was opened and holds these positions (``newest`` below ``first``: none)."""
        self.newest = max(self.newest, newest)
        if not self._rows:
            self.end = max(self.end, first - 1)

    def committed(self, rows: Sequence[Row]) -> None:
        """These rows are on disk now; what does not fit, or does not follow what is here, is read later."""
        for row in rows:
            self.newest = row.position
            if row.position == self.end + 1 and self._has_room(row):
                self._add(row)

    def loaded(self, rows: Sequence[Row], newest: int) -> None:
        """Read from disk, after ``end``; ``newest`` as it was before. Nothing read means that nothing is there."""
        for row in rows:
            if row.position > self.end:
                self._add(row)
        if not rows:
            self.end = max(self.end, newest)
        self.newest = max(self.newest, self.end)

    def take(self) -> Row | None:
        """The oldest row; None where none is in memory."""
        if not self._rows:
            return None
        row = self._rows.popleft()
        self._bytes -= len(row.frame.data)
        return row

    def _has_room(self, row: Row) -> bool:
        if not self._rows:
            return True
        return len(self._rows) < self._max_rows and self._bytes + len(row.frame.data) <= self._max_bytes

    def _add(self, row: Row) -> None:
        self._rows.append(row)
        self._bytes += len(row.frame.data)
        self.end = row.position
