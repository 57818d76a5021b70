"""LoCoMo conversations as NDJSON for `turnkeep import`, one turn a line.

    python -m tests.bench.locomo --data locomo.json.gz --conversation 0 --out turns.ndjson

Turns keep LoCoMo's own ids (`D1:3`), by which its questions name their evidence. The data set is no part of
the project: give the path of a copy.
"""

import gzip
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import orjson
import typer
from pydantic import BaseModel, TypeAdapter

SESSION = re.compile(r"session_(\d+)")
# Two people who write to each other: far enough apart to be in order, near enough to stay in their session.
PACE = timedelta(seconds=20)
WHEN = "%I:%M %p on %d %B, %Y"
Line = dict[str, object]


class Utterance(BaseModel):
    speaker: str
    dia_id: str
    text: str
    img_url: list[str] = []
    blip_caption: str = ""


class Conversation(BaseModel):
    """`conversation` holds the speakers and, by number, each session's turns and its date."""

    sample_id: str
    conversation: Mapping[str, object]


UTTERANCES = TypeAdapter(list[Utterance])
CONVERSATIONS = TypeAdapter(list[Conversation])


def read(path: Path) -> Sequence[Conversation]:
    content = path.read_bytes()
    return CONVERSATIONS.validate_json(gzip.decompress(content) if path.suffix == ".gz" else content)


def lines(conversation: Conversation) -> Iterator[Line]:
    """Speaker A is the user, speaker B the assistant; sessions in their order, dates taken as UTC."""
    said = conversation.conversation
    numbers = sorted(int(match[1]) for key in said if (match := SESSION.fullmatch(key)))
    for number in numbers:
        started = session_date(str(said[f"session_{number}_date_time"]))
        for place, utterance in enumerate(UTTERANCES.validate_python(said[f"session_{number}"])):
            yield {
                "session_id": f"{conversation.sample_id}/{number}",
                "user_id": conversation.sample_id,
                "id": utterance.dia_id,
                "role": "user" if utterance.speaker == said["speaker_a"] else "assistant",
                "name": utterance.speaker,
                "content": content_of(utterance),
                "created_at": (started + place * PACE).isoformat(),
            }


def session_date(text: str) -> datetime:
    """Of `1:56 pm on 8 May, 2023`."""
    return datetime.strptime(text, WHEN).replace(tzinfo=UTC)


def content_of(utterance: Utterance) -> str | list[Line]:
    """Parts where a picture was shared. One whose address is lost is told by its caption alone."""
    if utterance.img_url:
        pictures: list[Line] = [
            {"type": "image_url", "image_url": {"url": url}, "caption": utterance.blip_caption}
            for url in utterance.img_url
        ]
        return [{"type": "text", "text": utterance.text}, *pictures]
    if utterance.blip_caption:
        return f"{utterance.text}\n[image: {utterance.blip_caption}]"
    return utterance.text


def main(
    data: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="LoCoMo as JSON, gzipped or not")],
    out: Annotated[str, typer.Option(help="File to write, or - for standard output")] = "-",
    conversation: Annotated[int | None, typer.Option(help="Only this one, from 0; all if not given")] = None,
) -> None:
    found = read(data)
    if conversation is not None and not 0 <= conversation < len(found):
        raise typer.BadParameter(f"there are {len(found)} conversations: 0 to {len(found) - 1}")
    chosen = found if conversation is None else [found[conversation]]
    written = b"".join(orjson.dumps(line) + b"\n" for each in chosen for line in lines(each))
    if out == "-":
        sys.stdout.buffer.write(written)
    else:
        Path(out).write_bytes(written)


if __name__ == "__main__":
    typer.run(main)
