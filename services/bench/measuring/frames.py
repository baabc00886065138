"""Frames as Bybit's linear stream sends them in a busy minute: trades, quotes, book deltas of several instruments.

A loop that may be sent over and over: it begins with a book snapshot of each instrument, which the venue may send at
any time, trade ids come again only after more trades than a duplicate window remembers, and no quote repeats the one
before it.
Shapes: docs/v5/websocket/public/{trade,orderbook}.mdx of the venue's documents.
"""

import random
from array import array
from collections.abc import Sequence
from struct import pack
from typing import Final, NamedTuple

from msgspec import json

__all__ = ["COINS", "LOOP_FRAMES", "SYMBOLS", "Script", "build", "instrument_list", "script"]

LOOP_FRAMES: Final = 120_000
COINS: Final = {"BTC": (643_210, 1), "ETH": (34_567, 1), "SOL": (15_234, 2), "XRP": (62_345, 4), "DOGE": (14_321, 5)}
"""Price in ticks and decimals of a tick."""

SYMBOLS: Final = tuple(f"{coin}/USDT:USDT" for coin in COINS)
FIRST_MS: Final = 1_780_000_000_000
FRAMES_PER_MS: Final = 20
DEPTH: Final = 50
MOST_LEVELS: Final = 6
TRADE_SHARE, QUOTE_SHARE = 0.4, 0.3
TEXT: Final = 0x81
SHORT, LONG = 126, 65_536
"""RFC 6455 section 5.2: payloads from here on have a longer length."""


class Script(NamedTuple):
    """WebSocket frames, one behind the other; frame ``i`` is ``data[ends[i - 1]:ends[i]]``."""

    data: bytes
    ends: "array[int]"


class _Market:
    """One instrument's prices on a random walk."""

    def __init__(self, coin: str, chance: random.Random) -> None:
        self.symbol = f"{coin}USDT"
        self._ticks, self._decimals = COINS[coin]
        self._chance = chance
        self._update = 1
        self._quoted = False

    def _price(self, offset: int) -> str:
        return f"{(self._ticks + offset) / 10**self._decimals:.{self._decimals}f}"

    def _size(self, odd: int = 0) -> str:
        return f"{(self._chance.randrange(1, 20_000) * 2 + odd) / 1000:.3f}"

    def _levels(self, sign: int, count: int) -> str:
        offsets = sorted(self._chance.sample(range(DEPTH), count))
        return ",".join(
            f'["{self._price(sign * (offset + 1))}","{"0" if self._chance.random() < 0.2 else self._size()}"]'
            for offset in offsets
        )

    def snapshot(self, ms: int) -> str:
        bids, asks = (
            ",".join(f'["{self._price(sign * (offset + 1))}","{self._size()}"]' for offset in range(DEPTH))
            for sign in (-1, 1)
        )
        return self._book("snapshot", ms, bids, asks)

    def delta(self, ms: int) -> str:
        self._update += 1
        counts = self._chance.randrange(MOST_LEVELS + 1), self._chance.randrange(1, MOST_LEVELS + 1)
        return self._book("delta", ms, self._levels(-1, counts[0]), self._levels(1, counts[1]))

    def _book(self, kind: str, ms: int, bids: str, asks: str) -> str:
        return (
            f'{{"topic":"orderbook.{DEPTH}.{self.symbol}","type":"{kind}","ts":{ms},"data":{{"s":"{self.symbol}",'
            f'"b":[{bids}],"a":[{asks}],"u":{self._update},"seq":{7_000_000_000 + self._update}}},"cts":{ms - 2}}}'
        )

    def quote(self, ms: int) -> str:
        self._ticks += self._chance.randrange(-1, 2)
        odd, self._quoted = int(not self._quoted), True  # the loop's first one differs from the loop's last one
        return (
            f'{{"topic":"orderbook.1.{self.symbol}","type":"snapshot","ts":{ms},"data":{{"s":"{self.symbol}",'
            f'"b":[["{self._price(-1)}","{self._size(odd)}"]],"a":[["{self._price(1)}","{self._size(odd)}"]],'
            f'"u":{ms},"seq":{ms}}},"cts":{ms - 2}}}'
        )

    def trade(self, ms: int) -> str:
        count = 1 if self._chance.random() < 0.8 else self._chance.randrange(2, 5)
        return f'{{"topic":"publicTrade.{self.symbol}","type":"snapshot","ts":{ms},"data":[{self._trades(ms, count)}]}}'

    def _trades(self, ms: int, count: int) -> str:
        side = self._chance.choice(("Buy", "Sell"))
        items = []
        for _ in range(count):
            bits = f"{self._chance.getrandbits(128):032x}"
            trade_id = f"{bits[:8]}-{bits[8:12]}-{bits[12:16]}-{bits[16:20]}-{bits[20:]}"
            items.append(
                f'{{"T":{ms - 3},"s":"{self.symbol}","S":"{side}","v":"{self._size()}",'
                f'"p":"{self._price(1 if side == "Buy" else -1)}","L":"ZeroPlusTick","i":"{trade_id}","BT":false}}'
            )
        return ",".join(items)


def build(count: int = LOOP_FRAMES, seed: int = 1) -> list[bytes]:
    """The payloads of ``count`` frames, always the same for a seed."""
    chance = random.Random(seed)
    markets = [_Market(coin, chance) for coin in COINS]
    payloads = [market.snapshot(FIRST_MS) for market in markets]
    while len(payloads) < count:
        ms = FIRST_MS + len(payloads) // FRAMES_PER_MS
        market, lot = chance.choice(markets), chance.random()
        if lot < TRADE_SHARE:
            payloads.append(market.trade(ms))
        elif lot < TRADE_SHARE + QUOTE_SHARE:
            payloads.append(market.quote(ms))
        else:
            payloads.append(market.delta(ms))
    return [payload.encode() for payload in payloads[:count]]


def script(payloads: Sequence[bytes]) -> Script:
    """The payloads as a server's WebSocket text frames (unmasked)."""
    parts: list[bytes] = []
    ends, size = array("Q"), 0
    for payload in payloads:
        header = _header(len(payload))
        parts += (header, payload)
        size += len(header) + len(payload)
        ends.append(size)
    return Script(b"".join(parts), ends)


def _header(length: int) -> bytes:
    if length < SHORT:
        return pack(">BB", TEXT, length)
    return pack(">BBH", TEXT, 126, length) if length < LONG else pack(">BBQ", TEXT, 127, length)


def instrument_list() -> bytes:
    """The venue's answer to the request for its instruments."""
    listed = [
        {
            "symbol": f"{coin}USDT",
            "contractType": "LinearPerpetual",
            "status": "Trading",
            "baseCoin": coin,
            "quoteCoin": "USDT",
            "settleCoin": "USDT",
            "deliveryTime": "0",
            "priceFilter": {"tickSize": f"{10**-decimals:.{decimals}f}"},
            "lotSizeFilter": {"qtyStep": "0.001"},
        }
        for coin, (_, decimals) in COINS.items()
    ]
    result = {"category": "linear", "list": listed, "nextPageCursor": ""}
    return json.encode({"retCode": 0, "retMsg": "OK", "result": result, "retExtInfo": {}, "time": FIRST_MS})
