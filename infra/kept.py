"""What a data directory keeps for the next start: secrets in files that only their owner can read."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


@contextmanager
def data_home(asked: Path | None) -> Iterator[Path]:
    """The directory asked for, or a temporary one. A failure leaves the temporary one, for its logs."""
    if asked is not None:
        yield asked
        return
    temporary = Path(tempfile.mkdtemp(prefix="turnkeep-")).resolve()
    with ExitStack() as exits:
        exits.callback(shutil.rmtree, temporary)
        try:
            yield temporary
        except Exception:
            exits.pop_all()
            raise


def keep_secret(path: Path, secret: str) -> str:
    """Write it whole or not at all, for its owner alone, and return it."""
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secret)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    return secret


def kept_secret(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except FileNotFoundError:
        return None
