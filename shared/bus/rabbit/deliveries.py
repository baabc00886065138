"""From aiormq's deliveries to ours."""

from time import perf_counter_ns
from typing import TYPE_CHECKING, cast

from shared.bus.base import Delivery

if TYPE_CHECKING:
    from aiormq import spec
    from aiormq.abc import DeliveredMessage

__all__ = ["delivery_of"]


def delivery_of(message: "DeliveredMessage", stream: str | None = None) -> Delivery:
    """What a consumer's callback got; ``key`` is the stream, or the routing key where none is given."""
    deliver = cast("spec.Basic.Deliver", message.delivery)
    key = (deliver.routing_key or "") if stream is None else stream
    return Delivery(key, message.body, deliver.delivery_tag or 0, bool(deliver.redelivered), perf_counter_ns())
