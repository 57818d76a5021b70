"""Any server with OpenAI's `/v1/embeddings`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from shared.domain.errors import EmbedderUnavailable, TextRefused
from shared.inference.endpoint import AnswerTooLarge, CallFailed, Endpoint
from shared.text.sanitize import clean_model_text
from shared.text.vectors import unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx2
    import openai

    from shared.ports import Vector

_BATCH = 32
_MAX_ANSWER_BYTES = 32 * 1024 * 1024


# Bad request, too large, cannot be processed: sent again, the same text gets the same answer.
_REFUSALS = frozenset({400, 413, 422})


class _Row(BaseModel):
    index: int
    embedding: list[float]


class _Answer(BaseModel):
    data: list[_Row]


class OpenAIEmbedder:
    """The dimension is asked of the server when one is made: that raises EmbedderUnavailable if it fails."""

    # Not measured: the model may be any. High enough that few pairs are proposed in vain.
    same_text = 0.9

    def __init__(self, *, model: str, base_url: str | None, api_key: str, timeout: float) -> None:
        self.name = f"openai:{model}"
        self._model = model
        self._timeout = timeout
        self._endpoint = Endpoint(base_url=base_url, api_key=api_key, max_bytes=_MAX_ANSWER_BYTES)
        self.dimension = 0
        try:
            self.dimension = len(self._embedded(["dimension"], deadline=timeout)[0])
        except (EmbedderUnavailable, TextRefused):
            self.close()
            raise

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        batches = (texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH))
        return [vector for batch in batches for vector in self._embedded(batch, deadline=self._timeout)]

    def query(self, text: str, *, deadline: float) -> Vector:
        return self._embedded([text], deadline=min(deadline, self._timeout))[0]

    def close(self) -> None:
        self._endpoint.close()

    def _embedded(self, texts: Sequence[str], *, deadline: float) -> list[Vector]:
        # Servers refuse an empty input, and one refused text would refuse its whole batch.
        sent = [clean_model_text(text) if text.strip() else "-" for text in texts]

        def send(client: openai.OpenAI, timeout: httpx2.Timeout) -> str:
            raw = client.embeddings.with_raw_response.create(
                model=self._model, input=sent, encoding_format="float", timeout=timeout
            )
            return str(raw.text)

        try:
            return self._checked(self._endpoint.call(send, deadline=deadline), count=len(texts))
        except CallFailed as error:
            if error.status in _REFUSALS:
                raise TextRefused(f"{self.name}: {error}") from None
            raise EmbedderUnavailable(f"{self.name}: {error}") from None
        except AnswerTooLarge as error:
            raise EmbedderUnavailable(f"{self.name}: {error}") from None

    def _checked(self, body: str, *, count: int) -> list[Vector]:
        try:
            rows = sorted(_Answer.model_validate_json(body).data, key=lambda row: row.index)
        except ValidationError:
            raise EmbedderUnavailable(f"{self.name}: the answer holds no vectors") from None
        if [row.index for row in rows] != list(range(count)):
            raise EmbedderUnavailable(f"{self.name}: {len(rows)} vectors for {count} texts")
        return [self._unit(row.embedding) for row in rows]

    def _unit(self, values: list[float]) -> Vector:
        if self.dimension not in (0, len(values)):
            raise EmbedderUnavailable(f"{self.name}: {len(values)} dimensions instead of {self.dimension}")
        try:
            return unit(values)
        except ValueError as error:
            raise EmbedderUnavailable(f"{self.name}: {error}") from None
