"""A PostgreSQL server and an S3 server for one test."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).with_name("support")))
# what a lake holds, less what tells of the runs
sys.path.append(str(Path(__file__).resolve().parents[1] / "arrivals"))

from servers import VARIABLES, Stores, postgresql, s3


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stores]:
    """Both servers, for one test."""
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    # a folder of pytest is its user's alone, and PostgreSQL runs as another one
    folder = Path("/tmp") / f"stores-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o755)
    try:
        with postgresql(folder / "postgresql") as database, s3(folder / "s3") as store:
            yield Stores(database, store, folder / "s3")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
