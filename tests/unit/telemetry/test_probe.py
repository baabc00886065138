import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shared.telemetry import probe


@contextmanager
def answering(answer: bytes, *, then_wait: bool = False) -> Iterator[str]:
    """A server that says one thing; the URL to ask."""
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)
                if then_wait:
                    done.wait(10)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/readyz"
        done.set()
        thread.join()


def test_ready() -> None:
    with answering(b"HTTP/1.1 200 OK\r\n\r\n{}") as url:
        assert probe.main([url]) == 0


def test_not_ready_tells_why(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(b'HTTP/1.1 503 Service Unavailable\r\n\r\n{"failing": {"broker": "gone"}}') as url:
        assert probe.main([url]) == 1
    captured = capsys.readouterr()
    assert captured.err == f'{url}: status was 503: {{"failing": {{"broker": "gone"}}}}\n'
    assert captured.out == ""


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert probe.main([f"http://127.0.0.1:{port}/readyz"]) == 1


def test_a_silent_server_is_given_up_on() -> None:
    with answering(b"HTTP/1.1 200 OK\r\n", then_wait=True) as url, pytest.raises(TimeoutError):
        probe.fetch(url, deadline_s=0.1)


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 fine\r\n\r\n", b"HTTP/1.1"])
def test_no_http(answer: bytes) -> None:
    with answering(answer) as url:
        assert probe.main([url]) == 1


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["https://h/"], ["h:1/x"], ["http:///x"], ["http://h:x/"]])
def test_usage(arguments: list[str]) -> None:
    assert probe.main(arguments) == 2


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://127.0.0.1:9100/readyz", ("127.0.0.1", 9100, "/readyz")),
        ("http://localhost", ("localhost", 80, "/")),
        ("http://[::1]:9100/livez", ("::1", 9100, "/livez")),
        ("http://[::1]/livez", ("::1", 80, "/livez")),
    ],
)
def test_parse(url: str, parts: tuple[str, int, str]) -> None:
    assert probe.parse(url) == parts


def test_it_imports_nothing_that_takes_long() -> None:
    code = "import sys; old = set(sys.modules); import shared.telemetry.probe; print(*set(sys.modules) - old)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=60)
    loaded = set(result.stdout.split())
    assert "shared.telemetry.probe" in loaded
    heavy = {"asyncio", "ssl", "http.client", "urllib.request", "prometheus_client", "logging", "msgspec", "json", "re"}
    assert not loaded & heavy


def test_as_a_command() -> None:
    with answering(b"HTTP/1.1 204 No Content\r\n\r\n") as url:
        result = subprocess.run(
            [sys.executable, "-m", "shared.telemetry.probe", url],
            capture_output=True,
            check=False,
            text=True,
            timeout=60,
        )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
