"""What all streams of one product share."""

from dataclasses import dataclass

from aiolimiter import AsyncLimiter

from services.ingest.listing import Listing
from shared.exchanges.base import Adapter
from shared.transport.http import RestClient

__all__ = ["Venue"]


@dataclass(frozen=True, slots=True)
class Venue:
    """One product of an exchange: its adapter, instrument list, REST client, and how fast connections may be made."""

    adapter: Adapter
    listing: Listing
    client: RestClient
    connects: AsyncLimiter
