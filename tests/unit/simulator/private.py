"""A client of private endpoints that signs by hand, and accounts to try it with."""

import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from services.simulator import AccountSpec, Simulator, SimulatorSettings, select
from tests.unit.simulator.client import Client, Decoded, client, post

STILL = 0.001
"""Events per second of a market that does nothing of itself."""

SECRETS = {"bybit": "wax-and-string", "mexc": "glue-and-paper", "binance": "nail-and-board"}


class Reply(NamedTuple):
    status: int
    body: Decoded
    headers: dict[str, str]


def key(exchange: str, name: str = "main") -> str:
    return f"sim-{exchange}-{name}"


def spec(exchange: str, name: str = "main") -> AccountSpec:
    return AccountSpec(exchange, name, key(exchange, name), SECRETS[exchange])


def with_accounts(exchange: str, *symbols: str, names: tuple[str, ...] = ("main",), **others: Any) -> SimulatorSettings:
    """Quiet markets of one exchange (all of them, or these), and its accounts."""
    return SimulatorSettings(
        **{
            "rate": STILL,
            "exchanges": (exchange,),
            "instruments": select(*symbols, exchange=exchange),
            "accounts": tuple(spec(exchange, name) for name in names),
            **others,
        }
    )


def sign(exchange: str, text: str) -> str:
    return hmac.new(SECRETS[exchange].encode(), text.encode(), hashlib.sha256).hexdigest()


async def fetch(method: str, url: str, headers: dict[str, str] | None = None, data: str | None = None) -> Reply:
    """The URL goes out as it is, for it is what was signed."""
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, URL(url, encoded=True), headers=headers, data=data) as response,
    ):
        text = await response.text()
        body = json.loads(text, parse_float=Decimal) if "json" in response.content_type else text
        return Reply(response.status, body, dict(response.headers))


def now_ms(sim: Simulator) -> int:
    return sim.clock() // 1_000_000


async def bybit(sim: Simulator, path: str, *, name: str = "main", shift_ms: int = 0, **query: object) -> Reply:
    text, stamp = urlencode(query), str(now_ms(sim) + shift_ms)
    signed = sign("bybit", f"{stamp}{key('bybit', name)}5000{text}")
    headers = {
        "X-BAPI-API-KEY": key("bybit", name),
        "X-BAPI-TIMESTAMP": stamp,
        "X-BAPI-RECV-WINDOW": "5000",
        "X-BAPI-SIGN": signed,
    }
    return await fetch("GET", f"{sim.rest_base('bybit', 'linear')}{path}?{text}", headers)


async def by_query(
    sim: Simulator, where: tuple[str, str], path: str, query: Mapping[str, object], method: str = "GET"
) -> Reply:
    """Binance, and MEXC spot, which sign the query; ``where`` is exchange and product."""
    exchange = where[0]
    text = urlencode({**query, "timestamp": now_ms(sim)})
    header = "X-MBX-APIKEY" if exchange == "binance" else "X-MEXC-APIKEY"
    url = f"{sim.rest_base(*where)}{path}?{text}&signature={sign(exchange, text)}"
    return await fetch(method, url, {header: key(exchange)})


async def futures(sim: Simulator, path: str, **query: object) -> Reply:
    """MEXC contracts: parameters in the order of their names."""
    text, stamp = urlencode(sorted(query.items())), str(now_ms(sim))
    signed = sign("mexc", f"{key('mexc')}{stamp}{text}")
    headers = {"ApiKey": key("mexc"), "Request-Time": stamp, "Signature": signed}
    return await fetch("GET", f"{sim.rest_base('mexc', 'futures')}/api/v1/private/{path}?{text}", headers)


async def do(sim: Simulator, exchange: str, what: str, name: str = "main", **body: object) -> Decoded:
    """Something through the control API that has to succeed."""
    status, answer = await post(f"{sim.control_base}/accounts/{exchange}/{name}/{what}", body)
    assert status == 200, answer
    return answer


async def ledger(sim: Simulator, exchange: str, name: str = "main") -> Decoded:
    return (await fetch("GET", f"{sim.control_base}/accounts/{exchange}/{name}/ledger")).body


@asynccontextmanager
async def bybit_stream(sim: Simulator, *topics: str, name: str = "main") -> AsyncIterator[Client]:
    """Logged in and subscribed."""
    async with client(sim.websocket_base("bybit", "linear") + "/v5/private") as one:
        expires = now_ms(sim) + 5000
        await one.send({"op": "auth", "args": [key("bybit", name), expires, sign("bybit", f"GET/realtime{expires}")]})
        assert (await one.next())["success"] is True
        await one.send({"op": "subscribe", "args": list(topics)})
        assert (await one.next())["success"] is True
        yield one


def passive(sim: Simulator, exchange: str, product: str, symbol: str, *, buy: bool = True, ticks: int = 0) -> str:
    """A price that rests: the best of its side, or so many ticks behind it."""
    market = sim.market(exchange, product, symbol)
    best = market.book.best_bid if buy else market.book.best_ask
    assert best is not None
    return market.instrument.price(best - ticks if buy else best + ticks)


SPOT_BODIES: dict[int, list[str]] = {
    304: [
        "id",
        "clientId",
        "price",
        "quantity",
        "amount",
        "avgPrice",
        "orderType",
        "tradeType",
        "isMaker",
        "remainAmount",
        "remainQuantity",
        "lastDealQuantity",
        "cumulativeQuantity",
        "cumulativeAmount",
        "status",
        "createTime",
    ],
    306: [
        "price",
        "quantity",
        "amount",
        "tradeType",
        "isMaker",
        "isSelfTrade",
        "tradeId",
        "clientOrderId",
        "orderId",
        "feeAmount",
        "feeCurrency",
        "time",
    ],
    307: [
        "vcoinName",
        "coinId",
        "balanceAmount",
        "balanceAmountChange",
        "frozenAmount",
        "frozenAmountChange",
        "type",
        "time",
    ],
}
"""MEXC spot's private messages: names of the fields 1, 2, 3 and so on, by the field of the wrapper."""


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        head = varint()
        if head & 7 == 0:
            yield head >> 3, varint()
        else:
            length = varint()
            yield head >> 3, data[at : at + length]
            at += length


class SpotFrame(NamedTuple):
    channel: str
    symbol: str
    sent_ms: int
    body: dict[str, Any]


def spot_frame(data: bytes) -> SpotFrame:
    """A private push of MEXC spot, read by hand."""
    wrapper = dict(_fields(data))
    number = next(one for one in wrapper if one in SPOT_BODIES)
    body = {
        SPOT_BODIES[number][field - 1]: value.decode() if isinstance(value, bytes) else value
        for field, value in _fields(wrapper[number])
    }
    return SpotFrame(wrapper[1].decode(), wrapper.get(3, b"").decode(), wrapper[6], body)
