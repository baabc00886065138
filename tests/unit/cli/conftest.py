"""The command line in this process."""

import pytest

from services.cli.main import main
from tests.unit.cli.running import Ran, Tidegate


@pytest.fixture
def tidegate(capfdbinary: pytest.CaptureFixture[bytes]) -> Tidegate:
    """Runs a command: ``tidegate("normalize", "--exchange", …)``."""

    def run(*arguments: object) -> Ran:
        capfdbinary.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as ended:
            status = int(ended.code or 0)
        told = capfdbinary.readouterr()
        return Ran(status, told.out, told.err.decode())

    return run
