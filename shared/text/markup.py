"""XML around text that users and models wrote: whatever they write, the tree stays ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
_LINE_END = re.compile("\r\n?|\u0085|\u2028|\u2029")
# Not allowed in XML 1.0, or invisible: control, soft hyphen, zero width, bidirectional, tag and
# variation characters (but the one that makes an emoji colored). Hidden text is text for the model alone.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\U000e0000-\U000e0fff]"
)
# What chat templates use between messages: <|im_start|>, <｜User｜>, <start_of_turn>, [INST], <<SYS>>, </s>.
_TEMPLATE_TOKEN = re.compile(
    r"(?P<open><[|｜])(?P<name>[^\s<>|｜]{1,64})(?P<close>[|｜]>)"
    r"|(?P<left><<|<|\[)(?P<word>/?(?:start_of_turn|end_of_turn|bos|eos|s|INST|SYS|AVAILABLE_TOOLS|TOOL_CALLS"
    r"|TOOL_RESULTS|SYSTEM_PROMPT))(?P<right>>>|>|\])"
)
_ATTRIBUTE_ENTITIES = {'"': "&quot;", "\n": "&#10;", "\t": "&#9;"}


def neutral(text: str) -> str:
    """`text` without invisible characters and chat template tokens; lines end in line feeds."""
    return _TEMPLATE_TOKEN.sub(_spaced, _UNSEEN.sub("", _LINE_END.sub("\n", text)))


def content(text: str) -> Markup:
    """`neutral(text)`, escaped to stand between tags."""
    return Markup(escape(neutral(text)))  # noqa: S704 -- escaped on this line


def attribute(text: str) -> Markup:
    """`neutral(text)`, escaped to stand between double quotes."""
    return Markup(escape(neutral(text), _ATTRIBUTE_ENTITIES))  # noqa: S704 -- escaped on this line


def element(
    name: str, *, attributes: Mapping[str, str] | None = None, children: Sequence[str] = ()
) -> Markup:
    """One element. Children that are Markup stand as they are, any other text is escaped.

    Names are ours, never a user's: one that is no plain XML name is a ValueError.
    """
    pairs = [f'{_checked(key)}="{attribute(value)}"' for key, value in (attributes or {}).items()]
    opening = " ".join([_checked(name), *pairs])
    inner = "".join(child if isinstance(child, Markup) else content(child) for child in children)
    source = f"<{opening}>{inner}</{name}>" if inner else f"<{opening}/>"
    return Markup(source)  # noqa: S704 -- made of checked names and escaped text


def _checked(name: str) -> str:
    if not _NAME.match(name):
        raise ValueError(f"not a name of an element or attribute: {name!r}")
    return name


def _spaced(token: re.Match[str]) -> str:
    parts = [part for part in token.groups() if part is not None]
    return " ".join(parts)
