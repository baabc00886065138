"""What became of a soak of the account plane."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tests.soak.account.judge import Findings

__all__ = ["Outcome", "summary"]

SHOWN: Final = 20


class Outcome(NamedTuple):
    """One seed's. ``problems`` are promises that no number stands for: a process that died, a bad exit status."""

    seed: int
    events: int
    messages: int
    duplicates: int
    faults: int
    findings: Findings
    problems: list[str]

    @property
    def clean(self) -> bool:
        return self.findings.clean and not self.problems

    def lines(self) -> list[str]:
        """What was found and where, for people."""
        word = "clean" if self.clean else "NOT CLEAN"
        came = f"{self.messages} messages, {self.duplicates} of them repetitions"
        found = [f"seed {self.seed}: {self.events} events, {self.faults} faults, {came}: {word}"]
        for name, texts in {"problem": self.problems, **self.findings._asdict()}.items():
            found += [f"{name}: {text}" for text in texts[:SHOWN]]
            if len(texts) > SHOWN:
                found.append(f"{name}: and {len(texts) - SHOWN} more")
        return found


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The numbers of all seeds together, for programs."""
    counts = [outcome.findings.counts() for outcome in outcomes]
    return {
        "seeds": len(outcomes),
        "events": sum(outcome.events for outcome in outcomes),
        **{name: sum(count[name] for count in counts) for name in Findings._fields},
        "faults_injected": sum(outcome.faults for outcome in outcomes),
        "problems": sum(len(outcome.problems) for outcome in outcomes),
    }
