import pytest

from shared.errors import ParseError
from shared.exchanges.base import Request
from shared.exchanges.bybit import ADAPTER
from shared.instruments import InstrumentKind
from tests.unit.exchanges.bybit.frames import listing

FUTURE = {
    "symbol": "BTCUSDT-25DEC26",
    "contractType": "LinearFutures",
    "status": "Trading",
    "baseCoin": "BTC",
    "quoteCoin": "USDT",
    "settleCoin": "USDT",
    "deliveryTime": "1798185600000",
    "priceFilter": {"tickSize": "0.50"},
    "lotSizeFilter": {"qtyStep": "0.001"},
}
PERPETUAL = FUTURE | {"symbol": "BTCUSDT", "contractType": "LinearPerpetual"}


@pytest.mark.parametrize(
    ("product", "native", "symbol"),
    [
        ("spot", "BTCUSDT", "BTC/USDT"),
        ("spot", "USDCUSDT", "USDC/USDT"),
        ("spot", "ETHUSDC", "ETH/USDC"),
        ("spot", "币安人生USDT", "币安人生/USDT"),
        ("linear", "1000PEPEUSDT", "1000PEPE/USDT:USDT"),
        ("linear", "BTCPERP", "BTC/USDC:USDC"),
        ("linear", "BTCUSDT-25DEC26", "BTC/USDT:USDT-261225"),
        ("linear", "XRPUSDT-5JUN26", "XRP/USDT:USDT-260605"),
        ("linear", "ETH-25DEC26", "ETH/USDC:USDC-261225"),
        ("inverse", "BTCUSD", "BTC/USD:BTC"),
    ],
)
def test_documented_names(product: str, native: str, symbol: str) -> None:
    named = ADAPTER.named(product, native)
    assert named is not None
    assert (named.symbol, named.native_symbol, named.product) == (symbol, native, product)
    assert named.inverse is (product == "inverse")
    assert named.kind is (InstrumentKind.SPOT if product == "spot" else named.kind)


@pytest.mark.parametrize(
    ("product", "native"),
    [
        ("spot", "ETHBTC"),
        ("spot", "USDT"),
        ("spot", "btcusdt"),
        ("spot", "btcUSDT"),
        ("spot", "BTC-USDT"),
        ("linear", "BTCUSDC"),
        ("linear", "BTCUSDT-31FEB26"),
        ("linear", "BTCUSDT-25XXX26"),
        ("linear", "BTC-25DEC26-90000-C"),
        ("linear", "PERP"),
        ("inverse", "BTCUSDZ26"),
        ("inverse", "BTCUSDT"),
        ("inverse", ""),
    ],
)
def test_other_names_are_not_guessed(product: str, native: str) -> None:
    assert ADAPTER.named(product, native) is None


def test_listed_future() -> None:
    (found,) = ADAPTER.instruments("linear", listing("linear", FUTURE))
    assert (found.kind, found.expiry, found.settle) == (InstrumentKind.FUTURE, "261225", "USDT")
    assert (found.tick_size, found.size_step, found.active) == ("0.50", "0.001", True)
    assert (found.contract_size, found.inverse) == ("1", False)


def test_delisting_time_of_a_perpetual_is_no_expiry() -> None:
    (found,) = ADAPTER.instruments("linear", listing("linear", PERPETUAL))
    assert (found.symbol, found.expiry, found.kind) == ("BTC/USDT:USDT", None, InstrumentKind.PERPETUAL)


def test_listed_inverse_contract() -> None:
    row = PERPETUAL | {"symbol": "BTCUSD", "contractType": "InversePerpetual", "quoteCoin": "USD", "settleCoin": "BTC"}
    (found,) = ADAPTER.instruments("inverse", listing("inverse", row))
    assert (found.symbol, found.inverse, found.contract_size) == ("BTC/USD:BTC", True, "1")


def test_listed_spot_pair() -> None:
    row = {
        "symbol": "BTCBRL",
        "baseCoin": "BTC",
        "quoteCoin": "BRL",
        "status": "Closed",
        "lotSizeFilter": {"basePrecision": "0.000001"},
        "priceFilter": {"tickSize": "1"},
    }
    (found,) = ADAPTER.instruments("spot", listing("spot", row))
    assert (found.symbol, found.settle, found.size_step, found.active) == ("BTC/BRL", None, "0.000001", False)


@pytest.mark.parametrize(
    "broken",
    [
        {"symbol": 5},
        {"baseCoin": ""},
        {"settleCoin": ""},
        {"contractType": "LinearOption"},
        {"deliveryTime": "soon"},
        {"deliveryTime": "9" * 30},
        {"priceFilter": {"tickSize": "NaN"}},
        {"priceFilter": []},
    ],
)
def test_entry_that_cannot_be_read_is_left_out(broken: dict[str, object]) -> None:
    found = ADAPTER.instruments("linear", listing("linear", FUTURE | broken, PERPETUAL))
    assert [one.native_symbol for one in found] == ["BTCUSDT"]


def test_list_of_another_product_is_refused() -> None:
    with pytest.raises(ParseError) as caught:
        ADAPTER.instruments("inverse", listing("linear", PERPETUAL))
    assert caught.value.code == "wrong_type"


def test_pages() -> None:
    (first,) = ADAPTER.instrument_requests("linear", ADAPTER.products["linear"])
    assert first.url == "https://api.bybit.com/v5/market/instruments-info?category=linear&limit=1000"
    second = ADAPTER.next_page("linear", first, listing("linear", PERPETUAL, cursor="first%3DA%26last%3DB"))
    assert second == Request(f"{first.url}&cursor=first%3DA%26last%3DB")
    assert second is not None
    third = ADAPTER.next_page("linear", second, listing("linear", FUTURE, cursor="a b&c"))
    assert third == Request(f"{first.url}&cursor=a%20b%26c")
    assert third is not None
    assert ADAPTER.next_page("linear", third, listing("linear")) is None


def test_cursor_that_does_not_move_ends_the_list() -> None:
    request = Request("https://api.bybit.com/v5/market/instruments-info?category=linear&limit=1000&cursor=same")
    assert ADAPTER.next_page("linear", request, listing("linear", cursor="same")) is None


def test_refused_list_says_why() -> None:
    with pytest.raises(ParseError, match="10006 Too many visits!"):
        ADAPTER.instruments("linear", b'{"retCode":10006,"retMsg":"Too many visits!","result":{}}')
