"""Which Tidegate this is."""

from importlib import metadata

__all__ = ["version"]


def version() -> str:
    """The version of the installed distribution; ``unknown`` where the code runs from a directory of its own."""
    try:
        return metadata.version("tidegate")
    except metadata.PackageNotFoundError:
        return "unknown"
