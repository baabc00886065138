"""Numbers and names that a venue gives: unique over restarts, because the time of the start is in them."""

from itertools import count
from random import Random
from uuid import UUID

from services.simulator.accounts.records import OrderRecord

__all__ = ["Identities"]


class Identities:
    """Of one wallet. ``start_ns`` is when it was made."""

    def __init__(self, exchange: str, wallet: str, key: str, start_ns: int) -> None:
        self._exchange = exchange
        self._wallet = wallet
        self._rng = Random(f"{key}/{wallet}/{start_ns}")
        self._start_ms = start_ns // 1_000_000
        self._positions = count(self._start_ms % 10**9 * 100)

    def uuid(self) -> str:
        """A random one."""
        return str(UUID(int=self._rng.getrandbits(128), version=4))

    def draw(self, bits: int) -> int:
        """A random number."""
        return self._rng.getrandbits(bits)

    def serial(self, number: int) -> int:
        """A whole number that grows with this one; those of different wallets are far apart."""
        return self._start_ms * (1000 if self._wallet == "usdm" else 100) + number

    def order(self, number: int) -> str:
        """The id of the wallet's order of this number."""
        if self._exchange == "bybit":
            return self.uuid()
        if self._exchange == "binance":
            return str(self.serial(number))
        serial = self._start_ms * 100_000 + number
        return f"C02__{serial}" if self._wallet == "spot" else str(serial)

    def client(self) -> str:
        """What the venue writes where the client named no id of its own."""
        if self._exchange == "binance":
            return f"web_{self._rng.getrandbits(72):018x}"
        if (self._exchange, self._wallet) == ("mexc", "futures"):
            return f"_m_{self._rng.getrandbits(128):032x}"
        return ""

    def forced(self, kind: str) -> str:
        """The client id of an order that the venue makes itself, where its documents say what it begins with."""
        if self._exchange != "binance":
            return ""
        return "adl_autoclose" if kind == "adl" else f"autoclose-{self._rng.getrandbits(40)}"

    def execution(self, trade: int, order: OrderRecord) -> str:
        """The id of this order's part in a public trade."""
        if self._exchange == "bybit":
            return self.uuid()
        if (self._exchange, self._wallet) == ("mexc", "spot"):
            return f"{trade}X{int(order.buy)}"
        return str(trade)

    def position(self) -> int:
        """The id of a position that is opened."""
        return next(self._positions)
