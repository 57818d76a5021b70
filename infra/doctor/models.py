"""The models: the embedder embeds, tokens are counted, the language model's server answers."""

from __future__ import annotations

from http import HTTPStatus

import httpx2

from shared import composition
from shared.domain.errors import SettingsError
from shared.settings import Settings

CALL_SECONDS = 10.0
USUAL_URL = "https://api.openai.com/v1"


def embedder(settings: Settings) -> str:
    made = composition.embedder(settings)
    (vector,) = made.passages(["ready"])
    if len(vector) != made.dimension:
        raise SettingsError(
            f"{made.name} gives {len(vector)} dimensions, not {made.dimension}; correct its model."
        )
    return f"{made.name}, {made.dimension} dimensions"


def tokens(_settings: Settings) -> str:
    return f"counted ({composition.counter().count('ready')} for “ready”)"


def chat(settings: Settings) -> str:
    """Asks for the list of models, which costs nothing."""
    chosen = settings.chat
    if chosen.model is None:
        return "none is named: rules extract and sentences are picked"
    url = (chosen.url or USUAL_URL).rstrip("/")
    key = chosen.api_key.get_secret_value() if chosen.api_key else ""
    try:
        answer = httpx2.get(f"{url}/models", headers={"Authorization": f"Bearer {key}"}, timeout=CALL_SECONDS)
    except httpx2.HTTPError as error:
        raise SettingsError(
            f"{url} does not answer ({type(error).__name__}); correct TURNKEEP_CHAT__URL or start the server."
        ) from None
    if answer.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        raise SettingsError(f"{url} refuses the key ({answer.status_code}); correct TURNKEEP_CHAT__API_KEY.")
    return f"{chosen.model} at {url}"
