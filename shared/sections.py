"""What every section of the settings is made of."""

from collections.abc import Mapping
from typing import Any

from pydantic import AfterValidator, BaseModel, ConfigDict

__all__ = ["Section", "items", "url"]


class Section(BaseModel):
    """Unknown names are mistakes, and nothing changes once it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def url(*schemes: str) -> AfterValidator:
    """A URL of one of these schemes, kept without a trailing slash."""

    def check(value: str) -> str:
        if not value.startswith(tuple(f"{scheme}://" for scheme in schemes)):
            raise ValueError(f"must start with {' or '.join(f'{scheme}://' for scheme in schemes)}")
        return value.rstrip("/")

    return AfterValidator(check)


def items(section: object) -> list[tuple[str, Any]]:
    """What a table of a settings file holds; nothing where it is none."""
    return [(str(name), value) for name, value in section.items()] if isinstance(section, Mapping) else []
