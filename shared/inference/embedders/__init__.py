"""Texts to unit vectors: four ways, chosen by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.domain.errors import SettingsError

if TYPE_CHECKING:
    from shared.ports import Embedder

EMBEDDERS = ("bundled", "sentence-transformers", "openai", "hashing")


def make_embedder(
    name: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    api_key: str = "",
    timeout: float = 30.0,
) -> Embedder:
    """`model` is a folder or name for sentence-transformers, a name for openai, and nothing for the others.

    Raises SettingsError for what can never work, EmbedderUnavailable when the server does not answer.
    """
    match name:
        case "bundled":
            from shared.inference.embedders.bundled import BundledEmbedder

            return BundledEmbedder()
        case "hashing":
            from shared.inference.embedders.hashing import HashingEmbedder

            return HashingEmbedder()
        case "sentence-transformers":
            from shared.inference.embedders.sentence_transformer import SentenceTransformerEmbedder

            return SentenceTransformerEmbedder(model=_required(model, embedder=name))
        case "openai":
            from shared.inference.embedders.openai_api import OpenAIEmbedder

            chosen = _required(model, embedder=name)
            return OpenAIEmbedder(model=chosen, base_url=base_url, api_key=api_key, timeout=timeout)
    raise SettingsError(f"Unknown embedder {name!r}: choose one of {', '.join(EMBEDDERS)}.")


def _required(model: str | None, *, embedder: str) -> str:
    if not model:
        raise SettingsError(f"The embedder {embedder} needs a model.")
    return model
