"""The instruments that are on offer unless the settings say otherwise."""

from collections.abc import Iterable, Iterator

from services.simulator.instruments import Instrument

__all__ = ["DEFAULT_INSTRUMENTS", "UNICODE_INSTRUMENT", "VENUES", "select"]

VENUES: tuple[tuple[str, str], ...] = (
    ("bybit", "spot"),
    ("bybit", "linear"),
    ("bybit", "inverse"),
    ("mexc", "spot"),
    ("mexc", "futures"),
    ("binance", "spot"),
    ("binance", "usdm"),
)

DELIVERY_2027_06_25_MS = 1_813_910_400_000

# base, price, then per venue: tick, lot, printed places of price and size.
BYBIT_SPOT = (
    ("BTC", "86720", "0.01", "0.000001", 2, 6),
    ("ETH", "3120", "0.01", "0.00001", 2, 5),
    ("SOL", "142", "0.01", "0.001", 2, 3),
    ("XRP", "2.14", "0.0001", "0.01", 4, 2),
    ("DOGE", "0.152", "0.00001", "0.1", 5, 1),
)
BYBIT_LINEAR = (
    ("BTC", "86720", "0.1", "0.001", 2, 3),
    ("ETH", "3120", "0.01", "0.01", 2, 2),
    ("SOL", "142", "0.01", "0.1", 3, 1),
    ("XRP", "2.14", "0.0001", "0.1", 4, 1),
    ("DOGE", "0.152", "0.00001", "1", 5, 0),
)
MEXC_SPOT = (
    ("BTC", "86720", "0.01", "0.00000001", 2, 8),
    ("ETH", "3120", "0.01", "0.00001", 2, 5),
    ("SOL", "142", "0.01", "0.001", 2, 3),
    ("XRP", "2.14", "0.0001", "0.01", 4, 2),
    ("DOGE", "0.152", "0.00001", "0.01", 5, 2),
)
MEXC_FUTURES = (
    ("BTC", "86720", "0.1", "0.0001", 1),
    ("ETH", "3120", "0.01", "0.01", 2),
    ("SOL", "142", "0.01", "0.1", 2),
    ("XRP", "2.14", "0.0001", "1", 4),
    ("DOGE", "0.152", "0.00001", "100", 5),
)
BINANCE_SPOT = (
    ("BTC", "86720", "0.01", "0.00001"),
    ("ETH", "3120", "0.01", "0.0001"),
    ("SOL", "142", "0.01", "0.001"),
    ("XRP", "2.14", "0.0001", "0.1"),
    ("DOGE", "0.152", "0.00001", "1"),
)
BINANCE_USDM = (
    ("BTC", "86720", "0.1", "0.001", 2, 3),
    ("ETH", "3120", "0.01", "0.001", 2, 3),
    ("SOL", "142", "0.01", "0.01", 4, 2),
    ("XRP", "2.14", "0.0001", "0.1", 4, 1),
    ("DOGE", "0.152", "0.00001", "1", 5, 0),
)

UNICODE_INSTRUMENT = Instrument("binance", "spot", "这是测试币456", "这是测试币", "456", "1.5", "0.0001", "0.1", 8, 8)
"""A symbol that is no ASCII (the venue's test network has such); off by default."""


def _spot(exchange: str, rows: Iterable[tuple[str, str, str, str, int, int]]) -> Iterator[Instrument]:
    for base, price, tick, lot, price_scale, size_scale in rows:
        yield Instrument(exchange, "spot", base + "USDT", base, "USDT", price, tick, lot, price_scale, size_scale)


def _linear(exchange: str, product: str, rows: Iterable[tuple[str, str, str, str, int, int]]) -> Iterator[Instrument]:
    for base, price, tick, lot, price_scale, size_scale in rows:
        yield Instrument(
            exchange, product, base + "USDT", base, "USDT", price, tick, lot, price_scale, size_scale,
            kind="perpetual", settle="USDT", consecutive_ids=False,
        )  # fmt: skip


def _dated(exchange: str, product: str, native_symbol: str) -> Instrument:
    return Instrument(
        exchange, product, native_symbol, "BTC", "USDT", "87900", "0.1", "0.001", 2, 3,
        kind="future", settle="USDT", delivery_ms=DELIVERY_2027_06_25_MS, consecutive_ids=False,
    )  # fmt: skip


def _inverse(base: str, price: str, tick: str) -> Instrument:
    return Instrument(
        "bybit", "inverse", base + "USD", base, "USD", price, tick, "1", 2, 0,
        kind="inverse", settle=base, consecutive_ids=False,
    )  # fmt: skip


def _mexc_futures() -> Iterator[Instrument]:
    for base, price, tick, contract_size, price_scale in MEXC_FUTURES:
        yield Instrument(
            "mexc", "futures", base + "_USDT", base, "USDT", price, tick, "1", price_scale, 0,
            kind="perpetual", settle="USDT", contract_size=contract_size,
        )  # fmt: skip


DEFAULT_INSTRUMENTS: tuple[Instrument, ...] = (
    *_spot("bybit", BYBIT_SPOT),
    *_linear("bybit", "linear", BYBIT_LINEAR),
    _dated("bybit", "linear", "BTCUSDT-25JUN27"),
    _inverse("BTC", "86720", "0.5"),
    _inverse("ETH", "3120", "0.05"),
    *_spot("mexc", MEXC_SPOT),
    *_mexc_futures(),
    *_spot("binance", ((base, price, tick, lot, 8, 8) for base, price, tick, lot in BINANCE_SPOT)),
    *_linear("binance", "usdm", BINANCE_USDM),
    _dated("binance", "usdm", "BTCUSDT_270625"),
)


def select(*native_symbols: str, exchange: str = "", product: str = "") -> tuple[Instrument, ...]:
    """The default instruments of an exchange, a product, or with one of these native symbols."""
    return tuple(
        one
        for one in DEFAULT_INSTRUMENTS
        if (not exchange or one.exchange == exchange)
        and (not product or one.product == product)
        and (not native_symbols or one.native_symbol in native_symbols)
    )
