"""``/metrics`` as text (Prometheus text format 0.0.4, prometheus.io/docs/instrumenting/exposition_formats)."""

from typing import Final

from prometheus_client import CollectorRegistry

from shared.telemetry.counting import Family, library_text

__all__ = ["CONTENT_TYPE", "render"]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def render(registry: CollectorRegistry) -> bytes:
    """All metrics of a registry, right now; may be called in any thread.

    Tidegate's write themselves, those of others (process, interpreter) are written by the client library.
    """
    families = registry.collect()
    return "".join(one.text() if isinstance(one, Family) else library_text(one) for one in families).encode()
