"""Instruments that are known without asking a venue: the majors, for offline use."""

from importlib import resources

from msgspec import json

from shared.instruments import Instrument

__all__ = ["bundled"]


def bundled(exchange: str, product: str) -> list[Instrument]:
    """The bundled instruments of one product."""
    data = resources.files("services.cli").joinpath("majors.json").read_bytes()
    return [
        item
        for item in json.decode(data, type=list[Instrument])
        if (item.exchange, item.product) == (exchange, product)
    ]
