"""Statements worth keeping beyond a session, by rule.

One statement a sentence (see kinds.py for which and why), one more for every slot it fills (slots.py), one for
every answered tool call and one for every image. The text is the sentence as it was said; a promise or answer of
the assistant says whose it is, and a bare answer ("12 Oak Street") what it answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from shared.domain.memory import Category, Entity, Kind, Slot, Statement, Trust, importance_of
from shared.domain.turn import Role, Turn
from shared.text.language import language_of
from shared.text.lexical import content_words
from workers.rules.entities import EntityFinder
from workers.rules.kinds import asks_to_remember, assistant_kind, category_of, is_solved, user_kind
from workers.rules.said import Said, said_in
from workers.rules.sentences import is_short, own_words
from workers.rules.slots import Stated, assistant_slots, user_slots
from workers.rules.tool_results import tool_statements

TRUSTED_AS: dict[Role, Trust] = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "operator"}
# SPEC C8 and ARCHITECTURE 2.5 hold a caller's clock to this much ahead of ours.
_AHEAD = timedelta(minutes=5)
_ASSISTANT = {"zh": "客服：{}"}
_BARE = {
    "zh": {"phone": "用户的电话：{}", "email": "用户的邮箱：{}", "address": "用户的地址：{}", "name": "用户的姓名：{}", "device_model": "用户的设备：{}"},
    "en": {"phone": "User's phone: {}", "email": "User's email: {}", "address": "User's address: {}", "name": "User's name: {}", "device_model": "User's device: {}"},
}  # fmt: skip


def statements(turns: Sequence[Turn], *, finder: EntityFinder) -> list[Statement]:
    """In the order of the turns. Context injected into a turn and system turns are never learnt from."""
    found = [*_spoken(turns, finder=finder), *tool_statements(turns, finder=finder), *_images(turns, finder=finder)]
    return sorted(_distinct(found), key=lambda one: one.sequences[-1])
