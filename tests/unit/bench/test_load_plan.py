from __future__ import annotations

import orjson
import pytest

from api_gateway.routes.context import ContextBody
from api_gateway.routes.memories import SearchBody
from api_gateway.routes.turns import TurnsBody
from shared.text.language import language_of
from tests.bench import chat
from tests.bench.phases import SESSION_TURNS, context_request, posts, search_request


def test_chats_are_the_same_for_the_same_seed_and_differ_else() -> None:
    assert chat.turns(16, seed=3) == chat.turns(16, seed=3)
    assert chat.turns(16, seed=3) != chat.turns(16, seed=5)


@pytest.mark.parametrize(("seed", "language"), [(0, "en"), (1, "zh")])
def test_every_second_chat_is_chinese(seed: int, language: str) -> None:
    said = " ".join(str(turn["content"]) for turn in chat.turns(16, seed=seed))
    assert language_of(said, fallback="") == language


def test_questions_come_in_both_languages() -> None:
    assert {language_of(query, fallback="") for query in chat.questions(8, seed=0)} == {"en", "zh"}


@pytest.mark.parametrize(("count", "batch"), [(40, 1), (40, 10), (250, 100)])
def test_every_turn_is_posted_once_in_bodies_that_the_gateway_takes(count: int, batch: int) -> None:
    made = posts("s", count=count, batch=batch, seed=0)
    sizes = [len(TurnsBody.model_validate_json(post.body).turns) for post in made]
    assert sum(sizes) == count
    assert set(sizes[:-1]) == {batch}


def test_sessions_have_users_of_their_own_unless_one_is_named() -> None:
    def users(user: str | None) -> set[str]:
        made = posts("s", count=3 * SESSION_TURNS, batch=1, seed=0, user=user)
        return {orjson.loads(post.body)["user_id"] for post in made}

    assert len(users(None)) == 3
    assert users("u") == {"u"}


def test_a_flush_ends_every_session() -> None:
    made = posts("s", count=2 * SESSION_TURNS, batch=SESSION_TURNS, seed=0, flush=True)
    assert [post.path.rsplit("/", 1)[1] for post in made] == ["turns", "flush"] * 2


def test_questions_are_bodies_that_the_gateway_takes() -> None:
    assert ContextBody.model_validate_json(context_request("Which code?").body).max_tokens == 2_000
    assert SearchBody.model_validate_json(search_request("哪个代码？").body).query == "哪个代码？"
