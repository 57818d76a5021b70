"""Any server with OpenAI's chat completions, asked for one JSON object."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

import stamina
from pydantic import BaseModel, Field, ValidationError

from shared.domain.errors import ModelAnswerUnusable, ModelUnavailable, SettingsError
from shared.inference.answer import Unusable, object_in, value_in
from shared.inference.breaker import Breaker
from shared.inference.endpoint import AnswerTooLarge, CallFailed, Endpoint
from shared.ports import Prompt
from shared.text.sanitize import clean_model_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2
    import openai

# JSON may write each of an answer's 256 KiB as a six-character escape, and has its own words around.
_MAX_BODY_BYTES = 2 * 1024 * 1024
_SHOWN_AGAIN_CHARACTERS = 4_000
_LONGEST_WAIT = 1.0
# Its hooks log the arguments of what is called: only calls without any may go through it.
_RETRYING = stamina.RetryingCaller(attempts=4, timeout=None, wait_max=_LONGEST_WAIT, wait_jitter=0.5)
# With less time than this left there is no use in asking again.
_SHORTEST_CALL = 0.5
_REQUEST_REFUSED = frozenset({400, 413, 422})
_FORMAT_UNKNOWN = frozenset({400, 404, 415, 422, 500, 501})

_PROBE = Prompt(
    name="probe",
    system="You answer with JSON.",
    user='Answer with exactly this JSON object: {"ok": true}',
    schema={
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": False,
    },
)


class AnswerMode(StrEnum):
    """How a server is told to answer with JSON; servers differ in what they know."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    PROMPT = "prompt"


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None

    def object(self, *, schema: Mapping[str, object]) -> dict[str, object]:
        if self.finish_reason == "length":
            raise Unusable("it was cut off: it must be shorter")
        return object_in(self.message.content or "", schema=schema)


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)


_TOO_LARGE = _Choice(message=_Message(), finish_reason="length")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    prompt: Prompt
    mode: AnswerMode
    ends: float

    def left(self) -> float:
        return self.ends - monotonic()

    def messages(self) -> list[dict[str, str]]:
        system = self.prompt.system
        if self.mode is not AnswerMode.JSON_SCHEMA:
            schema = json.dumps(self.prompt.schema, ensure_ascii=False)
            system += (
                f"\n\nAnswer with one JSON object that fits this JSON Schema, and nothing else:\n{schema}"
            )
        return [{"role": "system", "content": system}, {"role": "user", "content": self.prompt.user}]

    def response_format(self) -> dict[str, object]:
        if self.mode is AnswerMode.JSON_SCHEMA:
            wanted = {"name": self.prompt.name, "schema": self.prompt.schema, "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": wanted}}
        if self.mode is AnswerMode.JSON_OBJECT:
            return {"response_format": {"type": "json_object"}}
        return {}


def make_chat(
    model: str,
    *,
    base_url: str | None = None,
    api_key: str = "",
    mode: str = "auto",
) -> OpenAIChat:
    """`mode` is "auto" or one of AnswerMode. Raises SettingsError for another."""
    if mode not in ("auto", *AnswerMode):
        raise SettingsError(f"Unknown answer mode {mode!r}: choose auto, {', '.join(AnswerMode)}.")
    return OpenAIChat(
        Endpoint(base_url=base_url, api_key=api_key, max_bytes=_MAX_BODY_BYTES),
        model=model,
        mode=None if mode == "auto" else AnswerMode(mode),
    )


class OpenAIChat:
    """Threads may share one. The objects fit the prompt's schema, limits on lengths and numbers aside.

    `mode` None is found by probing, in `find_mode` or with the first question. Nothing but the format is
    asked for: some models refuse another temperature than their own.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        model: str,
        mode: AnswerMode | None = None,
        breaker: Breaker | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._mode = mode
        self._model = model
        self._breaker = breaker or Breaker()
        self._finding = Lock()

    def close(self) -> None:
        self._endpoint.close()

    def complete(self, prompt: Prompt, *, deadline: float) -> Mapping[str, object]:
        ends = monotonic() + deadline
        with self._breaker.guard():
            mode = self.find_mode(deadline=deadline)
            return self._answered(_Question(prompt=prompt, mode=mode, ends=ends))

    def find_mode(self, *, deadline: float) -> AnswerMode:
        """The best mode that the server knows. Raises ModelUnavailable if it does not tell in time."""
        ends = monotonic() + deadline
        if not self._finding.acquire(timeout=deadline):
            raise ModelUnavailable("the answer mode is still being found")
        try:
            if self._mode is None:
                self._mode = next(mode for mode in AnswerMode if self._knows(mode, ends=ends))
            return self._mode
        finally:
            self._finding.release()

    def _knows(self, mode: AnswerMode, *, ends: float) -> bool:
        question = _Question(prompt=_PROBE, mode=mode, ends=ends)
        try:
            self._choice(question, messages=question.messages()).object(schema=_PROBE.schema)
        except Unusable:
            return mode is AnswerMode.PROMPT
        except CallFailed as failure:
            if mode is not AnswerMode.PROMPT and failure.status in _FORMAT_UNKNOWN:
                return False
            raise ModelUnavailable(f"{failure} {failure.said}", retry_after=failure.retry_after) from None
        return True

    def _answered(self, question: _Question) -> Mapping[str, object]:
        messages = question.messages()
        choice = self._retried(question, messages=messages)
        try:
            return choice.object(schema=question.prompt.schema)
        except Unusable as reason:
            repair = [*messages, *_repair(choice, reason=reason)]
            return self._repaired(question, messages=repair)

    def _repaired(self, question: _Question, *, messages: list[dict[str, str]]) -> Mapping[str, object]:
        if question.left() < _SHORTEST_CALL:
            raise ModelAnswerUnusable(f"{question.prompt.name}: no time left for a second try")
        choice = self._retried(question, messages=messages)
        try:
            return choice.object(schema=question.prompt.schema)
        except Unusable as reason:
            raise ModelAnswerUnusable(f"{question.prompt.name}: twice unusable, now {reason}") from None

    def _retried(self, question: _Question, *, messages: list[dict[str, str]]) -> _Choice:
        def wait_for(error: Exception) -> bool | float:
            if not isinstance(error, CallFailed) or not error.again:
                return False
            wait = _LONGEST_WAIT if error.retry_after is None else error.retry_after
            if question.left() < wait + _SHORTEST_CALL:
                return False
            return True if error.retry_after is None else error.retry_after

        try:
            return _RETRYING(wait_for, lambda: self._choice(question, messages=messages))
        except CallFailed as failure:
            if failure.status in _REQUEST_REFUSED:
                raise ModelAnswerUnusable(f"{question.prompt.name}: {failure}") from None
            raise ModelUnavailable(str(failure), retry_after=failure.retry_after) from None

    def _choice(self, question: _Question, *, messages: list[dict[str, str]]) -> _Choice:
        body = {"model": self._model, "messages": messages} | question.response_format()

        def send(client: openai.OpenAI, timeout: httpx2.Timeout) -> str:
            return client.post("/chat/completions", body=body, cast_to=str, options={"timeout": timeout})

        try:
            answer = value_in(self._endpoint.call(send, deadline=max(question.left(), 0.0)))
            return _Completion.model_validate(answer).choices[0]
        except AnswerTooLarge:
            return _TOO_LARGE
        except (Unusable, ValidationError):
            raise CallFailed("the server's answer is no chat completion", again=True) from None


def _repair(choice: _Choice, *, reason: Unusable) -> list[dict[str, str]]:
    said = clean_model_text(choice.message.content or "")[:_SHOWN_AGAIN_CHARACTERS]
    ask = f"That answer cannot be used: {reason}. Answer again, with the JSON object alone."
    return [{"role": "assistant", "content": said or "(nothing)"}, {"role": "user", "content": ask}]
