import subprocess
import sys
from pathlib import Path

import pytest

from shared.exchanges.mexc import push_pb2
from tests.support.paths import ROOT

SOURCE = "shared/exchanges/mexc/push.proto"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the compiler makes of the definitions now."""
    target = tmp_path_factory.mktemp("generated")
    command = [
        sys.executable,
        "-m",
        "grpc_tools.protoc",
        "-I.",
        f"--python_out={target}",
        f"--pyi_out={target}",
        SOURCE,
    ]
    subprocess.run(command, cwd=ROOT, check=True)
    return target


@pytest.mark.parametrize("name", ["push_pb2.py", "push_pb2.pyi"])
def test_generated_module_is_that_of_the_definitions(generated: Path, name: str) -> None:
    path = Path("shared/exchanges/mexc") / name
    assert (ROOT / path).read_text() == (generated / path).read_text(), "generate it anew: push.proto says how"


def test_wrapper_has_a_body_for_every_number_that_the_venue_gave() -> None:
    body = push_pb2.PushDataV3ApiWrapper.DESCRIPTOR.oneofs_by_name["body"]
    assert sorted(field.number for field in body.fields) == list(range(301, 316))


def test_types_stay_apart_from_the_venues_own() -> None:
    assert push_pb2.PushDataV3ApiWrapper.DESCRIPTOR.full_name == "tidegate.mexc.PushDataV3ApiWrapper"
