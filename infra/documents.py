"""What the documents take from the code: the table of settings, and the example environment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from shared.settings import PREFIX, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    name: str
    default: str
    what: str


def settings() -> Iterator[Setting]:
    for area, field in Settings.model_fields.items():
        model = field.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            for key, inner in model.model_fields.items():
                name = f"{PREFIX}{area}__{key}".upper()
                yield Setting(name=name, default=_default(inner), what=inner.description or "")


def _default(field: FieldInfo) -> str:
    value = field.default
    return "" if value is None or isinstance(value, SecretStr) else str(value)


def settings_table() -> str:
    rows = [f"| `{one.name}` | {one.default and f'`{one.default}`'} | {one.what} |" for one in settings()]
    return "\n".join(["| setting | default | what it does |", "|---|---|---|", *rows])


def example_environment() -> str:
    lines = ["# Every setting with its default. Copy to .env and keep what you change; made from the code."]
    for one in settings():
        lines += ["", f"# {one.what}", f"# {one.name}={one.default}"]
    return "\n".join(lines) + "\n"
