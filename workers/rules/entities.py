from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from shared.domain.memory import Entity
from shared.ports import NameTagger
from workers.rules.chinese_dates import chinese_dates
from workers.rules.codes import (
    errors,
    identifiers,
    named_orders,
    parameters,
    shaped_orders,
    trackings,
    versions,
)
from workers.rules.contacts import emails, phones, urls
from workers.rules.devices import devices
from workers.rules.english_dates import Order, english_dates
from workers.rules.money import money
from workers.rules.spans import Mention, first_claims, fold, has_han

# A code, a date or an address is never longer; text without a break is no text to look for one in.
_READ_CHARACTERS = 20_000
_DATE_ORDERS: dict[str, Order] = {"US": "MDY", "CN": "YMD"}
_SHORTEST_NAME = 2


def find_entities(
    text: str, *, language: str, base: datetime, tagger: NameTagger | None = None, region: str | None = None
) -> list[Entity]:
    """Entities in order of appearance, no two of them overlapping; each `text` is a part of `text`.

    `base` is the moment of speech in the speaker's zone: relative dates count from it. `region` (ISO 3166,
    by default China for Chinese and the United States else) reads national phone numbers and 3/5/2026.
    """
    mentions = find_mentions(text, language=language, base=base, tagger=tagger, region=region)
    return [mention.entity(text) for mention in mentions]


def find_mentions(
    text: str, *, language: str, base: datetime, tagger: NameTagger | None = None, region: str | None = None
) -> list[Mention]:
    """`find_entities` with offsets into `text`."""
    read = text[:_READ_CHARACTERS]
    where = region or ("CN" if language == "zh" else "US")
    return first_claims(
        [*_by_rule(read, language=language, base=base, region=where), *_names(read, tagger=tagger)]
    )


def _by_rule(text: str, *, language: str, base: datetime, region: str) -> Iterator[Mention]:
    """Surest first: what claims a span keeps it."""
    folded = fold(text)
    yield from urls(folded)
    yield from emails(folded)
    yield from identifiers(folded)
    yield from trackings(folded)
    yield from named_orders(folded)
    yield from money(folded, language=language)
    yield from phones(folded, region=region)
    yield from shaped_orders(folded)
    yield from _chinese(text, base=base)
    yield from english_dates(folded, base=base, order=_DATE_ORDERS.get(region, "DMY"))
    yield from devices(folded)
    yield from versions(folded)
    yield from errors(folded)
    yield from parameters(folded)


def _chinese(text: str, *, base: datetime) -> Iterator[Mention]:
    for found in chinese_dates(text, base=base) if has_han(text) else ():
        yield Mention(kind="date", start=found.start, end=found.end, value=found.value)


def _names(text: str, *, tagger: NameTagger | None) -> Iterator[Mention]:
    if tagger is None or not has_han(text):
        return
    for span in tagger.names(text):
        name = text[span.start : span.end]
        # The tagger guesses at English words inside Chinese text.
        if len(name) >= _SHORTEST_NAME and has_han(name):
            yield Mention(kind=span.kind, start=span.start, end=span.end, value=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityFinder:
    """`find_mentions` with what stays the same for a whole batch; `zone` is the customer's."""

    language: str
    tagger: NameTagger | None = None
    region: str | None = None
    zone: tzinfo | None = None

    def mentions(self, text: str, *, base: datetime) -> list[Mention]:
        local = base if self.zone is None else base.astimezone(self.zone)
        return find_mentions(text, language=self.language, base=local, tagger=self.tagger, region=self.region)

    def entities(self, text: str, *, base: datetime) -> Sequence[Entity]:
        return [mention.entity(text) for mention in self.mentions(text, base=base)]
