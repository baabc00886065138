"""What is asked of a soak, and what became of it."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.soak.checker.checker import Verdict
from tests.soak.plan import MANDATORY, Step

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Options", "Outcome"]

SHOWN: Final = 20


class Options(NamedTuple):
    """``rate``: events per second and instrument; ``logs``: where the processes' logs are kept, if anywhere.

    ``heartbeat_s``: the broker gives a connection up that is silent for three of them; ``first``: what is done whatever
    the time.
    """

    seconds: float
    seed: int
    rate: float = 20.0
    logs: Path | None = None
    heartbeat_s: int = 3
    first: Sequence[Step] = MANDATORY


class Outcome(NamedTuple):
    """What became of it. ``problems`` are promises that no number stands for: a process that died, a bad status."""

    frames_sent: int
    verdict: Verdict
    restarts: int
    problems: list[str]

    @property
    def clean(self) -> bool:
        return self.verdict.clean and not self.problems

    def summary(self) -> dict[str, Any]:
        """The numbers, for programs."""
        return {"frames_sent": self.frames_sent, **self.verdict.summary(), "restarts": self.restarts}

    def lines(self) -> list[str]:
        """What was found and where, for people."""
        verdict = self.verdict
        found = [f"{kind}: {_times(times)}" for kind, times in sorted(verdict.handover_ms.items())]
        found += [
            f"{verdict.announced} trades are missing and announced, {verdict.unseen} passed while the broker died"
        ]
        found.append(f"{verdict.duplicates} messages came twice, {len(verdict.retold)} were told anew by a new owner")
        lists: Mapping[str, list[Any]] = {
            "problem": self.problems,
            "inversion": verdict.inversions,
            "retold": verdict.retold,
            "lost": verdict.lost,
            "gap": verdict.gaps,
            "book": verdict.books,
            "owners": verdict.owners,
            "invented": verdict.invented,
        }
        for name, texts in lists.items():
            found += [f"{name}: {text}" for text in texts[:SHOWN]]
            if len(texts) > SHOWN:
                found.append(f"{name}: and {len(texts) - SHOWN} more")
        return found


def _times(times: list[float]) -> str:
    return f"{len(times)} hand-overs, median {statistics.median(times):.0f} ms, at most {max(times):.0f} ms"
