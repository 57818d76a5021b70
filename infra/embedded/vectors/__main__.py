"""`python -m infra.embedded.vectors --data-dir D --port P`; the API key comes from the environment."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import uvicorn

from infra.embedded.loopback import HOST
from infra.embedded.vector_server import API_KEY_VARIABLE
from infra.embedded.vectors.app import create_app

_STOP_SECONDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m infra.embedded.vectors", description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    api_key = os.environ.get(API_KEY_VARIABLE)
    if not api_key:
        sys.exit(f"Set {API_KEY_VARIABLE}: the vector server answers nobody without a key.")
    uvicorn.run(
        create_app(arguments.data_dir, api_key=api_key),
        host=HOST,
        port=arguments.port,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=_STOP_SECONDS,
    )


if __name__ == "__main__":
    main()
