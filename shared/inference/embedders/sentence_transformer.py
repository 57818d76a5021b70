"""Any sentence-transformers model: a folder, or a name that is already in the local cache."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from shared.domain.errors import SettingsError
from shared.inference.deadline import BoundedThreads
from shared.inference.embedders.timed import timed_query
from shared.text.sanitize import clean_model_text
from shared.text.vectors import unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from shared.ports import Vector

_BATCH = 32


class _Model(Protocol):
    def encode_document(self, sentences: list[str], **options: object) -> npt.NDArray[np.float32]: ...
    def encode_query(self, sentences: list[str], **options: object) -> npt.NDArray[np.float32]: ...


class SentenceTransformerEmbedder:
    """The model is loaded when one is made, on the CPU: make it in the process that uses it."""

    # Measured on all-MiniLM-L6-v2 with 1,000 pairs of English news (MSRP, development part): 33 % of the
    # restatements and 10 % of the others. Another model may need another value.
    same_text = 0.9

    def __init__(self, *, model: str) -> None:
        self.name = f"sentence-transformers:{Path(model).name}"
        self._model = _loaded(model)
        self.dimension = len(self._model.encode_query(["-"], show_progress_bar=False)[0])
        self._one_at_a_time = Lock()
        self._threads = BoundedThreads(threads=2, waiting=16, name="embed-query")

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        cleaned = [clean_model_text(text) for text in texts]
        with self._one_at_a_time:
            rows = self._model.encode_document(cleaned, batch_size=_BATCH, show_progress_bar=False)
        return [unit(row) for row in rows.tolist()]

    def query(self, text: str, *, deadline: float) -> Vector:
        return timed_query(self._threads, lambda: self._query_now(text), deadline=deadline)

    def _query_now(self, text: str) -> Vector:
        with self._one_at_a_time:
            rows = self._model.encode_query([clean_model_text(text)], show_progress_bar=False)
        return unit(rows[0].tolist())


def _loaded(model: str) -> _Model:
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise SettingsError(
            "The embedder sentence-transformers needs an extra: pip install 'turnkeep[sentence-transformers]'"
        ) from None
    try:
        loaded: _Model = SentenceTransformer(model, device="cpu")
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"The model {model} is neither a model folder nor in the local cache of models: {error}"
        ) from None
    return loaded
