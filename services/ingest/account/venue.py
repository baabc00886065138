"""What one private stream needs of its venue, over all its connections."""

from dataclasses import dataclass

from aiolimiter import AsyncLimiter

from services.ingest.account.calling import Caller
from services.ingest.account.listing import AccountListing
from shared.accounts.base import AccountAdapter, AccountPlan, Credentials

__all__ = ["AccountVenue"]


@dataclass(frozen=True, slots=True)
class AccountVenue:
    """One plan: adapter, key, signed calls, instrument lists, and how fast may be connected (``connects``) and sent."""

    adapter: AccountAdapter
    plan: AccountPlan
    credentials: Credentials
    caller: Caller
    listing: AccountListing
    connects: AsyncLimiter
    pace: AsyncLimiter
