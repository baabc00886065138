"""The breaker, whatever calls come and whenever they end."""

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from shared.circuit import Circuit, CircuitState

THRESHOLD = 3
RESET = 100


@dataclass(eq=False)
class Call:
    """A call that was admitted, and in which state of the circuit."""

    admitted_in: CircuitState


class Breaking(RuleBasedStateMachine):
    """Knows which call is which, which the circuit does not."""

    def __init__(self) -> None:
        super().__init__()
        self.circuit = Circuit(THRESHOLD, RESET, patience_ns=10**9)
        self.now = 0
        self.calls: list[Call] = []
        self.failures = 0
        self.opened = 0
        self.state = CircuitState.CLOSED

    @rule(later=st.sampled_from([1, 10, 99, 100, 250]))
    def time_passes(self, later: int) -> None:
        """Up to more than the circuit waits."""
        self.now += later

    @rule()
    def call(self) -> None:
        """Admitted when closed; when open, once it is time and nothing is under way."""
        admitted = self.circuit.admit(self.now)
        if self.state is CircuitState.CLOSED:
            assert admitted
        elif self.state is CircuitState.OPEN:
            assert admitted == (self.now - self.opened >= RESET and not self.calls)
        else:
            assert admitted == (not self.calls)
        if admitted:
            if self.state is CircuitState.OPEN:
                self.state = CircuitState.HALF_OPEN
            self.calls.append(Call(self.state))

    @precondition(lambda self: self.calls)
    @rule(data=st.data())
    def call_works(self, data: st.DataObject) -> None:
        """Closes only as the probe."""
        call = self.ended(data)
        self.circuit.success()
        if call.admitted_in is CircuitState.HALF_OPEN or self.state is CircuitState.CLOSED:
            self.state, self.failures = CircuitState.CLOSED, 0

    @precondition(lambda self: self.calls)
    @rule(data=st.data())
    def call_fails(self, data: st.DataObject) -> None:
        """Opens as the probe, or as the last of so many in a row."""
        call = self.ended(data)
        self.circuit.failure(self.now)
        if self.state is CircuitState.OPEN:
            return
        self.failures += 1
        if call.admitted_in is CircuitState.HALF_OPEN or self.failures >= THRESHOLD:
            self.state, self.opened = CircuitState.OPEN, self.now

    @precondition(lambda self: self.calls)
    @rule(data=st.data())
    def call_is_cancelled(self, data: st.DataObject) -> None:
        """Says nothing."""
        self.ended(data)
        self.circuit.abandoned()

    def ended(self, data: st.DataObject) -> Call:
        return self.calls.pop(data.draw(st.integers(0, len(self.calls) - 1)))

    @invariant()
    def states_agree(self) -> None:
        """And there is one probe at most."""
        assert self.circuit.state is self.state
        if self.state is CircuitState.HALF_OPEN:
            assert len(self.calls) <= 1
        if self.state is CircuitState.CLOSED:
            assert self.circuit.failures == self.failures


TestCircuit = Breaking.TestCase
