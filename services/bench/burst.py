"""The burst that every design of ``bench journey`` gets: WebSocket frames on disk, ready to be written to a socket.

Bybit linear in the documented shape: a book snapshot of each instrument, then trades, quotes, book deltas and
liquidations in the mix of a cascade. Building takes longer than sending, so it is done before a clock starts, once.
"""

from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

__all__ = ["FEEDS", "SYMBOLS", "build", "instruments_reply", "read_index", "topics"]

COINS: Final = (
    ("BTC", 1, 642_310, 9),
    ("ETH", 2, 251_844, 6),
    ("SOL", 2, 14_873, 4),
    ("XRP", 4, 23_411, 3),
    ("DOGE", 5, 21_044, 2),
)
"""Coin, decimal places of its price, price in ticks, share of the traffic."""

SYMBOLS: Final = tuple(f"{coin}/USDT:USDT" for coin, *_ in COINS)
FEEDS: Final = ("trade", "quote", "book", "liquidation")
CHANNELS: Final = ("publicTrade", "orderbook.1", "orderbook.50", "allLiquidation")
MIX: Final = (8, 7, 4, 1)
DEPTH: Final = 50
START_MS: Final = 1_760_000_000_000
SHORT: Final = 126
MEDIUM: Final = 65_536


class _Market:
    """One instrument; every method is one frame's payload."""

    def __init__(self, coin: str, places: int, ticks: int, random: Random) -> None:
        self.native = f"{coin}USDT"
        self._places = places
        self._ticks = ticks
        self._random = random
        self._update = self._book_update = 1_000
        self._ms = START_MS
        self._trade = random.randrange(16**8)

    def step(self) -> None:
        """The price falls more often than it rises."""
        self._ms += 1
        self._ticks = max(2_000, self._ticks + self._random.choice((-3, -2, -1, -1, 0, 0, 0, 1, 2)))

    def snapshot(self) -> str:
        """The whole book."""
        return self._book("snapshot", self._levels(-1, DEPTH), self._levels(1, DEPTH))

    def trade(self) -> str:
        """One trade."""
        self._trade += 1
        side = "Sell" if self._random.random() < 0.7 else "Buy"
        return (
            f'{{"topic":"publicTrade.{self.native}","type":"snapshot","ts":{self._ms},"data":[{{"T":{self._ms - 2},'
            f'"s":"{self.native}","S":"{side}","v":"{self._size()}","p":"{self._price(0)}","L":"MinusTick",'
            f'"i":"{self._trade:08x}-5b1c-5a0e-9f43-7d2e6c1b8a90","BT":false,"RPI":false}}]}}'
        )

    def quote(self) -> str:
        """The best level of each side."""
        self._update += 1
        return (
            f'{{"topic":"orderbook.1.{self.native}","type":"snapshot","ts":{self._ms},"data":{{"s":"{self.native}",'
            f'"b":[["{self._price(-1)}","{self._size()}"]],"a":[["{self._price(1)}","{self._size()}"]],'
            f'"u":{self._update},"seq":{self._update * 7}}},"cts":{self._ms - 2}}}'
        )

    def delta(self) -> str:
        """Some levels of each side."""
        return self._book("delta", self._levels(-1, 5), self._levels(1, 6))

    def liquidation(self) -> str:
        """A long is liquidated."""
        return (
            f'{{"topic":"allLiquidation.{self.native}","type":"snapshot","ts":{self._ms},"data":[{{"T":{self._ms - 1},'
            f'"s":"{self.native}","S":"Buy","v":"{self._size()}","p":"{self._price(-5)}"}}]}}'
        )

    def _book(self, kind: str, bids: str, asks: str) -> str:
        self._book_update += 1
        return (
            f'{{"topic":"orderbook.{DEPTH}.{self.native}","type":"{kind}","ts":{self._ms},"data":{{"s":"{self.native}",'
            f'"b":[{bids}],"a":[{asks}],"u":{self._book_update},"seq":{self._book_update * 9}}},"cts":{self._ms - 2}}}'
        )

    def _levels(self, side: int, count: int) -> str:
        return ",".join(f'["{self._price(side * offset)}","{self._size()}"]' for offset in range(1, count + 1))

    def _price(self, offset: int) -> str:
        return f"{(self._ticks + offset) / 10**self._places:.{self._places}f}"

    def _size(self) -> str:
        return f"{self._random.randrange(1, 4_000) / 1_000:.3f}"


def build(path: Path, frames: int, seed: int = 1) -> None:
    """Write so many frames to ``path`` and where each begins to ``path`` + ``.index``."""
    offsets = array("Q", [0])
    with path.open("wb", buffering=1 << 20) as file:
        for text in islice(_payloads(seed), frames):
            frame = _framed(text.encode())
            file.write(frame)
            offsets.append(offsets[-1] + len(frame))
    _index(path).write_bytes(offsets.tobytes())


def read_index(path: Path) -> "array[int]":
    """Where the frames of a burst begin, and where the last one ends."""
    offsets = array("Q")
    offsets.frombytes(_index(path).read_bytes())
    return offsets


def topics() -> list[str]:
    """What a client subscribes to."""
    return [f"{channel}.{coin}USDT" for coin, *_ in COINS for channel in CHANNELS]


def instruments_reply() -> bytes:
    """The venue's instrument list."""
    items = ",".join(
        f'{{"symbol":"{coin}USDT","contractType":"LinearPerpetual","status":"Trading","baseCoin":"{coin}",'
        f'"quoteCoin":"USDT","settleCoin":"USDT","deliveryTime":"0","priceFilter":{{"tickSize":"{10**-places:.{places}f}"}},'
        '"lotSizeFilter":{"qtyStep":"0.001"}}'
        for coin, places, *_ in COINS
    )
    page = f'{{"category":"linear","list":[{items}],"nextPageCursor":""}}'
    return f'{{"retCode":0,"retMsg":"OK","result":{page},"time":{START_MS}}}'.encode()


def _payloads(seed: int) -> Iterator[str]:
    random = Random(seed)
    markets = [_Market(coin, places, ticks, random) for coin, places, ticks, _ in COINS]
    shares = [share for *_, share in COINS]
    for market in markets:
        yield market.snapshot()
    kinds = (_Market.trade, _Market.quote, _Market.delta, _Market.liquidation)
    while True:
        for market, kind in zip(
            random.choices(markets, shares, k=1_000), random.choices(kinds, MIX, k=1_000), strict=True
        ):
            market.step()
            yield kind(market)


def _framed(payload: bytes) -> bytes:
    """A server's text frame, unmasked (RFC 6455 section 5.2)."""
    size = len(payload)
    if size < SHORT:
        return bytes((0x81, size)) + payload
    if size < MEDIUM:
        return b"\x81\x7e" + size.to_bytes(2, "big") + payload
    return b"\x81\x7f" + size.to_bytes(8, "big") + payload


def _index(path: Path) -> Path:
    return path.with_name(f"{path.name}.index")
