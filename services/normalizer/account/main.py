"""The normalizer of the account plane: a member as those of the market plane are, with streams that remember."""

from services.normalizer.account.session import AccountSession
from services.normalizer.account.telemetry import AccountTelemetry
from services.normalizer.main import Normalizer
from services.normalizer.tables import Tables
from shared.bus.base import Bus, Publisher, RawConsumer
from shared.clock import Clock
from shared.control import StreamInfo
from shared.settings import Settings

__all__ = ["AccountNormalizer"]


class NoTables(Tables):
    """Account streams have their instruments in their state."""

    async def ready(self, stream: StreamInfo, publisher: Publisher) -> None:
        """At once."""


class AccountNormalizer(Normalizer):
    """Owns its share of the account streams that are announced.

    Several may run; what is remembered is in files, so they have to share ``account.state_directory``.
    """

    plane = "account"

    def __init__(self, settings: Settings, bus: Bus, clock: Clock, telemetry: AccountTelemetry) -> None:
        super().__init__(settings, bus, clock, telemetry, NoTables())
        self._accounts = telemetry

    def problem(self) -> str | None:
        """What keeps it from being ready: streams that stand still, too."""
        return "; ".join(self._accounts.problems.values()) or super().problem()

    def make_session(self, consumer: RawConsumer, publisher: Publisher) -> AccountSession:
        """See :class:`Normalizer`."""
        knowledge = self._knowledge
        return AccountSession(
            consumer, publisher, self._settings, self._clock, self._accounts, knowledge.owned, knowledge.known
        )
