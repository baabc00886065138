"""The process of a RabbitMQ node out of a container image, instead of from the installed ``rabbitmq-server``.

The container has the network, the user and the node's directory of the host, the directory under the same name: to
clients, to signals and to what is on disk the node is one that was started here.
"""

import os
import secrets
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

__all__ = ["IMAGE", "Container", "LocalRabbitError"]

IMAGE: Final = "RABBITMQ_IMAGE"
"""The environment variable that names the image."""

PORTS: Final = "--env=ERL_MAX_PORTS=65536"
"""Erlang reserves memory by the limit of open files, which some engines leave near infinity."""


class LocalRabbitError(RuntimeError):
    """There is no RabbitMQ to start, or it was started and did not do what was asked; the text says what to do."""


class Container:
    """A container's name, and the commands that start, enter and remove it."""

    def __init__(self, image: str) -> None:
        self._image = image
        self._name = f"tidegate-rabbit-{secrets.token_hex(4)}"
        self.remove: Final = f"docker rm --force --volumes {self._name}"
        """For a shell: kill what runs in it, and leave nothing behind."""

    def provide(self) -> None:
        """Have the image here, however long that takes; raises LocalRabbitError."""
        try:
            _docker("image", "inspect", self._image)
        except LocalRabbitError:
            _docker("pull", "--quiet", self._image)

    def run(self, directory: Path, environment: Mapping[str, str]) -> list[str]:
        """The command that runs the node until it ends."""
        variables = [f"--env={name}={value}" for name, value in environment.items()]
        place = f"--volume={directory}:{directory}", f"--workdir={directory}", f"--user={os.getuid()}:{os.getgid()}"
        return [
            *("docker", "run", f"--name={self._name}", "--network=host", *place, PORTS, *variables),
            *("--entrypoint=rabbitmq-server", self._image),
        ]

    def enter(self, *command: str) -> list[str]:
        """The command that runs another one beside the node."""
        return ["docker", "exec", self._name, *command]

    def pid(self) -> int:
        """The node's process id on this machine, which leads its process group; raises LocalRabbitError."""
        return int(_docker("inspect", "--format={{.State.Pid}}", self._name))


def _docker(*arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - our own arguments
            ["docker", *arguments],  # noqa: S607 - wherever it is
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise LocalRabbitError(f"{IMAGE} takes Docker, which cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        raise LocalRabbitError(f"docker {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout
