"""Settings from a file and the environment."""

import os
from pathlib import Path

import pytest

from shared.errors import SettingsError
from shared.exchanges.base import Endpoints, Feed
from shared.settings import Settings, load, secrets, targets

SECRET = "kept-quiet"


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the machine's environment, and a working directory without a file."""
    for name in os.environ:
        if name.startswith(("TIDEGATE_", "AMQP_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def written(text: str) -> Path:
    """A settings file with this text, at the default place."""
    file = Path("tidegate.toml")
    file.write_text(text, encoding="utf-8")
    return file


def mistakes(text: str = "") -> dict[str, str]:
    with pytest.raises(SettingsError) as caught:
        load(written(text))
    found = caught.value.mistakes
    assert all(path in str(caught.value) for path, _ in found)
    assert len(found) == len(dict(found))
    return dict(found)


def test_defaults_need_no_file() -> None:
    """They hold where nothing is said."""
    settings = load()
    assert settings == Settings()
    assert settings.ingest.permits == 20
    assert settings.telemetry.host == "127.0.0.1"


def test_file_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The given one, else that of ``TIDEGATE_CONFIG``, else ``tidegate.toml`` here."""
    written("[ingest]\npermits = 1")
    assert load().ingest.permits == 1
    named = tmp_path / "named.toml"
    named.write_text("[ingest]\npermits = 2", encoding="utf-8")
    monkeypatch.setenv("TIDEGATE_CONFIG", str(named))
    assert load().ingest.permits == 2
    given = tmp_path / "given.toml"
    given.write_text("[ingest]\npermits = 3", encoding="utf-8")
    assert load(given).ingest.permits == 3


def test_environment_wins_and_replaces_no_more_than_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """One field of one product, and its neighbours stay."""
    file = written(
        "[ingest]\npermits = 1\nbatch_frames = 7\n[exchanges.bybit.products.linear]\nstreams = 4\nsymbols = ['X']"
    )
    monkeypatch.setenv("TIDEGATE_INGEST__PERMITS", "9")
    monkeypatch.setenv("TIDEGATE_EXCHANGES__BYBIT__PRODUCTS__LINEAR__STREAMS", "5")
    settings = load(file)
    assert (settings.ingest.permits, settings.ingest.batch_frames) == (9, 7)
    linear = settings.exchanges["bybit"].products["linear"]
    assert (linear.streams, linear.symbols) == (5, ("X",))


def test_broker_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """``AMQP_URL`` goes before the file, Tidegate's own variable before both."""
    file = written("[broker]\nurl = 'amqp://file/'\nfirehose = false")
    assert load(file).broker.url.get_secret_value() == "amqp://file/"
    monkeypatch.setenv("AMQP_URL", "amqp://common/")
    assert load(file).broker.url.get_secret_value() == "amqp://common/"
    monkeypatch.setenv("TIDEGATE_BROKER__URL", "amqps://own/")
    settings = load(file)
    assert settings.broker.url.get_secret_value() == "amqps://own/"
    assert settings.broker.firehose is False


def test_every_mistake_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the path that leads to it, in the file and in the environment."""
    monkeypatch.setenv("TIDEGATE_INTAKE__PERMITS", "1")
    monkeypatch.setenv("TIDEGATE_TELEMETRY__PORT", "70000")
    found = mistakes(
        """
        surprise = 1
        [ingest]
        permits = 0
        batch_framez = 1
        [telemetry]
        log_level = "loud"
        [exchanges.bybit.products.linear]
        feeds = ["trade", "weather"]
        websocket = "ftp://venue.test"
        """
    )
    assert set(found) == {
        "TIDEGATE_INTAKE__PERMITS",
        "surprise",
        "ingest.permits",
        "ingest.batch_framez",
        "telemetry.log_level",
        "telemetry.port",
        "exchanges.bybit.products.linear.feeds.1",
        "exchanges.bybit.products.linear.websocket",
    }
    assert found["TIDEGATE_INTAKE__PERMITS"] == "names no setting"


def test_unknown_exchanges_and_products_are_mistakes() -> None:
    """The text says which there are."""
    found = mistakes("[exchanges.krakken]\n[exchanges.bybit.products.liniar]\n[exchanges.mexc.products.spot]")
    assert set(found) == {"exchanges.krakken", "exchanges.bybit.products.liniar"}
    assert "binance, bybit, mexc" in found["exchanges.krakken"]
    assert "inverse, linear, spot" in found["exchanges.bybit.products.liniar"]


@pytest.mark.parametrize("text", ["x = = 1", "[ingest", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")])
def test_file_that_is_no_toml(text: str) -> None:
    """The file is named."""
    assert mistakes(text)["tidegate.toml"].startswith("is no TOML: ")


def test_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was asked for must be there."""
    missing = tmp_path / "missing.toml"
    with pytest.raises(SettingsError, match=r"missing\.toml: cannot be read: No such file"):
        load(missing)
    monkeypatch.setenv("TIDEGATE_CONFIG", str(tmp_path))
    with pytest.raises(SettingsError, match="cannot be read: Is a directory"):
        load()


def test_password_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in a repr, not in a dump, not in the text of a mistake; the log filter knows it."""
    settings = load(written(f"[broker]\nurl = 'amqp://me:{SECRET}@broker/'"))
    for shown in (
        repr(settings),
        str(settings),
        repr(settings.broker),
        str(settings.model_dump()),
        settings.model_dump_json(),
    ):
        assert SECRET not in shown
    assert secrets(settings) == [SECRET]
    assert secrets(load(written("[broker]\nurl = 'amqp://broker/'"))) == []
    monkeypatch.setenv("AMQP_URL", f"http://me:{SECRET}@broker/")
    found = mistakes()
    assert found["broker.url"].endswith("must start with amqp:// or amqps://")
    assert SECRET not in str(found)


def test_targets_without_settings() -> None:
    """Every product of every venue, the majors, the documented addresses, the feeds that there are."""
    found = {(target.exchange, target.product): target for target in targets(Settings())}
    assert set(found) == {
        ("binance", "spot"),
        ("binance", "usdm"),
        ("bybit", "spot"),
        ("bybit", "linear"),
        ("bybit", "inverse"),
        ("mexc", "spot"),
        ("mexc", "futures"),
    }
    assert found["bybit", "inverse"].symbols == ("BTC/USD:BTC", "ETH/USD:ETH")
    assert found["binance", "usdm"].symbols[0] == "BTC/USDT:USDT"
    assert found["bybit", "spot"].endpoints == Endpoints("wss://stream.bybit.com", "https://api.bybit.com")
    assert Feed.LIQUIDATION not in found["bybit", "spot"].feeds
    assert {target.streams for target in found.values()} == {1}
    assert {target.exchange for target in targets(Settings(), "mexc")} == {"mexc"}


def test_targets_of_settings() -> None:
    """What is disabled is left out, what is said goes before defaults."""
    settings = load(
        written(
            """
            [exchanges.mexc]
            enabled = false
            [exchanges.bybit.products.spot]
            enabled = false
            [exchanges.bybit.products.linear]
            symbols = ["*"]
            feeds = ["trade", "funding"]
            streams = 4
            rest = "http://proxy.test:8080/"
            """
        )
    )
    (target,) = targets(settings)
    assert (target.exchange, target.product, target.symbols, target.streams) == ("bybit", "linear", ("*",), 4)
    assert target.feeds == {Feed.TRADE, Feed.FUNDING}
    assert target.endpoints == Endpoints("wss://stream.bybit.com", "http://proxy.test:8080")


def test_simulated_accounts_are_settings_and_their_secrets_stay_out_of_logs() -> None:
    settings = load(
        written(
            """
            [simulator.accounts.bybit.main]
            secret = "made up"
            balances = { USDT = "12.5" }
            """
        )
    )
    account = settings.simulator.accounts["bybit"]["main"]
    assert (account.key, account.balances) == ("", {"USDT": "12.5"})
    assert "made up" not in repr(settings)
    assert "made up" in secrets(settings)
    assert set(mistakes("[simulator.accounts.bybit.main]\nkey = 'k'")) == {"simulator.accounts.bybit.main.secret"}


def test_simulator_takes_the_place_of_venues() -> None:
    """Unless an address is given for a product."""
    settings = load(
        written(
            """
            [simulator]
            connect = "localhost:9400"
            [exchanges.bybit.products.spot]
            [exchanges.bybit.products.linear]
            websocket = "wss://venue.test"
            """
        )
    )
    found = {target.product: target.endpoints for target in targets(settings)}
    assert found["spot"] == Endpoints("ws://localhost:9400/bybit/spot", "http://localhost:9400/bybit/spot")
    assert found["linear"] == Endpoints("wss://venue.test", "http://localhost:9400/bybit/linear")


@pytest.mark.parametrize("address", ["localhost", ":9400", "localhost:", "http://localhost:9400", "a:b:1"])
def test_simulator_address(address: str) -> None:
    """It is a host and a port."""
    assert set(mistakes(f"[simulator]\nconnect = '{address}'")) == {"simulator.connect"}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("broker = 3", "broker"),
        ('[broker]\nurl = "amqp://u:p@[h/"', "broker.url"),
        ("[broker]\npublish_deadline_s = inf", "broker.publish_deadline_s"),
        ('[broker]\npublisher = "quick"', "broker.publisher"),
        ('[exchanges.bybit.products.spot]\nfeeds = ["funding"]', "exchanges.bybit.products.spot.feeds"),
        ("[exchanges.nowhere]\nenabled = true\n[ingest]\npermits = 0", "exchanges.nowhere"),
    ],
)
def test_odd_values_are_mistakes_with_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, path: str
) -> None:
    """Whatever stands in the file, and also where the environment gives the broker's address."""
    monkeypatch.setenv("AMQP_URL", "amqp://guest:guest@127.0.0.1/" if path != "broker.url" else "")
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load(file)
    assert path in {where for where, _ in caught.value.mistakes}


def test_a_variable_that_holds_no_json_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """A section as a whole must be JSON in the environment."""
    monkeypatch.setenv("TIDEGATE_EXCHANGES", "foo")
    with pytest.raises(SettingsError, match="exchanges"):
        load()


def test_secrets_are_hidden_as_they_stand_and_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A password may be percent-encoded in the URL and plain in an error."""
    monkeypatch.setenv("AMQP_URL", "amqp://user:p%40ss@127.0.0.1/")
    assert set(secrets(load())) == {"p%40ss", "p@ss"}
