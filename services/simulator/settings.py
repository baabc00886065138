"""How the simulator runs."""

from dataclasses import dataclass

from services.simulator.accounts.account import AccountSpec
from services.simulator.catalogue import DEFAULT_INSTRUMENTS
from services.simulator.instruments import Instrument

__all__ = ["SimulatorSettings"]

POSITIVE = (
    "rate",
    "burst",
    "deadline_scale",
    "connection_age",
    "connections",
    "page_size",
    "write_limit",
    "rest_limit_scale",
)


@dataclass(frozen=True, slots=True)
class SimulatorSettings:
    """Times in seconds. ``rate`` is events (orders, cancels) per second and instrument.

    Every ``burst_every`` seconds (0: never by itself) the rate is multiplied by ``burst`` for ``burst_for`` seconds.
    ``deadline_scale`` shortens what the venues give a silent client, ping intervals included (0.01: 60 s become 0.6 s).
    ``connection_age`` is how long Binance and MEXC spot keep a connection; ``page_size`` the most instruments that
    Bybit puts on one page; ``write_limit`` the bytes a slow client may leave unread before it is cut off.
    ``connections`` is how many one product accepts. ``accounts`` are there from the start; ``rest_limit_scale``
    multiplies what the venues allow to be asked over private REST.
    """

    host: str = "127.0.0.1"
    port: int = 0
    rate: float = 20.0
    seed: int = 1
    exchanges: tuple[str, ...] = ("bybit", "mexc", "binance")
    instruments: tuple[Instrument, ...] = DEFAULT_INSTRUMENTS
    burst: float = 50.0
    burst_every: float = 0.0
    burst_for: float = 5.0
    deadline_scale: float = 1.0
    connection_age: float = 86_400.0
    connections: int = 1000
    page_size: int = 500
    write_limit: int = 8 * 1024 * 1024
    accounts: tuple[AccountSpec, ...] = ()
    rest_limit_scale: float = 1.0

    def __post_init__(self) -> None:
        for name in POSITIVE:
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive, received {getattr(self, name)!r}")
        if self.burst_every < 0 or self.burst_for < 0:
            raise ValueError("burst_every and burst_for must not be negative")
