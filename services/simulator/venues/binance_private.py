"""Binance: what both products share of their private side: signatures, weights, lists, the words for an order."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

from typing_extensions import override

from services.simulator.accounts.account import Account
from services.simulator.accounts.keyring import Checked, Keyring
from services.simulator.accounts.limits import Budget
from services.simulator.accounts.records import OrderRecord
from services.simulator.session import RestReply
from services.simulator.settings import SimulatorSettings
from services.simulator.topics import encode_json, ms
from services.simulator.venues.private import HttpRequest, Markets, PrivateVenue

__all__ = [
    "BinancePrivate",
    "Parameters",
    "Problem",
    "answered",
    "integer",
    "limit_of",
    "mandatory",
    "problem_of",
    "side",
    "slice_of",
    "status",
    "window_of",
]

MINUTE_NS = 60_000_000_000
LATEST_MS = 1000
MOST_WINDOW_MS = 60_000
STATUS = {
    "new": "NEW",
    "partially_filled": "PARTIALLY_FILLED",
    "filled": "FILLED",
    "canceled": "CANCELED",
    "rejected": "REJECTED",
    "expired": "EXPIRED",
}
Parameters = dict[str, str]
Item = TypeVar("Item")


class Problem(Exception):
    """A refusal with the venue's code, and the HTTP status it comes with."""

    def __init__(self, code: int, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.code = code
        self.status = status

    @property
    def reply(self) -> RestReply:
        """The refusal as an answer."""
        return RestReply(self.status, encode_json({"code": self.code, "msg": str(self)}))


def answered(make: Callable[[], object]) -> RestReply:
    """What this makes, or its refusal."""
    try:
        return RestReply(200, encode_json(make()))
    except Problem as problem:
        return problem.reply


def side(*, buy: bool) -> str:
    """The venue's word."""
    return "BUY" if buy else "SELL"


def status(one: OrderRecord) -> str:
    """The venue's word; an order that would have met its own account's says so."""
    return "EXPIRED_IN_MATCH" if one.cause == "self_match" else STATUS[one.status]


def mandatory(parameters: Parameters, name: str) -> str:
    """A parameter that must be there."""
    value = parameters.get(name, "")
    if not value:
        raise Problem(-1102, f"Mandatory parameter '{name}' was not sent, was empty/null, or malformed.")
    return value


def integer(parameters: Parameters, name: str) -> int | None:
    """A whole number, None where it was not sent."""
    text = parameters.get(name)
    if text is None:
        return None
    if not text.isdecimal():
        raise Problem(-1100, f"Illegal characters found in parameter '{name}'; legal range is '^[0-9]{{1,20}}$'.")
    return int(text)


def limit_of(parameters: Parameters) -> int:
    """500 unless said otherwise, 1000 at most."""
    return min(max(1, integer(parameters, "limit") or 500), 1000)


def window_of(parameters: Parameters, most_ms: int, text: str) -> tuple[int, int] | None:
    """First and last millisecond; None where neither was sent."""
    start, end = integer(parameters, "startTime"), integer(parameters, "endTime")
    if start is None and end is None:
        return None
    if start is None:
        return (end or 0) - most_ms, end or 0
    if end is None:
        return start, start + most_ms
    if not 0 <= end - start <= most_ms:
        raise Problem(-1127, text)
    return start, end


def slice_of(items: Sequence[Item], parameters: Parameters, *, oldest: bool) -> Sequence[Item]:
    """In ascending order: the oldest where a beginning was named, else the newest."""
    limit = limit_of(parameters)
    return items[:limit] if oldest else items[-limit:]


def problem_of(given: Parameters, now_ns: int) -> Problem | None:
    """What is wrong with the time of a signed request."""
    try:
        stamp, window = integer(given, "timestamp"), integer(given, "recvWindow")
        mandatory(given, "timestamp")
        mandatory(given, "signature")
    except Problem as problem:
        return problem
    if window is not None and not 0 < window <= MOST_WINDOW_MS:
        return Problem(-1131, "recvWindow must be less than 60000.")
    now_ms, sent = ms(now_ns), stamp or 0
    if sent >= now_ms + LATEST_MS:
        return Problem(-1021, f"Timestamp for this request was {sent - now_ms}ms ahead of the server's time.")
    if now_ms - sent > (5000 if window is None else window):
        return Problem(-1021, "Timestamp for this request is outside of the recvWindow.")
    return None


class BinancePrivate(PrivateVenue):
    """Signed REST: the query as it was sent, then the body, without the signature; weights by minute."""

    exchange = "binance"
    weight_limit = 0
    unsigned: frozenset[str] = frozenset()
    """Paths that want the key alone."""

    def __init__(self, keyring: Keyring, markets: Markets, settings: SimulatorSettings) -> None:
        super().__init__(keyring, markets, settings)
        self._budget = Budget(self.scaled(self.weight_limit), MINUTE_NS)

    @override
    def key(self, request: HttpRequest) -> str:
        return request.header("X-MBX-APIKEY")

    @override
    def check(self, request: HttpRequest, now_ns: int) -> Checked | RestReply:
        key = self.key(request)
        if request.path in self.unsigned:
            checked = self.keyring.check_key(self.exchange, self.wallet, key)
        else:
            problem = problem_of(request.parameters, now_ns)
            if problem is not None:
                return problem.reply
            signed = "".join(_unsigned(text) for text in (request.query, request.body))
            checked = self.keyring.check(self.exchange, self.wallet, key, signed, request.parameters["signature"])
        if checked.problem == "key":
            return Problem(-2015, "Invalid API-key, IP, or permissions for action.", 401).reply
        if checked.problem:
            return Problem(-1022, "Signature for this request is not valid.").reply
        return checked

    @override
    def limited(self, account: Account, request: HttpRequest, now_ns: int) -> RestReply | None:
        if self._budget.take(account.name, self.weight(request), now_ns) >= 0:
            return None
        wait_s = max(1, (self._budget.ends_ns(account.name) - now_ns) // 10**9)
        text = f"Too much request weight used; current limit is {self._budget.limit} request weight per 1 MINUTE."
        headers = {"Retry-After": str(wait_s), **self.headers(account, request)}
        return RestReply(429, encode_json({"code": -1003, "msg": text}), headers)

    @override
    def headers(self, account: Account, request: HttpRequest) -> dict[str, str]:
        del request
        return {"X-MBX-USED-WEIGHT-1M": str(self._budget.used(account.name))}

    @abstractmethod
    def weight(self, request: HttpRequest) -> int:
        """What a request costs."""


def _unsigned(text: str) -> str:
    return "&".join(one for one in text.split("&") if not one.startswith("signature="))
