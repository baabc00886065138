"""Accounts in the settings, and where their keys come from."""

import os
from pathlib import Path

import pytest

from shared import credentials as module
from shared.accounts.base import AccountEndpoints
from shared.credentials import account_target, account_targets, credentials
from shared.errors import SettingsError
from shared.settings import Settings, load

KEY, SECRET = "planted-key", "planted-secret"


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the machine's environment or secrets, and a working directory of one's own."""
    for name in os.environ:
        if name.startswith(("TIDEGATE_", "AMQP_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "SECRETS", tmp_path / "run")
    (tmp_path / "run").mkdir()


def loaded(text: str = "[accounts.bybit.main]") -> Settings:
    file = Path("tidegate.toml")
    file.write_text(text, encoding="utf-8")
    return load(file)


def mistakes(text: str) -> dict[str, str]:
    with pytest.raises(SettingsError) as caught:
        loaded(text)
    return dict(caught.value.mistakes)


def test_an_account_has_every_product_at_its_documented_place() -> None:
    target = account_target(loaded(), "bybit", "main")
    assert (target.exchange, target.account) == ("bybit", "main")
    assert set(target.products) == {"spot", "linear", "inverse"}
    assert target.endpoints["linear"].rest == "https://api.bybit.com"


def test_products_symbols_and_places_are_settings() -> None:
    settings = loaded(
        """
        [accounts.bybit.main]
        products = ["linear"]
        symbols = ["BTC/USDT:USDT"]
        [accounts.bybit.main.endpoints.linear]
        rest = "https://api.bytick.com/"
        [accounts.bybit.other]
        enabled = false
        """
    )
    assert [target.account for target in account_targets(settings)] == ["main"]
    target = account_target(settings, "bybit", "main")
    assert (target.products, target.symbols) == (("linear",), ("BTC/USDT:USDT",))
    assert target.endpoints == {"linear": AccountEndpoints("wss://stream.bybit.com", "https://api.bytick.com")}
    with pytest.raises(SettingsError, match=r"accounts\.bybit\.other: is not enabled"):
        account_target(settings, "bybit", "other")
    with pytest.raises(
        SettingsError, match=r"accounts\.bybit\.third: there is no such account; there are: main, other"
    ):
        account_target(settings, "bybit", "third")


def test_the_simulator_takes_the_place_of_the_venue() -> None:
    settings = loaded("[simulator]\nconnect = '127.0.0.1:9400'\n[accounts.bybit.main]\nproducts = ['spot']")
    assert account_target(settings, "bybit", "main").endpoints == {
        "spot": AccountEndpoints("ws://127.0.0.1:9400/bybit/spot", "http://127.0.0.1:9400/bybit/spot")
    }


def test_names_that_there_are_none_of_are_mistakes() -> None:
    found = mistakes(
        """
        [accounts.krakken.main]
        [accounts.bybit."Not A Name"]
        [accounts.bybit.main]
        products = ["liniar"]
        [accounts.bybit.main.endpoints.futures]
        """
    )
    assert found["accounts.krakken"].startswith("is no exchange; there are binance, bybit")
    assert "accounts.bybit.Not A Name.[key]" in found
    assert found["accounts.bybit.main"].endswith("is no product; there are inverse, linear, spot")


def test_secrets_do_not_belong_into_the_settings_file() -> None:
    found = mistakes(f"[accounts.bybit.main]\nkey = '{KEY}'\nsecret = '{SECRET}'")
    assert set(found) == {"accounts.bybit.main.key", "accounts.bybit.main.secret"}
    assert KEY not in str(found)
    assert SECRET not in str(found)


def by_files(directory: Path, _: pytest.MonkeyPatch) -> str:
    (directory / "k").write_text(f"{KEY}\n")
    (directory / "s").write_text(f"  {SECRET}\r\n")
    return f"[accounts.bybit.main]\nkey_file = '{directory / 'k'}'\nsecret_file = '{directory / 's'}'"


def by_run_secrets(directory: Path, _: pytest.MonkeyPatch) -> str:
    (directory / "run" / "bybit-main-key").write_text(KEY)
    (directory / "run" / "bybit-main-secret").write_text(SECRET)
    return "[accounts.bybit.main]"


def by_variables(_: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TIDEGATE_ACCOUNT_BYBIT_MAIN_KEY", KEY)
    monkeypatch.setenv("TIDEGATE_ACCOUNT_BYBIT_MAIN_SECRET", SECRET)
    return "[accounts.bybit.main]"


def by_settings_variables(_: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TIDEGATE_ACCOUNTS__BYBIT__MAIN__KEY", KEY)
    monkeypatch.setenv("TIDEGATE_ACCOUNTS__BYBIT__MAIN__SECRET", SECRET)
    return "[accounts.bybit.main]\nkey_file = '/nowhere'"


@pytest.mark.parametrize("given", [by_files, by_run_secrets, by_variables, by_settings_variables])
def test_keys_come_from_files_or_the_environment(
    given: "object", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(given)
    settings = loaded(given(tmp_path, monkeypatch))
    found = credentials(settings, "bybit", "main")
    assert (found.key, found.secret) == (KEY, SECRET)
    for shown in (repr(found), str(found), repr(settings), settings.model_dump_json()):
        assert KEY not in shown
        assert SECRET not in shown


def test_the_variable_of_an_account_with_a_hyphen_has_an_underscore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_ACCOUNT_BYBIT_SUB_1_KEY", KEY)
    monkeypatch.setenv("TIDEGATE_ACCOUNT_BYBIT_SUB_1_SECRET", SECRET)
    assert credentials(loaded("[accounts.bybit.sub-1]"), "bybit", "sub-1").secret == SECRET


def test_a_key_that_is_missing_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        credentials(loaded("[accounts.bybit.main]\nsecret_file = '/nowhere/s'"), "bybit", "main")
    found = dict(caught.value.mistakes)
    assert found["accounts.bybit.main.key"] == (
        f"{tmp_path / 'run' / 'bybit-main-key'} cannot be read: No such file or directory; "
        "TIDEGATE_ACCOUNT_BYBIT_MAIN_KEY is not set either"
    )
    assert found["accounts.bybit.main.secret"] == "/nowhere/s cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"two\nlines", "has characters that no key has"),
        ("schlüssel".encode(), "has characters that no key has"),
        (b"\xff\xfe", "is no UTF-8"),
        (b"x" * 100_000, "has more than 65536 bytes"),
    ],
)
def test_what_can_be_no_key_is_refused_without_being_shown(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "k").write_bytes(content)
    (tmp_path / "s").write_bytes(SECRET.encode())
    text = f"[accounts.bybit.main]\nkey_file = '{tmp_path / 'k'}'\nsecret_file = '{tmp_path / 's'}'"
    with pytest.raises(SettingsError) as caught:
        credentials(loaded(text), "bybit", "main")
    assert problem in str(caught.value)
    assert "accounts.bybit.main.key" in str(caught.value)
    assert "schl" not in str(caught.value)
