#!/usr/bin/env python3
"""Passwords of this installation, made at its first start and never again: ``first_start.py DIRECTORY``.

Writes ``amqp-url`` (what the stages connect with) and ``operator-password`` (for RabbitMQ's pages), which only their
owner may read, and ``definitions.json``, which tells RabbitMQ of both users and holds salted hashes alone. Removing
the files and starting anew changes the passwords.
"""

import base64
import hashlib
import json
import secrets
import sys
from pathlib import Path

HOST = "rabbitmq:5672"
VHOST = "tidegate"
STAGES = "tidegate"
OPERATOR = "operator"


def main(directory: Path) -> None:
    """Make what is missing; the address comes last, so that it is never there without the rest."""
    url = directory / "amqp-url"
    if url.exists():
        return
    stages, operator = secrets.token_urlsafe(32), secrets.token_urlsafe(16)
    write(directory / "definitions.json", json.dumps(definitions(stages, operator), indent=1) + "\n", mode=0o444)
    write(directory / "operator-password", f"{operator}\n", mode=0o400)
    write(url, f"amqp://{STAGES}:{stages}@{HOST}/{VHOST}\n", mode=0o400)
    sys.stderr.write(f"passwords were made; RabbitMQ's pages know the user {OPERATOR!r} (see .env.example)\n")


def definitions(stages: str, operator: str) -> dict[str, list[dict[str, object]]]:
    """The stages may do anything in their own virtual host, the operator may only look."""
    return {
        "vhosts": [{"name": VHOST}],
        "users": [user(STAGES, stages, []), user(OPERATOR, operator, ["monitoring"])],
        "permissions": [permissions(STAGES, ".*", ".*"), permissions(OPERATOR, "^$", ".*")],
    }


def user(name: str, password: str, tags: list[str]) -> dict[str, object]:
    """A user as RabbitMQ imports it."""
    return {
        "name": name,
        "password_hash": hashed(password),
        "hashing_algorithm": "rabbit_password_hashing_sha256",
        "tags": tags,
    }


def permissions(name: str, change: str, read: str) -> dict[str, object]:
    """What of the virtual host a user may change and read, by name."""
    return {"user": name, "vhost": VHOST, "configure": change, "write": change, "read": read}


def hashed(password: str) -> str:
    """RabbitMQ's ``rabbit_password_hashing_sha256``: a salt of four bytes, then the hash of salt and password."""
    salt = secrets.token_bytes(4)
    return base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()


def write(path: Path, text: str, *, mode: int) -> None:
    """All of it or nothing, and never readable by more than it should be."""
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600)
    unfinished.write_text(text, encoding="utf-8")
    unfinished.chmod(mode)
    unfinished.replace(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
