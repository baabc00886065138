"""``python -m services.bench NAME``: the benchmarks without the command line's logs."""

import argparse
import sys
from importlib import import_module

from services.cli.benching import NAMES
from services.cli.errors import UsageError
from shared.errors import TidegateError
from shared.settings import load
from shared.telemetry.bundle import Telemetry


def main() -> int:
    """Run one benchmark; only its own module is imported."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in NAMES:
        sys.stderr.write(f"usage: python -m services.bench {'|'.join(NAMES)} [options]\n")
        return 2
    module = import_module(f"services.bench.{name}")
    parser = argparse.ArgumentParser(prog=f"python -m services.bench {name}", description=module.HELP)
    module.add_arguments(parser)
    try:
        return int(module.run(parser.parse_args(sys.argv[2:]), load(), Telemetry()))
    except TidegateError as error:
        sys.stderr.write(f"tidegate: {error}\n")
        return 2 if isinstance(error, UsageError) else 1


if __name__ == "__main__":
    sys.exit(main())
