"""Whether a JSON value fits a JSON Schema, for the part of it that structured outputs allow.

Read are `type`, `properties`, `required`, `additionalProperties: false`, `items`, `enum`, `const`, `anyOf`
and `$ref` into `$defs`. Limits on lengths and numbers are left to whoever reads the object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


_TYPES: dict[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}


def misfit(value: object, *, schema: Mapping[str, object]) -> str | None:
    """The first place where `value` does not fit, as a sentence without any of its values, or None."""
    return next(_misfits(value, schema, root=schema, path="$"), None)


def _misfits(
    value: object, node: Mapping[str, object], *, root: Mapping[str, object], path: str
) -> Iterator[str]:
    node = _resolved(node, root=root)
    options = cast("list[Mapping[str, object]]", node.get("anyOf", []))
    if options and not any(next(_misfits(value, o, root=root, path=path), None) is None for o in options):
        yield f"{path} is none of the allowed forms"
    yield from _plain_misfits(value, node, path=path)
    if isinstance(value, dict):
        yield from _object_misfits(value, node, root=root, path=path)
    if isinstance(value, list) and "items" in node:
        items = cast("Mapping[str, object]", node["items"])
        for index, each in enumerate(value):
            yield from _misfits(each, items, root=root, path=f"{path}[{index}]")


def _plain_misfits(value: object, node: Mapping[str, object], *, path: str) -> Iterator[str]:
    named = node.get("type")
    types = cast("list[str]", named if isinstance(named, list) else [named])
    if named is not None and not any(_TYPES[name](value) for name in types):
        yield f"{path} must be of type {' or '.join(types)}"
    allowed = cast("list[object]", node.get("enum", [node["const"]] if "const" in node else []))
    if allowed and not any(type(value) is type(each) and value == each for each in allowed):
        yield f"{path} must be one of {', '.join(map(str, allowed))}"


def _object_misfits(
    value: dict[str, object], node: Mapping[str, object], *, root: Mapping[str, object], path: str
) -> Iterator[str]:
    known = cast("Mapping[str, Mapping[str, object]]", node.get("properties", {}))
    for name in cast("list[str]", node.get("required", [])):
        if name not in value:
            yield f"{path} lacks {name}"
    for name, each in value.items():
        if name in known:
            yield from _misfits(each, known[name], root=root, path=f"{path}.{name}")
        elif node.get("additionalProperties") is False:
            yield f"{path} holds a key that is not in the schema"


def _resolved(node: Mapping[str, object], *, root: Mapping[str, object]) -> Mapping[str, object]:
    reference = node.get("$ref")
    if not isinstance(reference, str):
        return node
    found: object = root
    for part in reference.removeprefix("#/").split("/"):
        found = cast("Mapping[str, object]", found)[part]
    return cast("Mapping[str, object]", found)
