"""Health probe: ``python -m shared.telemetry.probe http://127.0.0.1:9100/readyz``.

Exit status 0 for an answer of 200 to 299 within the deadline, 1 for anything else, 2 for a URL that is none; what is
wrong goes to stderr. A container's health check runs it every few seconds, so it imports ``socket`` and nothing that
takes longer (``http.client`` would load TLS).
"""

import socket
import sys
from time import monotonic

DEADLINE_S = 3.0
ANSWER_LIMIT = 64 * 1024


def parse(url: str) -> tuple[str, int, str]:
    """Host, port and path of an ``http://`` URL; raises ValueError."""
    scheme, separator, rest = url.partition("://")
    authority, _, path = rest.partition("/")
    host, colon, port = authority.rpartition(":") if not authority.endswith("]") else (authority, "", "")
    if not colon:
        host, port = authority, "80"
    if scheme != "http" or not separator or not host:
        raise ValueError(f"not an http:// URL: {url!r}")
    return host.strip("[]"), int(port), f"/{path}"


def fetch(url: str, deadline_s: float = DEADLINE_S) -> tuple[int, str]:
    """Status and body of a GET request; raises OSError (TimeoutError past the deadline) and ValueError."""
    host, port, path = parse(url)
    end = monotonic() + deadline_s
    answer = b""
    with socket.create_connection((host, port), timeout=deadline_s) as connection:
        request = f"GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        while len(answer) < ANSWER_LIMIT:
            left = end - monotonic()
            if left <= 0:
                raise TimeoutError(f"no complete answer within {deadline_s} s")
            connection.settimeout(left)
            part = connection.recv(ANSWER_LIMIT)
            if not part:
                break
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    words = head.split(None, 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        raise ValueError(f"not an HTTP answer: {answer[:80]!r}")
    return int(words[1]), body.decode(errors="replace")


def main(arguments: list[str]) -> int:
    """Probe the URL given; the exit status."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m shared.telemetry.probe http://HOST:PORT/readyz\n")
        return 2
    try:
        parse(arguments[0])
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    try:
        status, body = fetch(arguments[0])
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{arguments[0]}: {error}\n")
        return 1
    if not 200 <= status < 300:
        sys.stderr.write(f"{arguments[0]}: status was {status}: {body}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
