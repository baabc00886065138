"""``tidegate ingest EXCHANGE --account NAME``: one account's private streams in a process of its own."""

import asyncio
import logging
from typing import TYPE_CHECKING

from services.cli.application import run_application
from services.ingest.account.main import AccountIngest
from services.ingest.account.telemetry import AccountTelemetry
from shared.accounts.base import Credentials
from shared.clock import SystemClock
from shared.control import Announcement, ResyncRequest
from shared.credentials import AccountTarget, account_target, credentials
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry
from shared.telemetry.redact import hide_in_crashes
from shared.topology import CONTROL, RAW, announcement_key, resync_key

if TYPE_CHECKING:
    from shared.bus.rabbit import RabbitBus

__all__ = ["run_account"]


def run_account(exchange: str, account: str, settings: Settings, telemetry: Telemetry) -> int:
    """Until SIGTERM; what is in the journal has a few seconds to leave. Raises SettingsError."""
    target = account_target(settings, exchange, account)
    keys = credentials(settings, exchange, account)
    for secret in (keys.key, keys.secret):
        telemetry.redactor.add(secret)
    hide_in_crashes(telemetry.redactor)
    logging.getLogger("websockets").setLevel(logging.WARNING)  # at DEBUG it shows URLs and what is sent: listen keys
    asyncio.run(_ingest(target, keys, settings, telemetry))
    return 0


async def _ingest(target: AccountTarget, keys: Credentials, settings: Settings, telemetry: Telemetry) -> None:
    from shared.bus.rabbit.application import Traffic

    exchange, account = target.exchange, target.account

    async def main(bus: "RabbitBus", stop: asyncio.Event) -> None:
        bound = AccountTelemetry(telemetry, exchange, account)
        ingest = AccountIngest(target, keys, settings, bus, SystemClock(), bound)
        telemetry.health.add("account", ingest.problem)
        telemetry.health.add("topology", ingest.broker_problem)
        await ingest.run(stop)

    published = [
        Traffic(RAW, f"account.{exchange}.{account}.#", "Envelopes of private frames (msgpack), persistent"),
        Traffic(CONTROL, announcement_key(), "The streams of this process", Announcement),
    ]
    consumed = [Traffic(CONTROL, resync_key(exchange), "What a normalizer has no state for", ResyncRequest)]
    text = f"Holds the private streams of {exchange}'s account {account}, journals and publishes their frames."
    name = f"ingest {exchange} {account}"
    await run_application(settings, telemetry, name, text, (published, consumed), main, opened=False)
