"""What account adapters sign requests with, and how a secret is kept out of what they say."""

import hmac
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from shared.errors import ParseError

__all__ = ["asked", "harmless", "hmac_hex", "query"]

MOST: Final = 200
"""Characters of a venue's text that are repeated."""


def hmac_hex(secret: str, text: str) -> str:
    """HMAC-SHA-256 (RFC 2104) of the text's UTF-8 in lower-case hexadecimal."""
    return hmac.new(secret.encode(), text.encode(), sha256).hexdigest()


def query(parameters: Iterable[tuple[str, str]]) -> str:
    """Parameters as a query string, in their order; everything but unreserved characters is percent-encoded UTF-8."""
    return urlencode([*parameters], quote_via=quote, safe="")


def asked(url: str) -> tuple[str, Mapping[str, str]]:
    """The path and the parameters of a URL; raises ParseError(``unknown_event``) for what is no URL."""
    try:
        parts = urlsplit(url)
        return parts.path, dict(parse_qsl(parts.query, keep_blank_values=True, errors="strict"))
    except ValueError as error:
        raise ParseError("unknown_event", f"{url[:MOST]!r} is no URL of a request") from error


def harmless(text: str, *secrets: str) -> str:
    """A venue's text without the secrets that it may repeat, at most 200 characters."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text[:MOST]
