"""The documents say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from infra.documents import example_environment, settings_table
from shared.broker import QUEUES
from shared.domain.steps import STEPS_OF

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def between(start: str) -> str:
    found = re.search(rf"<!-- {start} -->\n(.*?)\n<!-- /{start} -->", README, re.DOTALL)
    assert found is not None
    return found.group(1)


def test_the_readme_lists_every_setting_with_its_default() -> None:
    assert between("settings") == settings_table()


def test_the_example_environment_is_made_from_the_settings() -> None:
    assert (ROOT / ".env.example").read_text(encoding="utf-8") == example_environment()


def test_the_picture_shows_the_steps_of_a_batch_in_their_order() -> None:
    drawn = re.search(r"accept ─▶ batch ─▶ (.*)", README)
    assert drawn is not None
    stages = [stage.split(" ∥ ") for stage in drawn.group(1).split(" ─▶ ")]
    place = {step: number for number, stage in enumerate(stages) for step in stage}
    needs = STEPS_OF["live"]
    assert set(place) == {*needs, "index"}
    assert all(place[need] < place[step] for step in needs for need in needs[step])


def test_the_readme_gives_every_queue_a_worker() -> None:
    consumed = re.findall(r"turnkeep worker --queues (\S+)", README)
    assert {queue for queues in consumed for queue in queues.split(",")} == set(QUEUES)


def test_both_commands_set_up_and_run_in_one_line() -> None:
    for name, ending in (("demo", "turnkeep demo"), ("tests", "pytest")):
        command = between(name).removeprefix("```sh\n").removesuffix("\n```")
        assert "\n" not in command
        assert command.startswith("python3 -m venv .venv && ")
        assert command.endswith(f".venv/bin/{ending}")
