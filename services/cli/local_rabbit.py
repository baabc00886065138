"""A private RabbitMQ node: own name, ports, cookie and directories, so that one that already runs is left alone.

The node runs from the installed ``rabbitmq-server`` in the foreground, listens on 127.0.0.1 only and dies with the
process that started it, however that process ends. Where ``RABBITMQ_IMAGE`` names a container image, it runs from that
one: ``RABBITMQ_IMAGE=rabbitmq:4.1-management``.
"""

import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from services.cli.rabbit_container import IMAGE, Container, LocalRabbitError

__all__ = ["LocalRabbitError", "RabbitNode", "find_server", "free_ports", "provide_server"]

# The script itself, not a distribution's wrapper around it: that changes user and directories.
SCRIPT_DIRS: Final = (
    "/usr/lib/rabbitmq/bin",
    "/opt/rabbitmq/sbin",
    "/opt/homebrew/sbin",
    "/usr/local/sbin",
)
NODE_NAME: Final = "tidegate@localhost"
# Below what systems hand out to outgoing connections: a node that is down keeps its ports.
PORTS: Final = range(20_000, 32_000)
POLL_SECONDS: Final = 0.05
CLAIMS: Final = 256
"""Ports that a process holds claims to: the last ones, for the first ones are in use or done with."""

_claims: Final[deque[int]] = deque()
"""File descriptors."""


def find_server() -> Path:
    """Return the directory of RabbitMQ's own scripts (``rabbitmq-server``, ``rabbitmqctl``)."""
    for directory in SCRIPT_DIRS:
        if Path(directory, "rabbitmq-server").is_file():
            return Path(directory)
    raise LocalRabbitError(
        "no rabbitmq-server in " + ", ".join(SCRIPT_DIRS) + ": install it (Debian, Ubuntu: apt-get install "
        "rabbitmq-server; macOS: brew install rabbitmq), or name a container image in RABBITMQ_IMAGE, or set AMQP_URL "
        "to a broker that runs"
    )


def provide_server() -> None:
    """Have what a node starts from, an image that is named is fetched; raises LocalRabbitError without any."""
    if (container := _container()) is None:
        find_server()
    else:
        container.provide()


class RabbitNode:
    """One private node; ``start`` and ``stop`` may alternate, the data stays until ``close``.

    ``directory`` holds everything the node writes; without one it is temporary and removed by ``close``.
    ``settings`` are lines of rabbitmq.conf, ``prometheus`` serves metrics on ``prometheus_port``.
    All methods block; from a coroutine call them through ``asyncio.to_thread``.
    """

    def __init__(
        self,
        directory: Path | None = None,
        *,
        settings: Sequence[str] = (),
        prometheus: bool = False,
    ) -> None:
        self._temporary = directory is None
        self.directory = Path(tempfile.mkdtemp(prefix="tidegate-rabbit-")) if directory is None else directory
        self.port, self.prometheus_port, self._dist_port, self._epmd_port = free_ports(4)
        self._settings = settings
        self._prometheus = prometheus
        self._container = _container()
        self._epmd: _Guarded | None = None
        self._node: _Guarded | None = None

    @property
    def url(self) -> str:
        """AMQP URL of the default virtual host."""
        return self.url_of("")

    def url_of(self, vhost: str) -> str:
        """AMQP URL of a virtual host whose name needs no escaping."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}/{vhost}"

    @property
    def log(self) -> Path:
        """The file that the node's output goes to."""
        return self.directory / "node.log"

    @property
    def pid(self) -> int:
        """Process id of the node, which is the leader of its process group."""
        return self._running_node().leader

    @property
    def running(self) -> bool:
        """Whether there is a process of the node, paused or not."""
        return self._node is not None and self._node.process.poll() is None

    def start(self, timeout: float = 60.0) -> Self:
        """Start the node and wait until it answers; after ``kill`` or ``stop`` it comes back with its data."""
        if self.running:
            return self
        provide_server()
        self._prepare()
        self._release()
        self._node = node = self._launch()
        deadline = time.monotonic() + timeout
        while not _answers(self.port):
            if node.ended_within(POLL_SECONDS):
                raise LocalRabbitError(f"RabbitMQ ended while it started; {self._excerpt()}")
            if time.monotonic() > deadline:
                self.kill()
                raise LocalRabbitError(f"RabbitMQ did not answer in {timeout:g} s; {self._excerpt()}")
        if self._container is not None:
            node.leader = self._container.pid()
        return self

    def stop(self, timeout: float = 30.0) -> None:
        """Shut the node down in order; kill it when it does not follow."""
        if self._node is not None and self.running:
            self._node.signal(signal.SIGCONT)
            self._node.signal(signal.SIGTERM)
            self._node.ended_within(timeout)
        self._release()

    def kill(self) -> None:
        """``kill -9``: no goodbye to the clients, nothing flushed."""
        self._release()

    def pause(self) -> None:
        """Freeze the node (SIGSTOP): connections stay open and silent."""
        self._running_node().signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused node go on."""
        self._running_node().signal(signal.SIGCONT)

    def ctl(self, *arguments: str, timeout: float = 60.0) -> str:
        """Run ``rabbitmqctl`` (about a second each) and return what it printed."""
        if self._container is None:
            command, environment = [str(find_server() / "rabbitmqctl")], self._environment()
        else:
            command, environment = self._container.enter("rabbitmqctl"), None
        done = subprocess.run(
            [*command, "--quiet", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if done.returncode != 0:
            raise LocalRabbitError(f"rabbitmqctl {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def memory_alarm(self, *, on: bool) -> None:
        """Raise or clear the memory alarm: while it is on, connections that publish are blocked."""
        self.ctl("set_vm_memory_high_watermark", "0.0001" if on else "0.6")

    def close(self) -> None:
        """Stop the node for good and remove its directory when that was temporary."""
        if self._temporary:
            self.kill()
        else:
            self.stop()
        if self._epmd is not None:
            self._epmd.kill()
            self._epmd = None
        if self._temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def _launch(self) -> "_Guarded":
        if self._container is not None:
            command = self._container.run(self.directory, self._variables())
            return _Guarded(command, None, self.log, self._container.remove)
        if self._epmd is None or self._epmd.process.poll() is not None:
            epmd = ["epmd", "-port", str(self._epmd_port), "-address", "127.0.0.1"]
            self._epmd = _Guarded(epmd, self._environment(), self.directory / "epmd.log")
        return _Guarded([str(find_server() / "rabbitmq-server")], self._environment(), self.log)

    def _running_node(self) -> "_Guarded":
        if self._node is None or not self.running:
            raise LocalRabbitError("the private RabbitMQ node does not run")
        return self._node

    def _release(self) -> None:
        if self._node is not None:
            self._node.kill()
            self._node = None

    def _excerpt(self) -> str:
        """What the log says, for a message: the first errors, or else its end."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join([f"{self.log} says:", *([line for line in lines if "[error]" in line] or lines[-10:])[:10]])

    def _prepare(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        cookie = self.directory / ".erlang.cookie"
        if not cookie.exists():
            cookie.touch(mode=0o600)
            cookie.write_text(f"{random.SystemRandom().getrandbits(128):032X}")
        (self.directory / "env.conf").touch()
        plugins = "[rabbitmq_prometheus]." if self._prometheus else "[]."
        (self.directory / "enabled_plugins").write_text(plugins + "\n")
        lines = [f"listeners.tcp.1 = 127.0.0.1:{self.port}", *self._settings]
        if self._prometheus:
            lines += ["prometheus.tcp.ip = 127.0.0.1", f"prometheus.tcp.port = {self.prometheus_port}"]
        (self.directory / "rabbitmq.conf").write_text("\n".join(lines) + "\n")

    def _environment(self) -> dict[str, str]:
        foreign = ("RABBITMQ_", "ERL_", "NOTIFY_SOCKET")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        return inherited | self._variables()

    def _variables(self) -> dict[str, str]:
        at = str(self.directory)
        return {
            "HOME": at,
            "LC_ALL": "C.UTF-8",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._epmd_port),
            # The script becomes the node instead of its parent, so that signals and the wait for its end are exact.
            "RUNNING_UNDER_SYSTEMD": "true",
            "RABBITMQ_NODENAME": NODE_NAME,
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._dist_port),
            "RABBITMQ_MNESIA_BASE": f"{at}/data",
            "RABBITMQ_GENERATED_CONFIG_DIR": f"{at}/config",
            "RABBITMQ_LOG_BASE": f"{at}/log",
            "RABBITMQ_CONFIG_FILE": f"{at}/rabbitmq.conf",
            "RABBITMQ_CONF_ENV_FILE": f"{at}/env.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{at}/enabled_plugins",
            # Schedulers that spin for work would take the processor from the clients on the same machine.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1} "
            "+sbwt none +sbwtdcpu none +sbwtdio none",
        }


class _Guarded:
    """A process group that a guard kills when this process is gone: the guard waits for the end of its input.

    ``end``: what the guard does as well. ``leader``: of the process group that signals are for.
    """

    GUARD: Final = 'read -r _; kill -s KILL -- "-$0"'

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str] | None, log: Path, end: str = ":"
    ) -> None:
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                command,
                cwd=log.parent,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.leader = self.process.pid
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", f"{self.GUARD}; {end}", str(self.process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def signal(self, number: signal.Signals) -> None:
        os.killpg(self.leader, number)

    def ended_within(self, seconds: float) -> bool:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        self._guard.communicate()
        self.process.wait()


def _container() -> Container | None:
    image = os.environ.get(IMAGE)
    return Container(image) if image else None


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on, and that no other process gets from here while this one runs."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        if _is_free(port) and _claim(port):
            found.append(port)
        if len(found) == count:
            return found
    raise LocalRabbitError(f"fewer than {count} free ports were found in {PORTS.start}-{PORTS.stop - 1}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _claim(port: int) -> bool:
    """Hold the UDP port of the number, which nobody sends to: that ends with the process, however it ends."""
    claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        claim.bind(("127.0.0.1", port))
    except OSError:
        claim.close()
        return False
    _claims.append(claim.detach())
    if len(_claims) > CLAIMS:
        os.close(_claims.popleft())
    return True


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
