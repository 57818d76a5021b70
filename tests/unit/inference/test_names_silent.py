"""Reading names reports nothing to anybody: the runtime under the tagger would, unless it is told not to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

READ = "from shared.inference.names import LacNameTagger; print(LacNameTagger().names('我在杭州')[0].text)"


def test_reading_names_leaves_no_usage_session_behind(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    read = subprocess.run(
        [sys.executable, "-c", READ],
        env=environ | {"TMPDIR": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        check=True,
    )
    assert read.stdout.decode() == "杭州\n"
    assert not list(tmp_path.rglob(".ses"))
    assert not list(tmp_path.rglob("*icrosoft*"))
