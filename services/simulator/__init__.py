"""An exchange to test against: every venue's wire format over real sockets, with faults on request."""

from services.simulator.accounts.account import DEFAULT_BALANCES, AccountSpec, Refused
from services.simulator.catalogue import DEFAULT_INSTRUMENTS, UNICODE_INSTRUMENT, select
from services.simulator.faults import FAULTS, Fault, FaultError
from services.simulator.instruments import Instrument
from services.simulator.player import RecordedFrame
from services.simulator.settings import SimulatorSettings
from services.simulator.simulator import Simulator, run

__all__ = [
    "DEFAULT_BALANCES",
    "DEFAULT_INSTRUMENTS",
    "FAULTS",
    "UNICODE_INSTRUMENT",
    "AccountSpec",
    "Fault",
    "FaultError",
    "Instrument",
    "RecordedFrame",
    "Refused",
    "Simulator",
    "SimulatorSettings",
    "run",
    "select",
]
