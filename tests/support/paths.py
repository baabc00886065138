"""Where things are."""

from pathlib import Path
from typing import Final

import pytest

__all__ = ["ROOT", "SHARED", "needs_shared"]

ROOT: Final = Path(__file__).resolve().parents[2]
SHARED: Final = ROOT.parent / "shared"
"""Recorded frames, cases and references; they lie beside the repository where it is developed, not in it."""

needs_shared: Final = pytest.mark.skipif(
    not (SHARED / "frames").is_dir(), reason="the recorded material (../shared) is not here"
)
