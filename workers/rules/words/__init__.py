"""What service language looks like: one file for each thing a sentence can do, one pattern a line.

A line without Chinese is matched from word boundary to word boundary, in either case; `{did}` is "I", "we've
already" and the like; lines that begin with # are comments.
"""

from __future__ import annotations

import re
from importlib.resources import files

from workers.rules.spans import has_han

_DID = r"(?:I|we)(?:'ve| have| had)?(?: just| already| also| even| only| then| both| now)*"


def pattern(name: str) -> re.Pattern[str]:
    lines = files(__package__).joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines()
    alternatives = [_alternative(line) for line in lines if line and not line.startswith("#")]
    return re.compile("|".join(alternatives), re.IGNORECASE)


def _alternative(line: str) -> str:
    return f"(?:{line})" if has_han(line) else rf"(?<![\w'])(?:{line.replace('{did}', _DID)})(?![\w])"
