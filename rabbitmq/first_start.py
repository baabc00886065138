#!/usr/bin/env python3
"""Users and passwords of this installation, made at its first start and never again: ``first_start.py DIRECTORY``.

One AMQP user for each role, with no more rights than the role needs. Writes ``<role>/amqp-url`` (what the role connects
with) and ``broker/operator-password`` (for RabbitMQ's pages), which only their owner may read, and
``broker/definitions.json``, which tells RabbitMQ of the users and holds salted hashes alone. Removing the files and
starting anew changes the passwords.
"""

import base64
import hashlib
import json
import secrets
import sys
from pathlib import Path
from typing import NamedTuple

HOST = "rabbitmq:5672"
VHOST = "tidegate"
OPERATOR = "operator"

EXCHANGES = r"raw|market|account|firehose|control|quarantine"
QUARANTINES = r"quarantine\.(market|account)"
"""Whoever starts first declares what all stages share."""

NAME = r"[\w.:-]+"


class Role(NamedTuple):
    """What of the virtual host a user may configure, write and read: alternatives of names, as regular expressions.

    Binding a queue takes writing it and reading the AMQP exchange. ``topics``: AMQP exchange to what its routing keys
    must match, where not all of them are the role's business.
    """

    configure: str
    write: str
    read: str
    topics: dict[str, str]


def ingest(plane: str) -> Role:
    """Declares raw queues and fills them; reads nothing but requests to itself."""
    raw = rf"raw\.{plane}\.{NAME}"
    own = rf"subscription\.control\.{NAME}"
    return Role(
        f"{EXCHANGES}|{QUARANTINES}|{raw}|{own}",
        f"raw|control|{QUARANTINES}|{raw}|{own}",
        f"raw|control|quarantine|{own}",
        {"raw": rf"^{plane}\."},
    )


def normalizer(plane: str, *published: str) -> Role:
    """Reads the raw queues of its plane, and what it put into quarantine; publishes what comes of them."""
    raw = rf"raw\.{plane}\.{NAME}"
    own = rf"subscription\.control\.{NAME}"
    return Role(
        rf"{EXCHANGES}|{QUARANTINES}|{raw}|{own}|normalizers\.{plane}|lock\.{raw}",
        rf"{'|'.join(published)}|quarantine|control|{QUARANTINES}|{raw}|{own}",
        rf"raw|control|quarantine|{raw}|{own}|normalizers\.{plane}|quarantine\.{plane}",
        {"raw": rf"^{plane}\."},
    )


def consumer(*exchanges: str) -> Role:
    """Binds queues of its own, with names that begin with ``consumer.`` or ``subscription.``, and declares no more."""
    readable = "|".join(exchanges)
    own = rf"consumer\.{NAME}|subscription\.({readable}|raw|control)\.{NAME}"
    return Role(own, own, f"{readable}|raw|control|{own}", {"raw": r"^market\."})


ROLES = {
    "ingest": ingest("market"),
    "normalizer": normalizer("market", "market", "firehose"),
    "ingest-account": ingest("account"),
    "normalizer-account": normalizer("account", "account"),
    "consumer": consumer("market", "firehose"),
    "account-consumer": consumer("market", "firehose", "account"),
}


def main(directory: Path) -> None:
    """Make what is missing; the definitions come last, so that they are never there without the rest."""
    ready = directory / "broker" / "definitions.json"
    if ready.exists():
        return
    passwords = {role: secrets.token_urlsafe(32) for role in ROLES}
    operator = secrets.token_urlsafe(16)
    for role, password in passwords.items():
        write(directory / role / "amqp-url", f"amqp://{role}:{password}@{HOST}/{VHOST}\n", mode=0o400)
    write(directory / "broker" / "operator-password", f"{operator}\n", mode=0o400)
    write(ready, json.dumps(definitions(passwords, operator), indent=1) + "\n", mode=0o444)
    sys.stderr.write(f"passwords were made; RabbitMQ's pages know the user {OPERATOR!r} (see .env.example)\n")


def definitions(passwords: dict[str, str], operator: str) -> dict[str, list[dict[str, object]]]:
    """What RabbitMQ imports at every start. The operator may look at its pages and at no message."""
    return {
        "vhosts": [{"name": VHOST}],
        "users": [user(role, password, []) for role, password in passwords.items()]
        + [user(OPERATOR, operator, ["monitoring"])],
        "permissions": [permissions(name, role) for name, role in ROLES.items()]
        + [{"user": OPERATOR, "vhost": VHOST, "configure": "^$", "write": "^$", "read": "^$"}],
        "topic_permissions": [
            {"user": name, "vhost": VHOST, "exchange": exchange, "write": keys, "read": keys}
            for name, role in ROLES.items()
            for exchange, keys in role.topics.items()
        ],
    }


def user(name: str, password: str, tags: list[str]) -> dict[str, object]:
    """A user as RabbitMQ imports it."""
    return {
        "name": name,
        "password_hash": hashed(password),
        "hashing_algorithm": "rabbit_password_hashing_sha256",
        "tags": tags,
    }


def permissions(name: str, role: Role) -> dict[str, object]:
    """A role's rights as RabbitMQ imports them."""
    return {
        "user": name,
        "vhost": VHOST,
        "configure": f"^({role.configure})$",
        "write": f"^({role.write})$",
        "read": f"^({role.read})$",
    }


def hashed(password: str) -> str:
    """RabbitMQ's ``rabbit_password_hashing_sha256``: a salt of four bytes, then the hash of salt and password."""
    salt = secrets.token_bytes(4)
    return base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()


def write(path: Path, text: str, *, mode: int) -> None:
    """All of it or nothing, and never readable by more than it should be."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600)
    unfinished.write_text(text, encoding="utf-8")
    unfinished.chmod(mode)
    unfinished.replace(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
