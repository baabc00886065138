"""What there is of a command under test and of everything that it started, told by a mark in the environment."""

import uuid
from pathlib import Path
from typing import Final

__all__ = ["Mark"]

NAME: Final = "UNDER_TEST"


class Mark:
    """Give ``environment`` to a process: whatever it starts has it, too."""

    def __init__(self) -> None:
        self._value = uuid.uuid4().hex

    @property
    def environment(self) -> dict[str, str]:
        return {NAME: self._value}

    def alive(self) -> list[str]:
        """Command lines of what runs at the moment, zombies left out."""
        wanted, found = f"{NAME}={self._value}".encode(), []
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdigit() and wanted in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
        return [line for line in found if line]

    def gone(self) -> bool:
        return not self.alive()
