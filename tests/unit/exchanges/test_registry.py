import subprocess
import sys

import pytest

from shared.errors import TidegateError
from shared.exchanges import EXCHANGES, UnknownExchange, adapter
from shared.exchanges.accounts import ACCOUNT_EXCHANGES, account_adapter
from tests.support.paths import ROOT


def test_names_are_listed() -> None:
    assert list(EXCHANGES) == ["binance", "bybit", "mexc"]
    assert len(EXCHANGES) == 3
    assert "bybit" in EXCHANGES
    assert "nosuch" not in EXCHANGES


def test_adapter_by_name() -> None:
    bybit = adapter("bybit")
    assert bybit.name == "bybit"
    assert bybit is EXCHANGES["bybit"]


def test_unknown_name_lists_those_that_there_are() -> None:
    with pytest.raises(UnknownExchange) as caught:
        adapter("nosuch")
    assert str(caught.value) == "'nosuch' is no exchange; binance, bybit, mexc are"
    assert isinstance(caught.value, TidegateError)
    assert isinstance(caught.value, KeyError)
    assert EXCHANGES.get("nosuch") is None


def test_naming_exchanges_imports_none() -> None:
    code = (
        "import sys; from shared.exchanges import EXCHANGES, adapter; list(EXCHANGES); adapter('bybit');"
        "print(sorted(name for name in sys.modules if name in {f'shared.exchanges.{one}' for one in EXCHANGES}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.strip() == "['shared.exchanges.bybit']"


def test_accounts_are_listed_and_found_by_name() -> None:
    assert {"binance", "bybit"} <= set(ACCOUNT_EXCHANGES)
    assert set(ACCOUNT_EXCHANGES) <= set(EXCHANGES)
    for name in ACCOUNT_EXCHANGES:
        assert account_adapter(name).name == name
        assert set(account_adapter(name).products) <= set(adapter(name).products)
    with pytest.raises(UnknownExchange, match="'nosuch' is no exchange; binance, bybit"):
        account_adapter("nosuch")


def test_naming_account_adapters_imports_none() -> None:
    code = (
        "import sys; from shared.exchanges.accounts import ACCOUNT_EXCHANGES; list(ACCOUNT_EXCHANGES);"
        "print([name for name in sys.modules if name.endswith('.account')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.strip() == "[]"
