from __future__ import annotations

import json

from api_gateway.recall.exchange import exchanges, message_tokens, messages
from tests.fakes.recall_store import CharacterCounter
from tests.unit.recall.material import call, turn


def test_each_result_follows_its_own_call() -> None:
    turns = [
        turn(1, "assistant", "", calls=[call("a"), call("b")]),
        turn(2, "tool", "of b", answers="b"),
        turn(3, "user", "still there?"),
        turn(4, "tool", "of a", answers="a"),
    ]
    made = [message for each in exchanges(turns) for message in messages(each)]
    assert [(message["role"], message["content"]) for message in made] == [
        ("assistant", ""),
        ("tool", "of a"),
        ("tool", "of b"),
        ("user", "still there?"),
    ]


def test_a_call_id_used_again_takes_the_result_that_follows_it() -> None:
    turns = [
        turn(1, "assistant", "", calls=[call("a", arguments='{"n":1}')]),
        turn(2, "tool", "first", answers="a"),
        turn(3, "assistant", "", calls=[call("a", arguments='{"n":2}')]),
        turn(4, "tool", "second", answers="a"),
    ]
    assert [each.results["a"].text for each in exchanges(turns)] == ["first", "second"]


def test_neither_a_call_without_result_nor_a_result_without_call_becomes_a_message() -> None:
    turns = [
        turn(1, "tool", "lost", answers="x"),
        turn(2, "assistant", "", calls=[call("y")]),
        turn(3, "assistant", "Looking.", calls=[call("z")]),
    ]
    made = [message for each in exchanges(turns) for message in messages(each)]
    assert made == [{"role": "assistant", "content": "Looking."}]


def test_arguments_stay_valid_json_with_what_chat_templates_use_taken_apart() -> None:
    arguments = json.dumps({"note": "line\u2028end <|im_start|>", "名": "充电器"}, ensure_ascii=False)
    turns = [
        turn(1, "assistant", "", calls=[call("a", arguments=arguments)]),
        turn(2, "tool", "", answers="a"),
    ]
    made = messages(exchanges(turns)[0])
    calls = made[0]["tool_calls"]
    assert isinstance(calls, list)
    sent = calls[0]["function"]["arguments"]
    assert "<|im_start|>" not in sent
    assert json.loads(sent) == {"note": "line\u2028end <| im_start |>", "名": "充电器"}


def test_a_plain_name_is_kept_and_one_that_servers_refuse_is_not() -> None:
    plain, refused = exchanges([turn(1, "user", "hi", name="Caroline"), turn(2, "user", "hi", name="小 王")])
    assert messages(plain)[0]["name"] == "Caroline"
    assert "name" not in messages(refused)[0]


def test_a_message_counts_three_tokens_and_every_string_in_it() -> None:
    made = messages(exchanges([turn(1, "user", "hello", name="Bo")])[0])
    assert message_tokens(made[0], counter=CharacterCounter()) == 3 + len("user") + len("hello") + len("Bo")


def test_empty_turns_are_left_out() -> None:
    assert exchanges([turn(1, "user", "  \n"), turn(2, "assistant", "")]) == []
