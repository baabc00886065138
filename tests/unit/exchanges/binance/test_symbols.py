import pytest
from msgspec import json

from shared.errors import ParseError
from shared.exchanges.binance import ADAPTER
from shared.instruments import Instrument, InstrumentKind

FILTERS = [
    {"filterType": "PRICE_FILTER", "minPrice": "0.01", "tickSize": "0.01000000"},
    {"filterType": "LOT_SIZE", "minQty": "0.0001", "stepSize": "0.00010000"},
    {"filterType": "NOTIONAL", "minNotional": "5.0"},
]
PERPETUAL = {
    "symbol": "1000PEPEUSDT", "pair": "1000PEPEUSDT", "contractType": "PERPETUAL", "deliveryDate": 4_133_404_800_000,
    "status": "TRADING", "baseAsset": "1000PEPE", "quoteAsset": "USDT", "marginAsset": "USDT", "filters": FILTERS,
}  # fmt: skip
QUARTER = PERPETUAL | {
    "symbol": "ETHUSDT_270326", "contractType": "CURRENT_QUARTER", "deliveryDate": 1_806_048_000_000,
    "baseAsset": "ETH",
}  # fmt: skip
SPOT = {"symbol": "ETHUSDT", "status": "TRADING", "baseAsset": "ETH", "quoteAsset": "USDT", "filters": FILTERS}


def listed(product: str, *entries: object) -> list[Instrument]:
    return [*ADAPTER.instruments(product, json.encode({"timezone": "UTC", "symbols": entries}))]


def test_spot_instrument() -> None:
    assert listed("spot", SPOT) == [
        Instrument(
            "binance", "spot", "ETH/USDT", "ETHUSDT", "ETH", "USDT", None, InstrumentKind.SPOT,
            tick_size="0.01000000", size_step="0.00010000",
        )
    ]  # fmt: skip


def test_perpetual() -> None:
    (one,) = listed("usdm", PERPETUAL)
    assert (one.symbol, one.kind, one.expiry) == ("1000PEPE/USDT:USDT", InstrumentKind.PERPETUAL, None)
    assert (one.base, one.quote, one.settle, one.contract_size) == ("1000PEPE", "USDT", "USDT", "1")


@pytest.mark.parametrize("contract", ["CURRENT_QUARTER", "NEXT_QUARTER", "CURRENT_QUARTER DELIVERING"])
def test_dated_future_is_named_by_its_delivery(contract: str) -> None:
    (one,) = listed("usdm", QUARTER | {"contractType": contract})
    assert (one.symbol, one.kind, one.expiry) == ("ETH/USDT:USDT-270326", InstrumentKind.FUTURE, "270326")
    named = ADAPTER.named("usdm", "ETHUSDT_270326")
    assert named is not None
    assert (named.symbol, named.kind, named.expiry) == (one.symbol, one.kind, one.expiry)


@pytest.mark.parametrize("status", ["HALT", "BREAK", "CANCEL_ONLY", "SETTLING"])
def test_instrument_that_does_not_trade_is_listed_inactive(status: str) -> None:
    assert [one.active for one in listed("spot", SPOT, SPOT | {"status": status})] == [True, False]


@pytest.mark.parametrize(
    "entry",
    [
        {},
        [],
        1,
        SPOT | {"symbol": ""},
        SPOT | {"baseAsset": None},
        SPOT | {"filters": [{"filterType": "PRICE_FILTER", "tickSize": "NaN"}]},
        SPOT | {"filters": 3},
    ],
)
def test_entry_that_can_not_be_read_is_left_out(entry: object) -> None:
    assert [one.symbol for one in listed("spot", entry, SPOT)] == ["ETH/USDT"]


@pytest.mark.parametrize(
    "more",
    [
        {"contractType": ""},
        {"contractType": "NOVELTY"},
        {"contractType": "CURRENT_QUARTER", "deliveryDate": None},
        {"contractType": "CURRENT_QUARTER", "deliveryDate": 10**18},
        {"quoteAsset": "USD", "marginAsset": "1000PEPE"},
    ],
)
def test_what_is_no_usdm_contract_is_left_out(more: dict[str, object]) -> None:
    assert listed("usdm", PERPETUAL | more) == []


def test_step_of_zero_is_none() -> None:
    (one,) = listed("spot", SPOT | {"filters": [{"filterType": "LOT_SIZE", "stepSize": "0.00"}]})
    assert (one.tick_size, one.size_step) == (None, None)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"symbols":{}}', b"\xff", b"[" * 100_000])
def test_body_that_is_no_list_is_an_error(body: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        ADAPTER.instruments("spot", body)
    assert caught.value.code in {"invalid_json", "wrong_type", "missing_field"}


@pytest.mark.parametrize(
    ("native", "symbol"),
    [
        ("BTCUSDT", "BTC/USDT"),
        ("USDCUSDT", "USDC/USDT"),
        ("BTCFDUSD", "BTC/FDUSD"),
        ("BTCTUSD", "BTC/TUSD"),
        ("RUNEEUR", "RUNE/EUR"),
        ("ADAPAX", "ADA/PAX"),
        ("1000SATSUSDT", "1000SATS/USDT"),
        ("币安人生USDT", "币安人生/USDT"),
    ],
)
def test_spot_names(native: str, symbol: str) -> None:
    one = ADAPTER.named("spot", native)
    assert one is not None
    assert (one.symbol, one.native_symbol, one.kind) == (symbol, native, InstrumentKind.SPOT)


@pytest.mark.parametrize(
    "native",
    ["", "USDT", "FOOBAR", "btcusdt", "BTC-USDT", "BTCUSD", "ADAEUR", "ADAAEUR", "BTCUSDT_270326", "这是测试币456"],
)
def test_spot_names_that_no_rule_tells(native: str) -> None:
    assert ADAPTER.named("spot", native) is None


@pytest.mark.parametrize(
    ("native", "symbol"),
    [
        ("BTCUSDT", "BTC/USDT:USDT"),
        ("BTCUSDC", "BTC/USDC:USDC"),
        ("1000PEPEUSDT", "1000PEPE/USDT:USDT"),
        ("BTCUSDT_260327", "BTC/USDT:USDT-260327"),
    ],
)
def test_usdm_names(native: str, symbol: str) -> None:
    one = ADAPTER.named("usdm", native)
    assert one is not None
    assert (one.symbol, one.native_symbol) == (symbol, native)


@pytest.mark.parametrize(
    "native",
    [
        "", "USDT", "BTCUSD_PERP", "BTCUSD_200925", "BTCUSDT_", "BTCUSDT_2603", "BTCUSDT_261332", "BTCUSDT_PERP",
        "BTCUSDT_²⁶⁰³²⁷", "ETHBTC", "_260327",
    ],
)  # fmt: skip
def test_usdm_names_that_no_rule_tells(native: str) -> None:
    assert ADAPTER.named("usdm", native) is None


def test_no_rule_for_another_product() -> None:
    assert ADAPTER.named("coinm", "BTCUSDT") is None


def test_list_is_one_request_without_pages() -> None:
    for product, url, weight in (
        ("spot", "https://api.binance.com/api/v3/exchangeInfo?showPermissionSets=false", 20),
        ("usdm", "https://fapi.binance.com/fapi/v1/exchangeInfo", 1),
    ):
        (request,) = ADAPTER.instrument_requests(product, ADAPTER.products[product])
        assert (request.url, request.weight) == (url, weight)
        assert ADAPTER.next_page(product, request, b"{}") is None
