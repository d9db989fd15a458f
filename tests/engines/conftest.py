"""Back ends of tasks, and what they leave in a lake; the support module beside this file."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).with_name("support")))
# what a lake holds, less what tells of the runs
sys.path.append(str(Path(__file__).resolve().parents[1] / "arrivals"))
