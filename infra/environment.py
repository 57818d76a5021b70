"""The settings that `up` gives to its children: the person's own, but for what its servers decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from infra.embedded.stack import EmbeddedStack
from shared.settings import PREFIX

# A pepper of the environment would hide what an earlier start stored under the kept one.
_EMBEDDED = (
    "POSTGRES__URL",
    "POSTGRES__DISPATCH_URL",
    "POSTGRES__MIGRATION_URL",
    "BROKER__URL",
    "QDRANT__URL",
    "QDRANT__API_KEY",
    "SECURITY__PEPPER",
)
_SET_ASIDE = frozenset(PREFIX + name + ending for name in _EMBEDDED for ending in ("", "_FILE"))


def set_aside(environ: Mapping[str, str]) -> tuple[dict[str, str], Sequence[str]]:
    """The environment without the settings that name servers of one's own, and the names left out."""
    ignored = sorted(name for name in environ if name.upper() in _SET_ASIDE)
    return {name: value for name, value in environ.items() if name not in ignored}, ignored


def embedded_settings(stack: EmbeddedStack, *, pepper: str) -> dict[str, str]:
    values = {
        "POSTGRES__URL": stack.postgres.app_url,
        "POSTGRES__DISPATCH_URL": stack.postgres.dispatch_url,
        "POSTGRES__MIGRATION_URL": stack.postgres.migration_url,
        "BROKER__URL": stack.broker_url,
        "QDRANT__URL": stack.qdrant_url,
        "QDRANT__API_KEY": stack.qdrant_api_key,
        "SECURITY__PEPPER": pepper,
    }
    return {PREFIX + name: value for name, value in values.items()}
