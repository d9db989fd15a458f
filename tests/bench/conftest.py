"""Makes the generator of bench/fencing importable, as its own scripts do for themselves."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "fencing"))
