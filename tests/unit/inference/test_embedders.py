from __future__ import annotations

import os
import subprocess
import sys

import pytest

from shared.domain.errors import SettingsError
from shared.inference.embedders import make_embedder
from shared.inference.embedders.bundled import BundledEmbedder
from shared.text.vectors import cosine


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError, match="choose one of bundled, sentence-transformers, openai, hashing"):
        make_embedder("bert")


@pytest.mark.parametrize("name", ["sentence-transformers", "openai"])
def test_an_embedder_of_many_models_needs_one_named(name: str) -> None:
    with pytest.raises(SettingsError, match="needs a model"):
        make_embedder(name)


def test_hashing_gives_the_same_vector_in_another_process() -> None:
    script = (
        "from shared.inference.embedders import make_embedder\n"
        "print(repr(make_embedder('hashing').passages(['订单 TK-88213 退款'])[0]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONHASHSEED": "7"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == repr(make_embedder("hashing").passages(["订单 TK-88213 退款"])[0])


def test_bundled_tells_queries_from_passages() -> None:
    embedder = BundledEmbedder()
    text = "When does my parcel arrive?"
    assert cosine(embedder.query(text, deadline=60), embedder.passages([text])[0]) < 0.999


@pytest.mark.parametrize("unit", ["word ", "电池充不进电。", "a", "😀"])
def test_bundled_reads_a_long_text_up_to_the_limit_of_the_model_only(unit: str) -> None:
    embedder = BundledEmbedder()
    text = unit * (20_000 // len(unit))
    assert embedder.passages([text]) == embedder.passages([text + "Where is my refund? 退款"])


def test_bundled_does_not_stop_at_a_nul_character() -> None:
    embedder = BundledEmbedder()
    first, second = embedder.passages(["refund\x00 battery", "refund\x00 keyboard"])
    assert first != second


def test_bundled_used_before_a_fork_is_an_error_in_the_child_instead_of_a_hang() -> None:
    script = (
        "import os, sys\n"
        "from shared.domain.errors import EmbedderUnavailable\n"
        "from shared.inference.embedders.bundled import BundledEmbedder\n"
        "embedder = BundledEmbedder()\n"
        "embedder.passages(['a', 'b'])\n"
        "child = os.fork()\n"
        "if child:\n"
        "    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "try:\n"
        "    embedder.passages(['a', 'b'])\n"
        "except EmbedderUnavailable:\n"
        "    os._exit(42)\n"
        "os._exit(1)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=60).returncode == 42


def test_sentence_transformers_without_the_extra_says_how_to_install_it() -> None:
    script = (
        "import sys\n"
        "sys.modules['sentence_transformers'] = None\n"
        "from shared.inference.embedders import make_embedder\n"
        "make_embedder('sentence-transformers', model='/models/mine')"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert "SettingsError: The embedder sentence-transformers needs an extra: pip install" in done.stderr


@pytest.mark.sentence_transformers
def test_sentence_transformers_never_downloads_a_model_that_is_not_there() -> None:
    with pytest.raises(SettingsError, match="neither a model folder nor in the local cache"):
        make_embedder("sentence-transformers", model="nobody/no-such-model")
