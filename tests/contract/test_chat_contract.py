"""What the chat model keeps to over servers of every temper."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from shared.domain.errors import ModelAnswerUnusable, ModelUnavailable, SettingsError
from shared.inference.chat import AnswerMode, OpenAIChat, make_chat
from shared.ports import Prompt
from tests.fakes.model_server import CHAT, ModelServer, Reply, chat_reply, json_reply, status_reply

PROMPT = Prompt(
    name="extract",
    system="Extract facts.",
    user="我的手机是 SM-G998B，电池坏了",
    schema={
        "type": "object",
        "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
        "required": ["facts"],
        "additionalProperties": False,
    },
)
FACTS = {"facts": ["手机：SM-G998B", "battery is broken"]}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        server.respond(CHAT, lambda _: json_reply(FACTS))
        yield server


@pytest.fixture
def chat(server: ModelServer) -> Iterator[OpenAIChat]:
    model = make_chat("m", base_url=server.base_url, api_key="secret", mode="json_schema")
    yield model
    model.close()


def test_the_answer_is_the_object(server: ModelServer, chat: OpenAIChat) -> None:
    assert chat.complete(PROMPT, deadline=10) == FACTS
    (request,) = server.received
    assert request.authorization == "Bearer secret"
    assert request.body["response_format"]["json_schema"]["schema"] == PROMPT.schema
    assert [message["content"] for message in request.body["messages"]] == [PROMPT.system, PROMPT.user]


# --- modes ----------------------------------------------------------------------------------------------


def answering(modes: set[str], *, else_status: int) -> Any:
    """A server that knows these modes: by the others it fails."""

    def respond(body: dict[str, Any]) -> Reply:
        mode = body.get("response_format", {}).get("type", "prompt")
        if mode not in modes:
            return status_reply(else_status)
        return json_reply({"ok": True} if "exactly" in body["messages"][1]["content"] else FACTS)

    return respond


@pytest.mark.parametrize("status", [400, 422, 500])
@pytest.mark.parametrize(
    ("known", "found"),
    [
        ({"json_schema", "json_object", "prompt"}, AnswerMode.JSON_SCHEMA),
        ({"json_object", "prompt"}, AnswerMode.JSON_OBJECT),
        ({"prompt"}, AnswerMode.PROMPT),
    ],
)
def test_the_best_mode_that_a_server_knows_is_found(
    server: ModelServer, known: set[str], found: AnswerMode, status: int
) -> None:
    server.respond(CHAT, answering(known, else_status=status))
    chat = make_chat("m", base_url=server.base_url)
    assert chat.find_mode(deadline=10) is found
    assert chat.complete(PROMPT, deadline=10) == FACTS
    chat.close()


def test_a_mode_that_is_ignored_is_not_taken(server: ModelServer) -> None:
    server.script(CHAT, chat_reply("Sure! It is ok."), json_reply({"ok": True}))
    chat = make_chat("m", base_url=server.base_url)
    assert chat.find_mode(deadline=10) is AnswerMode.JSON_OBJECT
    chat.close()


def test_without_a_schema_on_the_wire_the_prompt_holds_it(server: ModelServer) -> None:
    for mode in ("json_object", "prompt"):
        chat = make_chat("m", base_url=server.base_url, mode=mode)
        assert chat.complete(PROMPT, deadline=10) == FACTS
        chat.close()
        assert json.dumps(PROMPT.schema) in server.received[-1].body["messages"][0]["content"]


@pytest.mark.parametrize("status", [401, 429, 503])
def test_a_server_that_does_not_tell_its_mode_is_asked_again_later(server: ModelServer, status: int) -> None:
    server.script(CHAT, status_reply(status))
    chat = make_chat("m", base_url=server.base_url)
    with pytest.raises(ModelUnavailable, match=str(status)):
        chat.find_mode(deadline=10)
    server.respond(CHAT, answering({"json_object"}, else_status=500))
    assert chat.find_mode(deadline=10) is AnswerMode.JSON_OBJECT
    chat.close()


def test_an_unknown_mode_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError, match="choose auto, json_schema, json_object, prompt"):
        make_chat("m", mode="xml")


# --- answers --------------------------------------------------------------------------------------------

UNUSABLE = {
    "prose": chat_reply("I could not find any facts."),
    "empty": chat_reply(""),
    "null": chat_reply(None),
    "cut off": chat_reply('{"facts": []}', finish_reason="length"),
    "half": chat_reply('{"facts": ["a'),
    "another type": json_reply({"facts": "none"}),
    "another key": json_reply({"memories": []}),
    "a list": json_reply(["a"]),
    "a key twice": chat_reply('{"facts": [], "facts": ["a"]}'),
    "NaN": chat_reply('{"facts": [NaN]}'),
    "300 KiB": chat_reply('{"facts": ["' + "x" * 300 * 1024 + '"]}'),
    "10 MB": Reply(body=b" " * 10_000_000),
}


@pytest.mark.parametrize("reply", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_unusable_answer_is_repaired_once(server: ModelServer, chat: OpenAIChat, reply: Reply) -> None:
    server.script(CHAT, reply)
    assert chat.complete(PROMPT, deadline=10) == FACTS
    first, second = server.bodies(CHAT)
    assert second["messages"][:2] == first["messages"]
    assert "cannot be used" in second["messages"][3]["content"]


@pytest.mark.parametrize("reply", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_answer_unusable_twice_is_an_error_and_never_an_empty_result(
    server: ModelServer, chat: OpenAIChat, reply: Reply
) -> None:
    server.script(CHAT, reply, reply)
    with pytest.raises(ModelAnswerUnusable, match="extract: twice unusable"):
        chat.complete(PROMPT, deadline=10)
    assert len(server.received) == 2


def test_fences_and_prose_are_set_aside_without_a_repair(server: ModelServer, chat: OpenAIChat) -> None:
    server.script(CHAT, chat_reply(f"好的：\n```json\n{json.dumps(FACTS)}\n```\nDone!"))
    assert chat.complete(PROMPT, deadline=10) == FACTS
    assert len(server.received) == 1


def test_lone_surrogates_are_replaced_inside_and_outside_of_the_content(
    server: ModelServer, chat: OpenAIChat
) -> None:
    outside = (
        rb'{"choices": [{"message": {"content": "{\"facts\": [\"a\ud800\"]}"}, "finish_reason": "stop"}]}'
    )
    server.script(CHAT, chat_reply(r'{"facts": ["a\ud800"]}'), Reply(body=outside))
    assert chat.complete(PROMPT, deadline=10) == {"facts": ["a\ufffd"]}
    assert chat.complete(PROMPT, deadline=10) == {"facts": ["a\ufffd"]}


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_is_refused_as_it_stands_is_not_repeated(
    server: ModelServer, chat: OpenAIChat, status: int
) -> None:
    server.script(CHAT, status_reply(status))
    with pytest.raises(ModelAnswerUnusable, match=str(status)):
        chat.complete(PROMPT, deadline=10)
    assert len(server.received) == 1


# --- servers in trouble ---------------------------------------------------------------------------------

PASSING = {
    "500": status_reply(500),
    "503": status_reply(503),
    "429": status_reply(429),
    "hangs up": Reply(hang_up=True),
    "HTML": Reply(body=b"<html>busy</html>"),
    "no choices": Reply(body=b'{"choices": []}'),
}


@pytest.mark.parametrize("reply", PASSING.values(), ids=PASSING.keys())
def test_a_passing_failure_is_retried(server: ModelServer, chat: OpenAIChat, reply: Reply) -> None:
    server.script(CHAT, reply)
    assert chat.complete(PROMPT, deadline=20) == FACTS
    assert len(server.received) == 2


@pytest.mark.parametrize("reply", PASSING.values(), ids=PASSING.keys())
def test_a_lasting_failure_is_unavailable_after_a_few_tries(
    server: ModelServer, chat: OpenAIChat, reply: Reply
) -> None:
    server.respond(CHAT, lambda _: reply)
    with pytest.raises(ModelUnavailable):
        chat.complete(PROMPT, deadline=20)
    assert len(server.received) == 4


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_is_not_tried_again(server: ModelServer, chat: OpenAIChat, status: int) -> None:
    server.script(CHAT, status_reply(status, message="secret is no key"))
    with pytest.raises(ModelUnavailable, match=str(status)) as caught:
        chat.complete(PROMPT, deadline=10)
    assert "secret" not in str(caught.value)
    assert len(server.received) == 1


def test_retry_after_is_waited_for_inside_the_deadline(server: ModelServer, chat: OpenAIChat) -> None:
    server.script(CHAT, status_reply(429, retry_after="2"))
    assert chat.complete(PROMPT, deadline=20) == FACTS
    first, second = server.received
    assert second.at - first.at >= 1.9


@pytest.mark.parametrize("retry_after", ["3600", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_retry_after_beyond_the_deadline_is_handed_on_and_opens_the_breaker(
    server: ModelServer, chat: OpenAIChat, retry_after: str
) -> None:
    server.script(CHAT, status_reply(429, retry_after=retry_after))
    with pytest.raises(ModelUnavailable) as caught:
        chat.complete(PROMPT, deadline=10)
    assert caught.value.retry_after is not None
    assert caught.value.retry_after >= 3600
    with pytest.raises(ModelUnavailable, match="breaker is open"):
        chat.complete(PROMPT, deadline=10)
    assert len(server.received) == 1


@pytest.mark.parametrize("retry_after", ["soon", "-1", "nan", "inf", ""])
def test_a_retry_after_that_says_nothing_is_ignored(
    server: ModelServer, chat: OpenAIChat, retry_after: str
) -> None:
    server.script(CHAT, status_reply(503, retry_after=retry_after))
    assert chat.complete(PROMPT, deadline=20) == FACTS


SLOW = {
    "late": Reply(delay=30.0),
    "dripping": Reply(drip=0.05, body=b" " * 10_000),
    "dripping headers": Reply(drip=0.05, drip_headers=True),
}


@pytest.mark.parametrize("reply", SLOW.values(), ids=SLOW.keys())
def test_a_slow_server_is_cut_off_at_the_deadline(
    server: ModelServer, chat: OpenAIChat, reply: Reply
) -> None:
    server.script(CHAT, reply)
    with pytest.raises(ModelUnavailable):
        chat.complete(PROMPT, deadline=0.5)
    assert chat.complete(PROMPT, deadline=10) == FACTS


def test_a_server_that_is_not_there_is_unavailable_until_it_is_left_alone() -> None:
    with ModelServer() as gone:
        url = gone.base_url
    chat = make_chat("m", base_url=url, mode="prompt")
    for _ in range(5):
        with pytest.raises(ModelUnavailable, match="no connection"):
            chat.complete(PROMPT, deadline=1.0)
    with pytest.raises(ModelUnavailable, match="breaker is open"):
        chat.complete(PROMPT, deadline=1.0)
    chat.close()
