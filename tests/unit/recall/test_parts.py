"""Working, condensed and long-term memory, each by itself, at a token a character."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args
from uuid import UUID

import pytest

from api_gateway.recall.elements import compressed, remembered, said, verbatim
from api_gateway.recall.exchange import Exchange, exchanges
from api_gateway.recall.long_term import Shelf, unrepeated
from api_gateway.recall.older import Condenser, Older, Past, Piece, fill_condensed
from api_gateway.recall.rank import Ranked
from api_gateway.recall.working import fill_working, newest_turns, required, shortened, window
from shared.domain.ids import TurnId, turn_id
from shared.domain.memory import Entity, Kind, Memory, Trust
from shared.domain.session import CondensedCall
from shared.domain.turn import Role
from tests.fakes.recall_store import CharacterCounter
from tests.unit.recall.material import (
    SESSION_KEY,
    call,
    dialogue,
    entry,
    memory,
    said_here,
    session,
    turn,
)

COUNTER = CharacterCounter()


def cost(exchange: Exchange) -> int:
    return sum(len(each.text) for each in exchange.turns)


def sequences(made: list[Exchange]) -> list[int]:
    return [each.turn.sequence for each in made]


# --- working memory


def test_the_window_is_the_last_turns_from_a_user_turn_on() -> None:
    made = exchanges(dialogue(*"abcdefg"))
    assert sequences(window(made, applied=7)) == [3, 4, 5, 6, 7]
    assert sequences(window(made[:-1], applied=6)) == [3, 4, 5, 6]


def test_the_window_holds_every_pending_turn() -> None:
    assert sequences(window(exchanges(dialogue(*"abcdefghi")), applied=1)) == [2, 3, 4, 5, 6, 7, 8, 9]


def test_the_window_holds_the_whole_round_that_the_newest_user_turn_opened() -> None:
    calls = [turn(n, "assistant", f"step {n}") for n in range(2, 12)]
    assert sequences(window(exchanges([turn(1, "user", "go"), *calls]), applied=11)) == [*range(1, 12)]


def test_working_memory_is_filled_from_the_newest_until_one_does_not_fit() -> None:
    made = exchanges(dialogue("a" * 5, "b" * 50, "c" * 10, "d" * 10, "e" * 10))
    assert sequences(fill_working(made, cost=cost, limit=60)) == [3, 4, 5]


def test_what_does_not_fit_of_the_open_round_is_passed_over() -> None:
    made = exchanges(
        [
            turn(1, "user", "q" * 10),
            turn(2, "assistant", "v" * 10),
            turn(3, "assistant", "", calls=[call("a")]),
            turn(4, "tool", "r" * 90, answers="a"),
            turn(5, "assistant", "w" * 10),
        ]
    )
    assert sequences(fill_working(made, cost=cost, limit=50)) == [1, 2, 5]


def test_the_open_round_is_required_up_to_a_limit_and_the_user_turn_beyond_it() -> None:
    made = exchanges([*dialogue("a" * 99, "b"), turn(3, "user", "c" * 10), turn(4, "assistant", "d" * 30)])
    assert required(made, cost=cost, limit=100) == 40
    assert required(made, cost=cost, limit=25) == 25
    assert required(made, cost=cost, limit=5) == 10


@pytest.mark.parametrize(
    ("limit", "kept"), [(6, [3]), (7, [3, 5]), (12, [3, 5]), (13, [3, 4, 5]), (99, [3, 4, 5])]
)
def test_the_newest_turns_are_the_newest_of_the_user_and_the_last_two(limit: int, kept: list[int]) -> None:
    made = exchanges(
        [
            turn(1, "user", "a"),
            turn(2, "assistant", "b"),
            turn(3, "user", "坏了吗?!"),
            turn(4, "assistant", "dddddd"),
            turn(5, "assistant", "ee"),
        ]
    )
    assert sequences(newest_turns(made, cost=cost, limit=limit)) == kept


def test_a_turn_is_cut_to_what_fits_or_not_at_all() -> None:
    exchange = exchanges([turn(1, "user", "abcdefghij")])[0]
    cut = shortened(exchange, cost=cost, limit=5, counter=COUNTER)
    assert cut is not None
    assert cut.turn.text == "abcd…"
    assert shortened(exchange, cost=cost, limit=1, counter=COUNTER) is None


def test_a_cut_accounts_for_what_escaping_adds() -> None:
    exchange = exchanges([turn(1, "user", "<" * 400)])[0]
    cut = shortened(exchange, cost=lambda each: len(said(each, session_id="s")), limit=100, counter=COUNTER)
    assert cut is not None
    line = said(cut, session_id="s")
    assert len(line) <= 100
    assert line.startswith('<message role="user">&lt;&lt;')
    assert line.endswith("…</message>\n")


# --- condensed memory


def older(number: int, *, full: int, brief: int) -> Older:
    turn_ids = (TurnId(UUID(int=number)),)
    return Older(
        first=number,
        full=Piece(text=f"F{number}", tokens=full, turn_ids=turn_ids),
        brief=Piece(text=f"B{number}", tokens=brief, turn_ids=turn_ids),
    )


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        pytest.param(300, ["F1", "F2", "F3"], id="all stand as they were said"),
        pytest.param(299, ["B1", "F2", "F3"], id="over the limit the oldest is compressed"),
        pytest.param(140, ["B1", "B2", "F3"], id="then the one after it"),
        pytest.param(60, ["B1", "B2", "B3"], id="then all"),
        pytest.param(59, ["B2", "B3"], id="then the oldest is dropped"),
        pytest.param(19, [], id="until none is left"),
    ],
)
def test_condensed_memory_at_three_rounds_of_a_hundred_or_twenty_tokens(limit: int, kept: list[str]) -> None:
    newest_first = [older(number, full=100, brief=20) for number in (3, 2, 1)]
    made = fill_condensed(newest_first, limit=limit)
    assert [piece.text for piece in made.pieces] == kept
    assert made.tokens <= limit
    assert {turn_id.int for turn_id in made.verbatim} == {int(t[1]) for t in kept if t[0] == "F"}


def test_a_round_that_could_never_fit_does_not_keep_the_older_ones_out() -> None:
    made = fill_condensed([older(2, full=900, brief=500), older(1, full=100, brief=20)], limit=100)
    assert [piece.text for piece in made.pieces] == ["F1"]


def test_an_entry_that_reaches_into_working_memory_gives_way_to_its_turns() -> None:
    made = exchanges(dialogue(*"abcdefgh"))
    entries = [entry(1, 2, "a", "b"), entry(3, 4, "c", "d"), entry(5, 6, "e", "f")]
    before = Past(session=session(), exchanges=made, entries=entries).before(made[5:])
    assert [
        each.turn.sequence if isinstance(each, Exchange) else (each.first, each.last) for each in before
    ] == [
        5,
        (3, 4),
        (1, 2),
    ]


def test_a_turn_that_no_entry_compressed_is_shortened_by_the_share_to_remove() -> None:
    condenser = Condenser(session=session(), counter=COUNTER, share_removed=0.7)
    made = condenser.olders(exchanges([turn(1, "user", "x" * 100)]), limit=1_000)
    assert made[0].full.text == f'<message role="user">{"x" * 100}</message>\n'
    assert made[0].brief.text == f'<message role="user">{"x" * 30}…</message>\n'


def test_a_compressed_entry_that_is_no_shorter_stays_as_it_was_said() -> None:
    condenser = Condenser(session=session(), counter=COUNTER, share_removed=0.85)
    made = condenser.olders([entry(1, 1, "ok")], limit=1_000)
    assert made[0].brief is made[0].full


def test_an_entry_as_it_stood() -> None:
    made = entry(1, 3, "手机充不进电 <急>", "我查一下", calls=[tool_call()])
    assert verbatim(made) == (
        '<message role="user">手机充不进电 &lt;急&gt;</message>\n'
        '<message role="assistant">我查一下</message>\n'
        '<message role="assistant"><tool_call session="s-1" id="c1"><name>warranty</name>'
        '<params>{"sku":"P8"}</params><result>保修期内</result></tool_call></message>\n'
    )


def test_an_entry_compressed() -> None:
    twice = Entity(kind="order", value="A100234", text="A100234")
    made = replace(
        entry(1, 3, "x", summary="手机充电故障", calls=[tool_call()]),
        entities=(twice, twice, Entity(kind="device", value="P8", text="Pixel 8")),
    )
    assert compressed(made) == (
        "<msg><entities>A100234; Pixel 8</entities><summary>手机充电故障</summary><tools>"
        '<tool_call session="s-1" id="c1"><name>warranty</name><params>{"sku":"P8"}</params>'
        "<result>保修期内</result></tool_call></tools></msg>\n"
    )
    assert compressed(replace(made, entities=(), summary="", calls=())) == (
        "<msg><entities/><summary/><tools/></msg>\n"
    )


def tool_call() -> CondensedCall:
    return CondensedCall(
        session_id="s-1", id="c1", name="warranty", arguments='{"sku":"P8"}', result="保修期内"
    )


# --- long-term memory


def texts(*found: Memory, verbatim: tuple[int, ...] = (), profile: tuple[Memory, ...] = ()) -> list[str]:
    ranked = [Ranked(memory=each, score=1.0, why="dense #1") for each in found]
    shown = frozenset(turn_id(SESSION_KEY, sequence=number) for number in verbatim)
    return [each.memory.text for each in unrepeated(ranked, verbatim=shown, profile=profile)]


def test_an_episode_of_a_turn_that_stands_in_the_context_is_not_told_again() -> None:
    here = said_here(memory(1, "it broke"), sequence=4)
    assert texts(here, memory(2, "it broke"), verbatim=(4,)) == ["it broke"]
    assert texts(here, verbatim=(3,)) == ["it broke"]


def test_two_pieces_of_one_long_turn_are_told_once() -> None:
    assert texts(memory(1, "long"), replace(memory(2, "long"), turn_ids=memory(1, "").turn_ids)) == ["long"]


def test_a_statement_is_left_out_only_when_all_its_turns_stand_in_the_context() -> None:
    statement = said_here(memory(1, "prefers mail", kind="preference"), sequence=4)
    both = replace(statement, turn_ids=(*statement.turn_ids, turn_id(SESSION_KEY, sequence=2)))
    assert texts(statement, verbatim=(4,)) == []
    assert texts(both, verbatim=(4,)) == ["prefers mail"]


def test_a_memory_whose_words_a_better_one_has_from_the_same_turn_is_left_out() -> None:
    whole = memory(1, "Hi. My phone is a Pixel 8.")
    part = replace(memory(2, "My phone is a Pixel 8.", kind="fact"), turn_ids=whole.turn_ids)
    assert texts(whole, part) == [whole.text]
    assert texts(part, whole) == [part.text]
    longer = replace(whole, text="My phone is a Pixel 8. It does not charge.")
    assert texts(part, longer) == [part.text, longer.text]
    assert texts(part, memory(3, whole.text)) == [part.text, whole.text]


@pytest.mark.parametrize(
    ("label", "said"),
    [("Agent: ", "We will call you back."), ("客服：", "我们会在3天内安排上门取件。")],
)
def test_a_labeled_statement_does_not_repeat_its_turn(label: str, said: str) -> None:
    whole = memory(1, said)
    promise = replace(memory(2, label + said, kind="promise"), turn_ids=whole.turn_ids)
    elsewhere = memory(3, label + said, kind="promise")
    assert texts(whole, promise) == [said]
    assert texts(whole, elsewhere) == [said, label + said]


def test_what_the_profile_holds_is_not_told_again() -> None:
    phone = memory(1, "phone: Pixel 8", kind="fact")
    assert texts(phone, memory(2, "other"), profile=(phone,)) == ["other"]


def test_a_long_memory_is_cut_to_its_head() -> None:
    shelf = Shelf(counter=COUNTER, longest=10)
    piece = shelf.pieces([Ranked(memory=memory(1, "0123456789abc"), score=1.0, why="")], limit=100)[0]
    assert piece.text == '<episode by="user" date="2026-03-01">0123456789…</episode>\n'
    assert piece.tokens == len(piece.text)


@pytest.mark.parametrize("trust", get_args(Trust))
@pytest.mark.parametrize("kind", ["episode", "promise", "tool_result", "summary"])
@pytest.mark.parametrize("role", get_args(Role))
def test_a_memory_is_by_whom_it_can_be_trusted_to_whoever_spoke_its_first_turn(
    trust: Trust, kind: Kind, role: Role
) -> None:
    said = replace(memory(1, "退款 by Friday", kind=kind), trust=trust, role=role)
    assert remembered(said, text=said.text) == (
        f'<{kind} by="{trust}" date="2026-03-01">退款 by Friday</{kind}>\n'
    )
