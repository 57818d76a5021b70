from __future__ import annotations

from itertools import pairwise

import pytest

from api_gateway.recall.exchange import exchanges
from api_gateway.recall.older import Past
from api_gateway.recall.pack import Materials, Packed, Packer, lessened
from api_gateway.recall.query import ContextRequest, Format
from api_gateway.recall.rank import Ranked
from api_gateway.recall.render import Renderer, Voice, renderer
from tests.unit.recall.material import O200K, dialogue, entry, memory, request, session


def materials() -> Materials:
    """More of everything than any budget here holds."""
    turns = dialogue(*[f"turn {n} about the charger 充电座" for n in range(1, 61)])
    return Materials(
        past=Past(
            session=session(applied=54),
            exchanges=exchanges(turns[50:]),
            entries=[entry(n, n + 1, f"asked {n} " * 9, f"told {n} " * 9) for n in range(1, 54, 2)],
        ),
        profile=[Ranked(memory=memory(n, f"slot {n}", kind="fact"), score=0, why="") for n in range(1, 9)],
        ranked=[Ranked(memory=memory(n, f"remembered {n}"), score=1, why="") for n in range(100, 160)],
    )


def form_of(asked: ContextRequest) -> Renderer:
    return renderer(asked, voice=Voice(language="en", session_id="s-1", counter=O200K))


@pytest.mark.parametrize("form", ["messages", "text"])
@pytest.mark.parametrize("max_tokens", [40, 80, 120, 150, 200, 300, 500, 900, 1_700])
def test_where_counts_add_up_the_first_rendering_fits(form: Format, max_tokens: int) -> None:
    asked = request(format=form, max_tokens=max_tokens, session=session(applied=54))
    packed = Packer(request=asked, form=form_of(asked), counter=O200K).pack(materials())
    used = form_of(asked).render(packed).used
    assert used <= max_tokens
    assert used > max_tokens * 0.85 or max_tokens < 200


def test_each_part_keeps_to_its_share_when_all_want_more() -> None:
    asked = request(max_tokens=2_000, top_k=60, session=session(applied=54))
    form = form_of(asked)
    packed = Packer(request=asked, form=form, counter=O200K).pack(materials())
    working = sum(map(form.cost, packed.working))
    condensed, long_term = (
        sum(piece.tokens for piece in pieces)
        for pieces in (packed.condensed, (*packed.profile, *packed.memories))
    )
    # All of working memory is 10 turns, less than its 15 %; what it leaves goes to condensed memory.
    assert working < 300
    assert 700 < condensed < 2_000 - working - long_term
    assert 850 < long_term <= 1_000


def test_memories_go_first_and_the_newest_user_turn_is_cut_last() -> None:
    asked = request(max_tokens=600, session=session(applied=54))
    form = form_of(asked)
    packed = Packer(request=asked, form=form, counter=O200K).pack(materials())
    assert lessened(packed, by=1, form=form, counter=O200K).memories == packed.memories[:-1]
    seen = [packed]
    while seen[-1] != Packed():
        seen.append(lessened(seen[-1], by=1, form=form, counter=O200K))
    order = [
        next(
            name
            for name in ("memories", "condensed", "profile", "working")
            if getattr(one, name) != getattr(other, name)
        )
        for one, other in pairwise(seen)
    ]
    assert list(dict.fromkeys(order)) == ["memories", "condensed", "profile", "working"]
    assert seen[-2].working[0].turn.role == "user"
    assert seen[-2].working[0].turn.text.endswith("…")
    after_one_condensed = next(each for each in seen if len(each.condensed) == len(packed.condensed) - 1)
    assert after_one_condensed.condensed == packed.condensed[1:]
