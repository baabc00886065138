"""What a normalizer knows from one session to the next."""

from dataclasses import dataclass

from services.normalizer.holding import Owned
from services.normalizer.known import Known, Peers
from services.normalizer.tables import Tables

__all__ = ["Knowledge"]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The streams that there are, who else owns them, what of them this member owns, and the instruments."""

    known: Known
    peers: Peers
    owned: Owned
    tables: Tables
