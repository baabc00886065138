"""How long a member may act on the broker's last answer."""

from shared.lease import Lease


def test_it_holds_from_when_the_request_was_sent() -> None:
    lease = Lease(100)
    assert not lease.holds(0)
    lease.renew(1_000)
    assert lease.holds(1_099)
    assert not lease.holds(1_100)


def test_an_answer_to_an_older_request_proves_nothing_new() -> None:
    lease = Lease(100)
    lease.renew(1_000)
    lease.renew(950)
    assert lease.holds(1_099)


def test_an_answer_that_lay_in_a_buffer_comes_too_late() -> None:
    """The process slept between the request and the answer."""
    lease = Lease(100)
    lease.renew(1_000)
    lease.renew(1_050)
    assert not lease.holds(5_000)


def test_without_heartbeats_the_broker_gives_nothing_away() -> None:
    lease = Lease(0)
    assert not lease.holds(1)
    lease.renew(0)
    assert lease.holds(10**18)
