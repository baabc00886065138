"""A private node out of the image of the Compose file does what one of the installed RabbitMQ does."""

import re
from collections.abc import Iterator

import pytest

from services.cli.local_rabbit import RabbitNode
from services.cli.rabbit_container import IMAGE
from tests.compose.engine import NoEngine, docker, engine, missing_images
from tests.support.paths import ROOT

pytestmark = pytest.mark.compose


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    found = re.findall(r"image: (rabbitmq:\S+)", (ROOT / "docker-compose.yml").read_text())[0]
    try:
        with engine():
            if missing_images({found}):
                pytest.skip(f"{found} cannot be had")
            yield found
    except NoEngine as error:
        pytest.skip(str(error))


def containers() -> set[str]:
    return set(docker("ps", "--all", "--quiet").split())


def test_it_comes_back_with_its_data_and_leaves_nothing_behind(image: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = containers()
    monkeypatch.setenv(IMAGE, image)
    with RabbitNode() as node:
        node.ctl("add_vhost", "kept")
        node.pause()
        node.resume()
        first = node.pid
        node.kill()
        assert not node.running
        node.start()
        assert node.pid != first
        assert "kept" in node.ctl("list_vhosts").split()
        node.stop()
        assert not node.running
    assert containers() <= before
