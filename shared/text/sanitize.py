"""Characters that no store can keep: refused when a caller sends them, replaced when a model does."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def refuse_reason(text: str) -> str | None:
    """Why `text` cannot be accepted, as the rest of a sentence, or None."""
    found = _UNSTORABLE.search(text)
    if found is None:
        return None
    kind = "a NUL character" if found.group() == "\x00" else "half of a surrogate pair"
    return f"contains {kind} at position {found.start()}"


def clean_model_text(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text)
