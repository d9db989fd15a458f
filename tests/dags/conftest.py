"""What a lake holds, less what tells of the runs, for tests of DAGs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "arrivals"))
