"""PromQL as the panels use it: the variables are applied and the windows chosen in one place.

A metric goes by its name without the prefix, and one that the catalogue does not hold is a KeyError: a dashboard of
names that do not exist cannot be made.
"""

from typing import Final

from shared.telemetry.declare import PREFIX, MetricDescription
from shared.telemetry.metrics import catalogue

__all__ = [
    "INSTANCE",
    "QUEUES",
    "WINDOW",
    "count",
    "events",
    "filled",
    "grown",
    "heat",
    "mean",
    "quantile",
    "quantile_of_few",
    "rate",
    "select",
]

WINDOW: Final = "[$__rate_interval]"

VARIABLES: Final = {
    "exchange": 'exchange=~"$exchange"',
    "circuit": 'circuit=~"$exchange"',
    "product": 'product=~"$product"',
    "stream": 'stream=~"(.+[.])?$product([.].+)?"',
    "symbol": 'symbol=~"$symbol"',
}
"""How a label obeys the variables. A stream is called `bybit.linear.0`: its product stands in its name."""

INSTANCE: Final = "service, instance"
"""The labels that tell one process from another."""

QUEUES: Final = 'queue=~"raw[.]market[.]$exchange[.]$product([.].+)?"'
"""The broker's queues of raw market frames, one per stream."""

DESCRIBED: Final[dict[str, MetricDescription]] = {one.name.removeprefix(PREFIX): one for one in catalogue()}
PARTS: Final = ("_bucket", "_sum", "_count")


def select(name: str, *matchers: str) -> str:
    """The series of a metric that the variables leave, and that have these labels."""
    base = name
    for part in PARTS:
        if name not in DESCRIBED:
            base = name.removesuffix(part) if name.endswith(part) else base
    obeyed = [VARIABLES[label] for label in DESCRIBED[base].labels if label in VARIABLES]
    inside = ", ".join((*obeyed, *matchers))
    return f"{PREFIX}{name}{{{inside}}}" if inside else f"{PREFIX}{name}"


def rate(name: str, by: str = "", *matchers: str) -> str:
    """A counter's growth per second, summed."""
    return f"{_sum(by)} (rate({select(name, *matchers)}{WINDOW}))"


def grown(name: str, by: str = "", *matchers: str) -> str:
    """By how much a counter grew in the time shown. One born in it counts whole, which increase() would miss.

    It was born in it when it was not there in the ten minutes before; a single moment may be a scrape that failed.
    """
    series = select(name, *matchers)
    newborn = f"({series} unless last_over_time({series}[10m] offset $__range))"
    return f"{_sum(by)} ({newborn} or increase({series}[$__range]))"


def events(name: str, by: str = "", *matchers: str) -> str:
    """By how much a counter of what is rare grew in each window: rate() would not see its first count."""
    series = select(name, *matchers)
    newborn = f"({series} unless {series} offset $__rate_interval unless {series} offset 5m)"
    return f"{_sum(by)} ({newborn} or increase({series}{WINDOW}))"


def heat(name: str, *matchers: str) -> str:
    """Observations per second by bucket, for a heatmap."""
    return rate(f"{name}_bucket", "le", *matchers)


def quantile(share: float, name: str, by: str = "", *matchers: str) -> str:
    """The quantile of a histogram."""
    labels = f"{by}, le" if by else "le"
    return f"histogram_quantile({share:g}, {rate(f'{name}_bucket', labels, *matchers)})"


def quantile_of_few(share: float, name: str) -> str:
    """The quantile of all observations in the time shown, for what happens now and then."""
    return f"histogram_quantile({share:g}, {grown(f'{name}_bucket', 'le')})"


def mean(name: str, by: str = "", *matchers: str) -> str:
    """The mean observation of a histogram."""
    return f"{rate(f'{name}_sum', by, *matchers)} / {rate(f'{name}_count', by, *matchers)}"


def count(expression: str) -> str:
    """How many series there are, 0 for none."""
    return f"count({expression}) or vector(0)"


def filled(expression: str, span: str = "15m") -> str:
    """The expression as Grafana sends it at a scrape interval of 5 s, with everything chosen and so much time shown."""
    for macro, value in ("$__rate_interval", "20s"), ("$__range", span), ("$__interval", "5s"):
        expression = expression.replace(macro, value)
    for variable in ("exchange", "product", "symbol"):
        expression = expression.replace(f"${variable}", ".*")
    return expression


def _sum(by: str) -> str:
    return f"sum by ({by})" if by else "sum"
