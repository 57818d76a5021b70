from __future__ import annotations

import pytest
from typer.testing import CliRunner

from infra.cli import app

COMMANDS = (
    ["demo"],
    ["up"],
    ["gateway"],
    ["worker"],
    ["beat"],
    ["migrate"],
    ["import"],
    ["doctor"],
    ["keys", "create"],
    ["keys", "list"],
    ["keys", "revoke"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_of_each_command_shows_an_example(command: list[str]) -> None:
    shown = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert shown.exit_code == 0
    assert "Example: " in shown.stdout
    assert f"turnkeep {' '.join(command)}" in shown.stdout


def test_there_is_no_command_without_a_test_of_its_help() -> None:
    alone = {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}
    groups = {
        group.typer_instance.info.name for group in app.registered_groups if group.typer_instance is not None
    }
    assert alone | groups == {command[0] for command in COMMANDS}


@pytest.mark.parametrize("arguments", [["nothing"], ["up", "--workers", "0"], ["up", "--port", "70000"]])
def test_a_wrong_use_ends_with_code_2(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, arguments).exit_code == 2
