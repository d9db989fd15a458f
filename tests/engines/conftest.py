"""Back ends of tasks, and what they leave in a lake; the support module beside this file."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).with_name("support")))
# what a lake holds, less what tells of the runs
sys.path.append(str(Path(__file__).resolve().parents[1] / "arrivals"))

from audit_sites import CAPTURE, TELLS


@pytest.fixture
def logs(captures: Path, tmp_path: Path) -> Path:
    """The files of a capture, and a configuration by which somebody is told of incidents."""
    folder = tmp_path / "logs"
    shutil.copytree(captures / CAPTURE, folder)
    config, recipient = folder / "fencepost.toml", json.dumps([sys.executable, "-c", TELLS])
    config.write_text(
        f"{config.read_text()}\n[[alerts]]\nname = 'somebody'\ncommand = {recipient}\n"
        "on = ['new']\n\n[engine]\nrun_on = 'process'\n"
    )
    return folder
