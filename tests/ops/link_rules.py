"""How dashboards lead to each other: to one that exists, with the time and everything that is chosen."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["kept", "leads"]


def kept(dashboard: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the links on top of a page."""
    links = dashboard.get("links", [])
    if not [one for one in links if one["type"] == "dashboards" and "tidegate" in one["tags"]]:
        yield "to the other dashboards is missing"
    for one in links:
        if not (one.get("includeVars") and one.get("keepTime")):
            yield f"{one['title']} loses variables or time"


def leads(panel: dict[str, Any], variables: Sequence[str], uids: set[str]) -> Iterator[str]:
    """What is wrong with the links of a panel and of its values."""
    defaults = panel.get("fieldConfig", {}).get("defaults", {})
    for one in (*panel.get("links", []), *defaults.get("links", [])):
        url = one["url"]
        target = re.match(r"/d/([\w-]+)\?", url)
        if target is None or target[1] not in uids:
            yield f"link {url} leads nowhere"
        if "${__url_time_range}" not in url:
            yield f"link {one['title']} loses the time"
        for name in variables:
            if not ("${__all_variables}" in url or f"${{{name}:queryparam}}" in url or f"var-{name}=" in url):
                yield f"link {one['title']} loses {name}"
