"""What can be asked of an account, as JSON."""

from decimal import Decimal
from typing import Literal

import msgspec

from services.simulator.accounts.account import Refused
from services.simulator.instruments import Instrument

__all__ = [
    "AmendRequest",
    "CancelRequest",
    "FillRequest",
    "OrderRequest",
    "PositionRequest",
    "TimeInForce",
    "TransferRequest",
    "lots_of",
    "tick_of",
]

TimeInForce = Literal["gtc", "ioc", "fok", "post_only"]


class OrderRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An order. ``size`` is in the venue's unit; no ``price``: a market order.

    ``leg`` is long or short where positions are hedged: buying a short leg closes it.
    """

    product: str
    symbol: str
    side: Literal["buy", "sell"]
    size: str
    price: str = ""
    tif: TimeInForce = "gtc"
    leg: str = ""
    reduce_only: bool = False
    client_id: str = ""


class CancelRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Take an order back."""

    order_id: str
    cancel_id: str = ""


class AmendRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Change an order's price or whole size (empty: as it is)."""

    order_id: str
    price: str = ""
    size: str = ""


class FillRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Let the crowd trade through to a resting order, so that ``size`` of it is filled (empty: all of it)."""

    order_id: str
    size: str = ""


class PositionRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A position; for an ADL ``size`` says how much of it (empty: all)."""

    product: str
    symbol: str
    leg: str = "net"
    size: str = ""


class TransferRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A deposit into the wallet that holds a product; a negative amount is a withdrawal."""

    product: str
    asset: str
    amount: str

    def __post_init__(self) -> None:
        if not self.amount.removeprefix("-").replace(".", "", 1).isdecimal():
            raise Refused(f"amount must be a number in text; received {self.amount!r}")


def _steps(name: str, text: str, units: int, scale: int) -> int:
    if not text.replace(".", "", 1).isdecimal():
        raise Refused(f"{name} must be a number in text; received {text!r}")
    steps, rest = divmod(Decimal(text).scaleb(scale), units)
    if rest or steps < 1:
        raise Refused(f"{name} must be a multiple of the instrument's step above 0; received {text!r}")
    return int(steps)


def lots_of(instrument: Instrument, size: str) -> int:
    """A size in the venue's unit as lots; Refused where it is none."""
    return _steps("size", size, instrument.lot_units, instrument.size_scale)


def tick_of(instrument: Instrument, price: str) -> int:
    """A price as ticks; Refused where it is none."""
    return _steps("price", price, instrument.tick_units, instrument.price_scale)
