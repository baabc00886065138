"""What an exchange adapter is: pure functions and small state machines, bytes in, messages out.

An adapter is one folder. The same file names in each hold the same things:

- ``endpoints``   URLs per product, with the documented defaults
- ``limits``      what the venue allows (subscriptions, message rates, connection age), with sources
- ``symbols``     instrument lists: requests, replies, and the rule that names an unlisted instrument
- ``subscribe``   topics, plans, subscription requests, acks, heartbeats
- ``wire``        the venue's JSON or protobuf as typed structs, decoders
- ``hot``         wire → canonical for what comes by the thousand, many frames in one go (see ``exchanges.lanes``)
- ``market``      wire → canonical for the rest, books apart
- ``book``        the venue's order-book procedure
- ``parser``      which frame goes where
- ``adapter``     the object that the registry holds

Ingest uses an :class:`Adapter`; a normalizer uses the :class:`Parser` it makes, one per stream.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple, Protocol

from msgspec import Struct

from shared.envelope import Frame, RestReply
from shared.exchanges.output import Group, Head, Origin, Output, Rejection, Resync
from shared.instruments import Instrument, InstrumentTable

__all__ = [
    "DATA",
    "MOST_ROUTES",
    "Ack",
    "Action",
    "Adapter",
    "Endpoints",
    "Feed",
    "Fetch",
    "FrameClass",
    "Group",
    "Head",
    "Heartbeat",
    "Limits",
    "Origin",
    "Output",
    "Overflow",
    "Parser",
    "Poll",
    "Rejection",
    "Request",
    "Resync",
    "Route",
    "Send",
    "StreamPlan",
    "Subscription",
]


class Feed(StrEnum):
    """What can be subscribed to; ``book`` gives snapshots and deltas."""

    TRADE = "trade"
    QUOTE = "quote"
    TICKER = "ticker"
    BOOK = "book"
    LIQUIDATION = "liquidation"
    FUNDING = "funding"
    MARK_PRICE = "mark_price"
    OPEN_INTEREST = "open_interest"
    CANDLE = "candle"


# --- Ingest: planning -------------------------------------------------------------------------------------------------


class Endpoints(Struct, frozen=True):
    """Base URLs of one product, without a trailing slash: ``wss://host`` and ``https://host``."""

    websocket: str
    rest: str


class Limits(Struct, frozen=True):
    """What a venue allows per connection and per address. Sources are in each adapter's ``limits`` module."""

    topics_per_connection: int
    topics_per_request: int
    requests_per_second: float  # client messages on one WebSocket
    rest_weight: int  # how much REST weight may be spent …
    rest_interval_s: float  # … in so many seconds
    connections_per_interval: int
    connection_interval_s: float
    connection_age_s: float | None = None  # the venue cuts a connection at this age


class Heartbeat(Struct, frozen=True):
    """What the client must send every so often."""

    interval_s: float
    payload: str


class Subscription(NamedTuple):
    """One topic of a stream, in the venue's own words, and the (feed, instrument) pairs that it brings.

    ``quiet``: the topic may be silent for hours (liquidations), so that no first frame is no fault.
    """

    topic: str
    feed: Feed
    native_symbol: str
    also: tuple[Feed, ...] = ()
    quiet: bool = False


class Request(NamedTuple):
    """A REST request (GET): absolute URL and what it costs of the venue's REST weight."""

    url: str
    weight: int = 1


class Poll(NamedTuple):
    """A REST request that is repeated, its replies injected as frames."""

    request: Request
    interval_s: float


class StreamPlan(Struct, frozen=True):
    """One WebSocket connection to be held: where, and what to subscribe to.

    ``url`` is the WebSocket's; ``rest`` the base URL for snapshots, as in :class:`Endpoints`.
    """

    name: str
    exchange: str
    product: str
    url: str
    rest: str
    subscriptions: tuple[Subscription, ...]
    polls: tuple[Poll, ...] = ()


class Send(NamedTuple):
    """Ingest is to send this text on the stream's socket.

    ``request_id`` and ``topics`` say which ack to expect (empty topics: none).
    """

    payload: str
    request_id: str | None = None
    topics: tuple[str, ...] = ()


class Fetch(NamedTuple):
    """Ingest is to make this request and inject the reply as a frame."""

    request: Request


Action = Send | Fetch


# --- Ingest: classification -------------------------------------------------------------------------------------------


class FrameClass(IntEnum):
    """What ingest must know of a frame before it hands it on."""

    DATA = 0
    ACK = 1  # answers a subscription request, wholly or partly
    HEARTBEAT = 2  # no data: does not count as life of the stream
    ERROR = 3  # the venue complains, about nothing that can be told
    CLOSING = 4  # the venue announces that it will close: reconnect now


class Overflow(IntEnum):
    """What may be done to a waiting frame when the buffer is full."""

    SHED = 0  # dropping it loses just what is in it
    CONFLATE = 1  # a newer frame of the same (feed, instrument) replaces it
    RESYNC = 2  # dropping it breaks a chain: the instrument must be resynced


class Ack(NamedTuple):
    """The answer to subscription requests.

    ``request_id`` is None where the venue doesn't echo one: the oldest open request is meant.
    ``accepted`` None: all topics of the request but the rejected ones. ``rejected``: topic and the venue's reason.
    ``refused``: the whole request was refused for this reason; topics that are no part of ``rejected`` may be tried
    again one by one.
    """

    request_id: str | None
    accepted: tuple[str, ...] | None = None
    rejected: tuple[tuple[str, str], ...] = ()
    refused: str | None = None


class Route(NamedTuple):
    """Classification of a frame: cheap, by prefix where possible, never a full parse.

    ``feed``/``native_symbol`` are None where the frame doesn't tell (it goes on all the same: the parser decides).
    """

    frame_class: FrameClass
    feed: Feed | None = None
    native_symbol: str | None = None
    overflow: Overflow = Overflow.SHED
    ack: Ack | None = None
    detail: str | None = None


DATA: Final = Route(FrameClass.DATA)
"""A frame of which nothing is known but that it is no control frame."""

MOST_ROUTES: Final = 16_384
"""Beginnings of frames that are remembered: a venue may write one topic in many ways. Others are looked at anew."""


# --- Normalizer -------------------------------------------------------------------------------------------------------


class Parser(Protocol):
    """The state of one stream, from one frame to the next. Not asynchronous, no clock, no I/O.

    Every method appends to ``output`` and raises ParseError only, before it has changed any state: a rejected book
    delta leaves the book where it was, so that the next one shows a gap.
    """

    def data(self, origin: Origin, frame: Frame, output: Output) -> None:
        """A frame of kind TEXT or BINARY."""
        ...

    def reply(self, origin: Origin, reply: RestReply, output: Output) -> Iterator[None] | None:
        """A frame of kind REST.

        What takes long is left to the steps that it gives, which are to be gone through before the next frame: each
        takes a few microseconds, and none raises.
        """
        ...

    def interrupted(
        self, origin: Origin, feed: str | None, native_symbol: str | None, reason: str, output: Output
    ) -> None:
        """Something was lost: state that can't be trusted any more is dropped, its resync asked for and said.

        ``reason`` is one of ``shed``, ``lost``, ``connected`` (a new epoch: the venue or ingest sends snapshots by
        itself, so nothing is asked for), ``started`` (this normalizer took the stream over in mid-life).
        None means all feeds, all instruments.
        """
        ...


class Adapter(Protocol):
    """One venue, for ingest and for whoever wants a parser."""

    @property
    def name(self) -> str:
        """The exchange's name, as in settings, labels and routing keys."""
        ...

    @property
    def products(self) -> Mapping[str, Endpoints]:
        """The products with their documented endpoints."""
        ...

    def feeds(self, product: str) -> frozenset[Feed]:
        """The feeds that the venue has for a product."""
        ...

    def limits(self, product: str) -> Limits:
        """What the venue allows."""
        ...

    def heartbeat(self, product: str) -> Heartbeat | None:
        """The application-level ping; None where WebSocket pings do."""
        ...

    def instrument_requests(self, product: str, endpoints: Endpoints) -> Sequence[Request]:
        """What to ask for the instrument list."""
        ...

    def next_page(self, product: str, request: Request, body: bytes) -> Request | None:
        """The request for the next page of an instrument list; raises ParseError."""
        ...

    def instruments(self, product: str, body: bytes) -> Sequence[Instrument]:
        """The instruments of one reply; entries that can't be read are left out; raises ParseError for the whole."""
        ...

    def named(self, product: str, native_symbol: str) -> Instrument | None:
        """An unlisted instrument by the venue's documented naming rule; None where no rule tells."""
        ...

    def plan(
        self,
        product: str,
        instruments: Sequence[Instrument],
        feeds: frozenset[Feed],
        endpoints: Endpoints,
        streams: int,
    ) -> Sequence[StreamPlan]:
        """Connections within the venue's limits, at least ``streams`` where there is enough to share out."""
        ...

    def subscribe(self, plan: StreamPlan, topics: Sequence[str]) -> Sequence[Send]:
        """Requests for some of the plan's topics, none over the venue's limits."""
        ...

    def classify(self, product: str, data: bytes, binary: bool) -> Route:  # noqa: FBT001 - once per frame: by position
        """What a frame is; never raises."""
        ...

    def seed(self, plan: StreamPlan, subscription: Subscription) -> Sequence[Action]:
        """What a subscription needs once its first frame has come (a REST snapshot); mostly nothing."""
        ...

    def resync(self, plan: StreamPlan, subscription: Subscription) -> Sequence[Action]:
        """What makes the venue send a fresh snapshot of a subscription."""
        ...

    def parser(self, product: str, instruments: InstrumentTable) -> Parser:
        """A new parser for one stream; it may add instruments from the stream to the table."""
        ...
