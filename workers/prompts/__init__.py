"""Prompt texts as files, one a task and language."""

from __future__ import annotations

from importlib.resources import files

LANGUAGES = ("en", "zh")


def prompt_text(task: str, *, language: str) -> str:
    """English for every language without a text of its own."""
    known = language if language in LANGUAGES else "en"
    return files(__package__).joinpath(f"{task}.{known}.md").read_text(encoding="utf-8")
