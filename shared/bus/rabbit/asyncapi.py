"""What a service publishes and consumes, for FastStream's AsyncAPI document."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from faststream.rabbit import ExchangeType, RabbitExchange, RabbitQueue
from faststream.specification import AsyncAPI
from faststream.specification.base import Specification
from msgspec.json import schema_components
from pydantic import WithJsonSchema

from shared.bus.base import MANDATORY
from shared.topology import AMQP_EXCHANGES

if TYPE_CHECKING:
    from shared.bus.rabbit.link import LinkBroker

__all__ = ["Description", "ServiceSpecification", "Traffic", "document"]

_ELSEWHERE = "https://msgspec.invalid/"
"""Before references to definitions that pydantic doesn't know; it takes them only when they seem to lie elsewhere."""

_KINDS = {exchange.name: ExchangeType(exchange.kind) for exchange in AMQP_EXCHANGES}


class Traffic(NamedTuple):
    """Messages of one kind: where they go or come from, and what they are.

    ``key`` is the routing key, with ``*`` or ``#`` where it varies. ``payload`` is the type of the decoded body
    (anything msgspec knows), or None where the body is no JSON and ``description`` says what it is.
    """

    exchange: str
    key: str
    description: str
    payload: Any = None


class Description(NamedTuple):
    """What the AsyncAPI document of a service says."""

    title: str
    version: str
    text: str
    publishes: Sequence[Traffic] = ()
    consumes: Sequence[Traffic] = ()


class ServiceSpecification(AsyncAPI):
    """FastStream's AsyncAPI document with msgspec's schemas in it."""

    def to_specification(self) -> Specification:
        """The document as it is now."""
        return _WithReferences(super().to_specification())


class _WithReferences(Specification):
    """A document whose references were led astray on purpose, see ``_ELSEWHERE``."""

    def __init__(self, found: Specification) -> None:
        self._found = found

    @property
    def title(self) -> str:
        return self._found.title

    def to_json(self) -> str:
        return self._found.to_json().replace(_ELSEWHERE, "")

    def to_jsonable(self) -> Any:  # noqa: ANN401 - any JSON
        return json.loads(self.to_json())

    def to_yaml(self) -> str:
        return self.to_json()  # JSON is YAML, and needs no library


def document(publishing: "LinkBroker", consuming: "LinkBroker", description: Description) -> None:
    """Enter a service's traffic. It is never carried by FastStream itself: its brokers are not started."""
    for traffic in description.publishes:
        publishing.publisher(
            exchange=_exchange(traffic),
            routing_key=traffic.key,
            mandatory=traffic.exchange in MANDATORY,
            schema=_schema(traffic.payload),
            title=f"publish {traffic.exchange} {traffic.key}",
            description=traffic.description,
        )
    for traffic in description.consumes:
        queue = RabbitQueue(f"{traffic.exchange}.{traffic.key}", routing_key=traffic.key)
        consuming.subscriber(
            queue,
            _exchange(traffic),
            title=f"consume {traffic.exchange} {traffic.key}",
            description=traffic.description,
        )(_handler(traffic.payload))


def _exchange(traffic: Traffic) -> RabbitExchange:
    return RabbitExchange(traffic.exchange, type=_KINDS[traffic.exchange], durable=True)


def _schema(payload: Any) -> Any:  # noqa: ANN401 - a type in, an annotation out
    """An annotation whose schema is msgspec's: FastStream asks pydantic, which knows nothing of Structs."""
    if payload is None:
        return bytes
    (schema,), definitions = schema_components((payload,), ref_template=f"{_ELSEWHERE}#/$defs/{{name}}")
    return Annotated[Any, WithJsonSchema({**schema, "$defs": definitions})]


def _handler(payload: Any) -> Callable[[Any], None]:  # noqa: ANN401 - as above
    def handle(message: Any) -> None:  # noqa: ANN401, ARG001 - FastStream reads the signature
        return

    handle.__annotations__["message"] = _schema(payload)
    return handle
