import pytest

from shared.errors import ParseError
from shared.exchanges.mexc import ADAPTER
from shared.exchanges.mexc.endpoints import depth_request, depth_symbol
from shared.instruments import InstrumentKind
from tests.unit.exchanges.mexc.answers import FUTURES_LIST, SPOT_LIST


def test_spot_list() -> None:
    bitcoin, moonlight = ADAPTER.instruments("spot", SPOT_LIST)
    assert (bitcoin.symbol, bitcoin.tick_size, bitcoin.size_step, bitcoin.active) == (
        "BTC/USDT",
        "0.01",
        "0.00000001",
        True,
    )
    assert (bitcoin.kind, bitcoin.settle, bitcoin.contract_size) == (InstrumentKind.SPOT, None, "1")
    assert (moonlight.symbol, moonlight.tick_size, moonlight.size_step, moonlight.active) == (
        "月光/USDT",
        "0.0000001",
        "1",
        False,
    )


def test_contract_list() -> None:
    linear, inverse, doge = ADAPTER.instruments("futures", FUTURES_LIST)
    assert (linear.symbol, linear.contract_size, linear.inverse, linear.active) == (
        "BTC/USDT:USDT",
        "0.0001",
        False,
        True,
    )
    assert (linear.tick_size, linear.size_step, linear.settle) == ("0.1", "1", "USDT")
    assert (inverse.symbol, inverse.contract_size, inverse.inverse, inverse.active) == (
        "BTC/USD:BTC",
        "100",
        True,
        False,
    )
    assert (inverse.tick_size, inverse.size_step, inverse.settle) == ("0.5", None, "BTC")
    assert doge.contract_size == "100"


@pytest.mark.parametrize("product", ["spot", "futures"])
@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"success":false,"code":510,"message":"too frequent"}', b'{"symbols":1}']
)
def test_list_that_is_none(product: str, body: bytes) -> None:
    with pytest.raises(ParseError):
        ADAPTER.instruments(product, body)


def test_names_alone_tell_no_instrument() -> None:
    assert ADAPTER.named("spot", "BTCUSDT") is None
    assert ADAPTER.named("futures", "BTC_USDT") is None


def test_lists_have_one_page() -> None:
    for product, endpoints in ADAPTER.products.items():
        requests = ADAPTER.instrument_requests(product, endpoints)
        assert [request.url.startswith("https://api.mexc.com/api/") for request in requests] == [True]
        assert ADAPTER.next_page(product, requests[0], b"{}") is None


@pytest.mark.parametrize(
    ("product", "symbol"), [("spot", "月光USDT"), ("spot", "BTCUSDT"), ("futures", "A&B=C/D_USDT")]
)
def test_depth_urls_name_their_instrument(product: str, symbol: str) -> None:
    url = depth_request(product, "http://127.0.0.1:9/mexc/any", symbol).url
    assert url.isascii()
    assert depth_symbol(url) == symbol


@pytest.mark.parametrize(
    "url", ["", "https://[", "https://h/api/v3/depth", "https://h/api/v3/ticker", "https://h/api/v1/contract/depth/"]
)
def test_other_urls_name_none(url: str) -> None:
    assert depth_symbol(url) is None
