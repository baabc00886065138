"""Which instruments ``--symbols`` means: the venues' own lists say."""

import asyncio
from collections.abc import Sequence

from msgspec import structs

from services.cli.errors import UsageError
from services.ingest.listing import Listing, resolve
from shared.clock import Clock
from shared.errors import RequestFailed, TidegateError
from shared.exchanges import adapter
from shared.settings import Target
from shared.transport.http import RestClient

__all__ = ["chosen"]

PATIENCE_S = 20.0


async def chosen(wanted: Sequence[Target], symbols: Sequence[str], clock: Clock) -> list[Target]:
    """The targets that list any of the symbols (unified or native), with these; UsageError for one that none lists.

    Raises TidegateError when a venue's list can't be had.
    """
    found: list[Target] = []
    known: set[str] = set()
    for target, (listed, hit) in zip(
        wanted, await asyncio.gather(*(_listed(target, symbols, clock) for target in wanted)), strict=True
    ):
        known |= hit
        if listed:
            found.append(structs.replace(target, symbols=listed))
    unknown = [symbol for symbol in symbols if symbol not in known]
    if unknown:
        places = ", ".join(f"{target.exchange}.{target.product}" for target in wanted)
        raise UsageError("--symbols", f"{', '.join(unknown)}: not traded at {places}")
    return found


async def _listed(target: Target, symbols: Sequence[str], clock: Clock) -> tuple[tuple[str, ...], set[str]]:
    """Unified symbols of a target that are meant, and which of the given ones meant them."""
    venue = adapter(target.exchange)
    problem = "no answer"

    def failed(error: RequestFailed, _: float) -> None:
        nonlocal problem
        problem = str(error)

    async with RestClient(venue.limits(target.product)) as client:
        listing = Listing(venue, target.product, target.endpoints, client, clock, failed)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await listing.refresh(0)
        except TimeoutError as error:
            raise TidegateError(
                f"the instruments of {target.exchange}.{target.product} could not be had in {PATIENCE_S:g} s: {problem}"
            ) from error
    hit = {symbol for symbol in symbols if resolve([symbol], listing.instruments)[0]}
    instruments, _ = resolve(symbols, listing.instruments)
    return tuple(instrument.symbol for instrument in instruments), hit
