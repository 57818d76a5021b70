"""All collections and aliases, and the catalog on disk that names them.

The catalog is replaced whole and synced before a call is answered, so a switch of aliases happens for
everybody at once or not at all. A folder the catalog does not name was never finished, or was being deleted:
it is removed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

from infra.embedded.vectors.collection import Collection
from infra.embedded.vectors.errors import BadRequestError, TakenError, no_collection
from infra.embedded.vectors.requests import AliasRequest, CollectionRequest, CreateAliasAction


class Entry(BaseModel):
    model_config = ConfigDict(frozen=True)

    folder: str
    params: CollectionRequest


class Catalog(BaseModel):
    model_config = ConfigDict(frozen=True)

    collections: dict[str, Entry] = Field(default_factory=dict)
    aliases: dict[str, str] = Field(default_factory=dict)


class Registry:
    def __init__(self, root: Path) -> None:
        self._file = root / "catalog.json"
        self._folders = root / "collections"
        self._folders.mkdir(exist_ok=True)
        self._catalog = self._read()
        self._remove_unnamed()
        self._open = {
            name: Collection.load(self._folders / entry.folder, params=entry.params)
            for name, entry in self._catalog.collections.items()
        }

    @property
    def aliases(self) -> Mapping[str, str]:
        """Alias to collection."""
        return self._catalog.aliases

    def names(self) -> list[str]:
        return sorted(self._open)

    def collections(self) -> Iterator[Collection]:
        yield from self._open.values()

    def has(self, name: str) -> bool:
        return self._resolve(name) in self._open

    def get(self, name: str) -> Collection:
        try:
            return self._open[self._resolve(name)]
        except KeyError:
            raise no_collection(name) from None

    def create(self, name: str, *, params: CollectionRequest) -> None:
        if name in self._open:
            raise TakenError(f"Wrong input: Collection `{name}` already exists!")
        if name in self.aliases:
            raise BadRequestError(f"Wrong input: Alias `{name}` already exists!")
        entry = Entry(folder=uuid4().hex, params=params)
        collection = Collection.create(self._folders / entry.folder, params=params)
        self._write(collections={**self._catalog.collections, name: entry}, aliases=self.aliases)
        self._open[name] = collection

    def delete(self, name: str) -> bool:
        """False when there is no such collection. Its aliases go with it."""
        if name not in self._open:
            return False
        left = dict(self._catalog.collections)
        entry = left.pop(name)
        kept = {alias: target for alias, target in self.aliases.items() if target != name}
        self._write(collections=left, aliases=kept)
        self._open.pop(name).close()
        shutil.rmtree(self._folders / entry.folder)
        return True

    def change_aliases(self, request: AliasRequest) -> None:
        """Apply the actions in their order, all of them or none."""
        aliases = dict(self.aliases)
        for action in request.actions:
            if isinstance(action, CreateAliasAction):
                alias, target = action.create_alias.alias_name, action.create_alias.collection_name
                if target not in self._open:
                    raise no_collection(target)
                if alias in self._open:
                    raise BadRequestError(f"Wrong input: Collection `{alias}` already exists!")
                aliases[alias] = target
            else:
                aliases.pop(action.delete_alias.alias_name, None)
        self._write(collections=self._catalog.collections, aliases=aliases)

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def _resolve(self, name: str) -> str:
        return self.aliases.get(name, name)

    def _read(self) -> Catalog:
        if not self._file.exists():
            return Catalog()
        return Catalog.model_validate_json(self._file.read_bytes())

    def _write(self, *, collections: Mapping[str, Entry], aliases: Mapping[str, str]) -> None:
        catalog = Catalog(collections=dict(collections), aliases=dict(aliases))
        draft = self._file.with_suffix(".new")
        with draft.open("w") as file:
            file.write(catalog.model_dump_json())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._file)
        _sync_folder(self._file.parent)
        self._catalog = catalog

    def _remove_unnamed(self) -> None:
        named = {entry.folder for entry in self._catalog.collections.values()}
        for folder in self._folders.iterdir():
            if folder.name not in named:
                shutil.rmtree(folder)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
