"""The broker that the settings name, or `tidegate up` runs on, as a bus."""

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import convert
from pydantic import SecretStr

from services.cli.notes import left
from shared.settings import Settings, names_broker
from shared.topology import QueueLimits

if TYPE_CHECKING:
    from shared.bus.rabbit import RabbitBus

__all__ = ["beside_up", "limits_of", "rabbit"]


def beside_up(settings: Settings, config: Path | None) -> Settings:
    """The settings, of ``config``; where these don't name a broker, with that of the newest `tidegate up` that runs."""
    url = None if names_broker(config) else next((note.broker for note in left() if note.broker), None)
    if url is None:
        return settings
    return settings.model_copy(update={"broker": settings.broker.model_copy(update={"url": SecretStr(url)})})


def limits_of(settings: Settings) -> QueueLimits:
    """The queue bounds of the settings."""
    return convert(settings.queues.model_dump(), QueueLimits)


def rabbit(settings: Settings, name: str) -> "RabbitBus":
    """A bus to be entered; ``name`` shows in the broker's list of connections.

    FastStream is imported here: it takes 0.9 s, and not every command needs it.
    """
    from shared.bus.rabbit import RabbitBus

    return RabbitBus(
        settings.broker.url.get_secret_value(),
        name,
        limits_of(settings),
        prefetch=settings.normalizer.prefetch_envelopes,
        publisher=settings.broker.publisher,
        heartbeat_s=settings.broker.heartbeat_s,
    )
