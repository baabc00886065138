"""The broker that the settings name, as a bus."""

from typing import TYPE_CHECKING

from msgspec import convert

from shared.settings import Settings
from shared.topology import QueueLimits

if TYPE_CHECKING:
    from shared.bus.rabbit import RabbitBus

__all__ = ["limits_of", "rabbit"]


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
