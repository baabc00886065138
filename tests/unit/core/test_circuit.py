"""The breaker around a publisher."""

from shared.circuit import Circuit, CircuitState

RESET = 1_000
PATIENCE = 50_000


def closed(threshold: int = 3) -> Circuit:
    return Circuit(threshold, RESET, patience_ns=PATIENCE)


def opened(*, stragglers: int = 0) -> Circuit:
    """A circuit that opened at 0, with calls that are still under way."""
    circuit = closed()
    for _ in range(3 + stragglers):
        assert circuit.admit(0)
    for _ in range(3):
        circuit.failure(0)
    assert circuit.state is CircuitState.OPEN
    return circuit


def test_opens_at_the_threshold_exactly() -> None:
    """Failures in a row count, a success in between starts the count again."""
    circuit = closed()
    states = []
    for works in [False, False, True, False, False, False]:
        assert circuit.admit(0)
        circuit.success() if works else circuit.failure(0)
        states.append(circuit.state)
    assert states == [CircuitState.CLOSED] * 5 + [CircuitState.OPEN]
    assert circuit.failures == 3


def test_open_admits_nothing_until_it_is_time() -> None:
    """Then one, and no other beside it."""
    circuit = opened()
    assert not circuit.admit(RESET - 1)
    assert [circuit.admit(RESET) for _ in range(50)] == [True] + [False] * 49
    assert circuit.state is CircuitState.HALF_OPEN


def test_probe_decides() -> None:
    """A success closes, a failure opens for another while."""
    circuit = opened()
    circuit.admit(RESET)
    circuit.failure(RESET + 10)
    assert circuit.state is CircuitState.OPEN
    assert not circuit.admit(2 * RESET + 9)
    assert circuit.admit(2 * RESET + 10)
    circuit.success()
    assert (circuit.state, circuit.failures) == (CircuitState.CLOSED, 0)
    assert circuit.admit(2 * RESET + 10)


def test_abandoned_probe_frees_its_place() -> None:
    """A cancelled call says nothing: another one is admitted at once."""
    circuit = opened()
    assert circuit.admit(RESET)
    circuit.abandoned()
    assert circuit.state is CircuitState.HALF_OPEN
    assert circuit.admit(RESET)
    assert not circuit.admit(RESET)


def test_abandoned_calls_are_no_failures() -> None:
    """A shutdown does not open the circuit."""
    circuit = closed()
    for _ in range(10):
        circuit.admit(0)
        circuit.abandoned()
    assert (circuit.state, circuit.failures) == (CircuitState.CLOSED, 0)


def test_late_ends_do_not_decide_for_the_probe() -> None:
    """No probe is made before the calls of the time before have ended, so that nothing can be taken for its end."""
    circuit = opened(stragglers=3)
    assert not circuit.admit(RESET)
    circuit.success()
    circuit.failure(RESET)
    assert not circuit.admit(RESET)
    circuit.abandoned()
    states = [circuit.state]
    assert circuit.admit(RESET)
    assert not circuit.admit(RESET)
    circuit.success()
    assert [*states, circuit.state] == [CircuitState.OPEN, CircuitState.CLOSED]


def test_late_failures_do_not_prolong_the_wait() -> None:
    """The circuit opened when it opened."""
    circuit = opened(stragglers=1)
    circuit.failure(RESET - 1)
    assert circuit.admit(RESET)


def test_call_that_never_ends_is_not_waited_for_for_ever() -> None:
    """Somebody's defect must not keep the circuit open."""
    circuit = opened(stragglers=1)
    assert not circuit.admit(PATIENCE - 1)
    assert circuit.admit(PATIENCE)
    circuit.success()
    assert circuit.state is CircuitState.CLOSED
