"""All settings: one model, read from a TOML file and the environment, every mistake named at once with its path.

``tidegate.toml`` (or ``--config``, or ``TIDEGATE_CONFIG``) first, then the environment:
``TIDEGATE_INGEST__PERMITS=10`` is ``[ingest] permits = 10``; ``AMQP_URL`` is ``[broker] url``, and so is what stands
in the file that ``AMQP_URL_FILE`` names, where ``AMQP_URL`` is not set.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import unquote, urlsplit

import pydantic_settings
from msgspec import Struct
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from shared.account_settings import (
    CREDENTIAL,
    AccountName,
    AccountSection,
    AccountSettings,
    unknown_accounts,
    written_secrets,
)
from shared.envelope import MAX_FRAME_BYTES
from shared.errors import SettingsError
from shared.exchanges import EXCHANGES, adapter
from shared.exchanges.base import Endpoints, Feed
from shared.sections import Section, items, url

__all__ = [
    "BrokerSettings",
    "ExchangeSettings",
    "IngestSettings",
    "NormalizerSettings",
    "ProductSettings",
    "QueueSettings",
    "Settings",
    "SimulatedAccount",
    "SimulatorSection",
    "Target",
    "TelemetrySettings",
    "load",
    "names_broker",
    "secrets",
    "targets",
]

DEFAULT_FILE: Final = Path("tidegate.toml")


class BrokerSettings(Section):
    """RabbitMQ."""

    url: SecretStr = SecretStr("amqp://guest:guest@127.0.0.1:5672/")
    publish_deadline_s: Annotated[float, Field(gt=0)] = 5.0
    publisher: Literal["lean", "plain"] = "lean"
    heartbeat_s: Annotated[int, Field(ge=1, le=60)] = 10
    firehose: bool = False

    @field_validator("url")
    @classmethod
    def _amqp(cls, value: SecretStr) -> SecretStr:
        if not value.get_secret_value().startswith(("amqp://", "amqps://")):
            raise ValueError("must start with amqp:// or amqps://")
        try:
            parts = urlsplit(value.get_secret_value())
            usable = parts.hostname and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise ValueError("has no usable host and port")
        return value


class QueueSettings(Section):
    """Bounds of the raw market queues and of quarantine; see ``shared.topology.QueueLimits``."""

    raw_messages: Annotated[int, Field(gt=0)] = 20_000
    raw_bytes: Annotated[int, Field(gt=0)] = 64 * 1024 * 1024
    raw_ttl_ms: Annotated[int, Field(gt=0)] = 30_000
    quarantine_messages: Annotated[int, Field(gt=0)] = 10_000
    quarantine_bytes: Annotated[int, Field(gt=0)] = 256 * 1024 * 1024


class ProductSettings(Section):
    """One market segment of a venue: what to hold open, and where."""

    enabled: bool = True
    symbols: tuple[str, ...] = ()
    feeds: frozenset[Feed] = frozenset(Feed)
    streams: Annotated[int, Field(gt=0, le=500)] = 1
    websocket: Annotated[str, url("ws", "wss")] | None = None
    rest: Annotated[str, url("http", "https")] | None = None


class ExchangeSettings(Section):
    """One venue."""

    enabled: bool = True
    products: Mapping[str, ProductSettings] = Field(default_factory=dict)


class IngestSettings(Section):
    """How sockets are held and frames leave."""

    permits: Annotated[int, Field(gt=0)] = 20
    batch_frames: Annotated[int, Field(gt=0)] = 200
    batch_bytes: Annotated[int, Field(gt=0)] = 256 * 1024
    batch_window_us: Annotated[int, Field(ge=0)] = 500
    buffer_frames: Annotated[int, Field(gt=0)] = 50_000
    buffer_bytes: Annotated[int, Field(gt=0)] = 64 * 1024 * 1024
    buffer_max_age_s: Annotated[float, Field(gt=0)] = 10.0
    overload_wait_ms: Annotated[float, Field(gt=0)] = 100.0
    overload_after_ms: Annotated[float, Field(gt=0)] = 500.0
    max_frame_bytes: Annotated[int, Field(gt=0, le=MAX_FRAME_BYTES)] = MAX_FRAME_BYTES
    open_timeout_s: Annotated[float, Field(gt=0)] = 10.0
    ping_interval_s: Annotated[float, Field(gt=0)] = 20.0
    idle_timeout_s: Annotated[float, Field(gt=0)] = 30.0
    first_frame_timeout_s: Annotated[float, Field(gt=0)] = 30.0
    reconnect_initial_s: Annotated[float, Field(gt=0)] = 0.5
    reconnect_cap_s: Annotated[float, Field(gt=0)] = 60.0
    instrument_refresh_s: Annotated[float, Field(gt=0)] = 3600.0
    announce_interval_s: Annotated[float, Field(gt=0)] = 2.0
    circuit_failures: Annotated[int, Field(gt=0)] = 5
    circuit_reset_s: Annotated[float, Field(gt=0)] = 1.0


class NormalizerSettings(Section):
    """How raw envelopes are consumed. ``executor``: parse on the loop in slices, or whole batches in a thread.

    ``linger_ms``: batches that follow each other within twice this time begin no closer than that; 0: never wait.
    """

    executor: Literal["inline", "thread"] = "inline"
    batch_envelopes: Annotated[int, Field(gt=0)] = 64
    batches_in_flight: Annotated[int, Field(gt=0)] = 8
    prefetch_envelopes: Annotated[int, Field(gt=0, le=65_535)] = 128
    linger_ms: Annotated[float, Field(ge=0, le=100)] = 2.0
    publish_retries: Annotated[int, Field(ge=0)] = 3


class TelemetrySettings(Section):
    """Logs and the HTTP endpoint of a process (port 0: any free one)."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 9100
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["text", "json"] = "text"


class SimulatedAccount(Section):
    """An account that a simulated venue knows from the start; a secret of nothing real.

    ``key`` empty: ``sim-`` and the account's name. ``balances``: asset to amount, in every wallet; empty: plenty.
    """

    key: str = ""
    secret: SecretStr
    balances: Mapping[str, str] = Field(default_factory=dict)


class SimulatorSection(Section):
    """The simulated venues. With ``connect`` (``host:port``) ingest goes there instead of to the real ones."""

    connect: Annotated[str, Field(pattern=r"^[^:/]+:[0-9]{1,5}$")] | None = None
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 9400
    rate: Annotated[float, Field(gt=0)] = 20.0
    seed: int = 1
    accounts: Mapping[str, Mapping[AccountName, SimulatedAccount]] = Field(default_factory=dict)


class Settings(BaseSettings):
    """Everything. Unknown names are mistakes."""

    model_config = SettingsConfigDict(
        env_prefix="TIDEGATE_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )

    broker: BrokerSettings = BrokerSettings()
    queues: QueueSettings = QueueSettings()
    exchanges: Mapping[str, ExchangeSettings] = Field(default_factory=dict)
    accounts: Mapping[str, Mapping[AccountName, AccountSettings]] = Field(default_factory=dict)
    account: AccountSection = AccountSection()
    ingest: IngestSettings = IngestSettings()
    normalizer: NormalizerSettings = NormalizerSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    simulator: SimulatorSection = SimulatorSection()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment wins over the file (which comes in as init values)."""
        del settings_cls, dotenv_settings, file_secret_settings
        return env_settings, init_settings


def load(path: Path | None = None) -> Settings:
    """Read the settings; raises SettingsError that lists every mistake.

    ``path`` None: ``TIDEGATE_CONFIG``, else ``tidegate.toml`` in the working directory if there is one.
    """
    values = _read(path)
    if url := _amqpurl():
        broker = values.setdefault("broker", {})
        if isinstance(broker, dict):  # anything else is a mistake that is named below
            broker["url"] = url
    known = {f"TIDEGATE_{name}".upper() for name in Settings.model_fields}
    mistakes = [
        (name, "names no setting")
        for name in os.environ
        if name.startswith("TIDEGATE_")
        and name.split("__")[0] not in known
        and name != "TIDEGATE_CONFIG"
        and not CREDENTIAL.fullmatch(name)
    ]
    mistakes += written_secrets(values.get("accounts"))
    try:
        settings = Settings(**values)
    except ValidationError as error:
        mistakes += [(".".join(map(str, item["loc"])), item["msg"]) for item in error.errors()]
        mistakes += _unknown_names(values.get("exchanges")) + unknown_accounts(values.get("accounts"))
        raise SettingsError(mistakes) from None
    except pydantic_settings.SettingsError as error:  # a variable that should hold JSON
        raise SettingsError([*mistakes, ("environment", str(error))]) from None
    chosen = settings.model_dump()
    mistakes += _unknown_names(chosen["exchanges"]) + unknown_accounts(chosen["accounts"])
    if mistakes:
        raise SettingsError(mistakes)
    return settings


def names_broker(path: Path | None = None) -> bool:
    """Whether the environment or the settings file (as of :func:`load`, which finds its mistakes) says which broker."""
    variables = {name.upper() for name, value in os.environ.items() if value}
    if variables & {"AMQP_URL", "AMQP_URL_FILE", "TIDEGATE_BROKER", "TIDEGATE_BROKER__URL"}:
        return True
    return "url" in dict(items(_read(path).get("broker")))


def _amqpurl() -> str | None:
    """The broker's address from the environment or from the file that a container keeps its secret in."""
    if url := os.environ.get("AMQP_URL"):
        return url
    name = os.environ.get("AMQP_URL_FILE")
    if not name:
        return None
    try:
        url = Path(name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is no UTF-8"
        raise SettingsError([("AMQP_URL_FILE", f"{name} cannot be read: {reason}")]) from None
    if not url:
        raise SettingsError([("AMQP_URL_FILE", f"{name} is empty")])
    return url


def _read(path: Path | None) -> dict[str, Any]:
    chosen = path or (Path(os.environ["TIDEGATE_CONFIG"]) if "TIDEGATE_CONFIG" in os.environ else None)
    if chosen is None and not DEFAULT_FILE.exists():
        return {}
    file = chosen or DEFAULT_FILE
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError([(str(file), f"cannot be read: {error.strerror}")]) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError([(str(file), f"is no TOML: {error}")]) from error


def _unknown_names(exchanges: object) -> list[tuple[str, str]]:
    """Exchanges, products and feeds that there are none of; ``exchanges`` may be anything that stood in the file."""
    mistakes = []
    for name, exchange in items(exchanges):
        path = f"exchanges.{name}"
        if name not in EXCHANGES:
            mistakes.append((path, f"is no exchange; there are {', '.join(sorted(EXCHANGES))}"))
            continue
        venue = adapter(name)
        for product, wanted in items(dict(items(exchange)).get("products")):
            if product not in venue.products:
                known = ", ".join(sorted(venue.products))
                mistakes.append((f"{path}.products.{product}", f"is no product; there are {known}"))
            elif feeds := dict(items(wanted)).get("feeds"):
                asked = {feed for feed in Feed if feed in feeds}
                lacking = sorted(asked - venue.feeds(product))
                if lacking and asked != set(Feed):
                    mistakes.append((f"{path}.products.{product}.feeds", f"the venue has no {', '.join(lacking)}"))
    return mistakes


def secrets(settings: Settings) -> list[str]:
    """Every secret in the settings, for the log filter: as it stands in the URL, and decoded."""
    password = urlsplit(settings.broker.url.get_secret_value()).password
    simulated = [one.secret.get_secret_value() for of in settings.simulator.accounts.values() for one in of.values()]
    return [*simulated, *({password, unquote(password)} if password else ())]


class Target(Struct, frozen=True):
    """One product to ingest, with every default filled in."""

    exchange: str
    product: str
    endpoints: Endpoints
    symbols: tuple[str, ...]
    feeds: frozenset[Feed]
    streams: int


def targets(settings: Settings, exchange: str | None = None) -> list[Target]:
    """What the settings ask for, of one exchange or of all.

    No ``[exchanges]`` at all means every venue; a venue without ``products`` means all of them; a product without
    ``symbols`` means the majors.
    """
    chosen = settings.exchanges or {name: ExchangeSettings() for name in EXCHANGES}
    found = []
    for name, section in chosen.items():
        if not section.enabled or exchange not in {None, name}:
            continue
        venue = adapter(name)
        products = section.products or {product: ProductSettings() for product in venue.products}
        found += [
            Target(
                name,
                product,
                _endpoints(settings.simulator.connect, name, product, wanted, venue.products[product]),
                wanted.symbols or _majors(product),
                wanted.feeds & venue.feeds(product),
                wanted.streams,
            )
            for product, wanted in products.items()
            if wanted.enabled
        ]
    return found


def _endpoints(
    simulator: str | None, exchange: str, product: str, wanted: ProductSettings, documented: Endpoints
) -> Endpoints:
    if simulator is not None:
        documented = Endpoints(f"ws://{simulator}/{exchange}/{product}", f"http://{simulator}/{exchange}/{product}")
    return Endpoints(wanted.websocket or documented.websocket, wanted.rest or documented.rest)


MAJORS: Final = ("BTC", "ETH", "SOL", "XRP", "DOGE")


def _majors(product: str) -> tuple[str, ...]:
    if product == "spot":
        return tuple(f"{base}/USDT" for base in MAJORS)
    if product == "inverse":
        return tuple(f"{base}/USD:{base}" for base in MAJORS[:2])
    return tuple(f"{base}/USDT:USDT" for base in MAJORS)
