"""Random passwords of the embedded servers, kept in one file that only its owner can read."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from infra.embedded.process import EmbeddedError

_PASSWORD_BYTES = 24


def _random() -> str:
    return secrets.token_urlsafe(_PASSWORD_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passwords:
    """One secret per login; all are URL-safe, so they stand in a URL as they are."""

    superuser: str = field(repr=False, default_factory=_random)
    migration: str = field(repr=False, default_factory=_random)
    app: str = field(repr=False, default_factory=_random)
    dispatch: str = field(repr=False, default_factory=_random)
    broker: str = field(repr=False, default_factory=_random)
    vectors: str = field(repr=False, default_factory=_random)


def keep_passwords(path: Path, *, servers: Path) -> Passwords:
    """The passwords in the file, made on the first start: while `servers`, where they are set, is missing."""
    if path.exists():
        return _read(path)
    if servers.exists():
        raise EmbeddedError(
            f"The passwords of this data directory are gone; restore {path} or choose another directory."
        )
    passwords = Passwords()
    _write(path, passwords)
    return passwords


def _read(path: Path) -> Passwords:
    try:
        stored = json.loads(path.read_bytes())
        return Passwords(**{part.name: str(stored[part.name]) for part in fields(Passwords)})
    except (ValueError, KeyError, TypeError) as error:
        raise EmbeddedError(
            f"The passwords in {path} cannot be read; restore that file or choose another data directory."
        ) from error


def _write(path: Path, passwords: Passwords) -> None:
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(asdict(passwords), file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
