"""A wrong setting stops the start with one sentence that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared import composition
from shared.domain.errors import SettingsError
from shared.settings import load, require


def test_nothing_set_is_all_defaults() -> None:
    settings = load({"PATH": "/bin", "HOME": "/root"})
    assert settings.flush.rounds == 3
    assert settings.embedder.name == "bundled"
    assert settings.postgres.url is None


def test_a_setting_is_spelled_by_area_and_key() -> None:
    settings = load({"TURNKEEP_FLUSH__ROUNDS": "1", "TURNKEEP_EMBEDDER__NAME": "hashing"})
    assert (settings.flush.rounds, settings.embedder.name) == (1, "hashing")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("TURNKEEP_FLUSH__ROUNDS", "many", "TURNKEEP_FLUSH__ROUNDS is wrong"),
        ("TURNKEEP_FLUSH__ROUNDS", "0", "TURNKEEP_FLUSH__ROUNDS is wrong"),
        ("TURNKEEP_EMBEDDER__NAME", "word2vec", "TURNKEEP_EMBEDDER__NAME is wrong"),
        ("TURNKEEP_FLUSH__ROUND", "3", "TURNKEEP_FLUSH__ROUND is not a setting"),
        ("TURNKEEP_FLASH__ROUNDS", "3", "TURNKEEP_FLASH is not a setting"),
        ("TURNKEEP_SECURITY__PEPPER_FILE", "/does/not/exist", "cannot be read"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str, says: str) -> None:
    with pytest.raises(SettingsError, match=says) as caught:
        load({name: value})
    assert "\n" not in str(caught.value)


def test_what_kubernetes_injects_for_a_service_of_our_name_is_no_setting() -> None:
    load(
        {
            "TURNKEEP_PORT": "tcp://10.0.0.1:80",
            "TURNKEEP_PORT_80_TCP": "x",
            "TURNKEEP_SERVICE_HOST": "10.0.0.1",
        }
    )


def test_a_secret_may_stand_in_a_file_and_is_not_shown(tmp_path: Path) -> None:
    secret = tmp_path / "pepper"
    secret.write_text("胡椒" * 20 + "\n", encoding="utf-8")
    settings = load({"TURNKEEP_SECURITY__PEPPER_FILE": str(secret)})
    assert require(settings.security.pepper, name="…") == "胡椒" * 20
    assert "胡椒" not in repr(settings)


def test_what_is_needed_and_unset_is_named_with_the_next_step() -> None:
    with pytest.raises(SettingsError, match=r"TURNKEEP_BROKER__URL is not set; .* `turnkeep up`"):
        require(load({}).broker.url, name="TURNKEEP_BROKER__URL")


def test_a_short_pepper_is_refused() -> None:
    with pytest.raises(SettingsError, match="TURNKEEP_SECURITY__PEPPER has 5 characters"):
        composition.pepper(load({"TURNKEEP_SECURITY__PEPPER": "short"}))


def test_shares_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(SettingsError, match="add up to 1"):
        composition.budget_split(load({"TURNKEEP_RECALL__WORKING": "0.5"}))
