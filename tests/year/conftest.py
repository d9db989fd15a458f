"""Makes the generators of bench importable, as their own scripts do for themselves."""

from __future__ import annotations

import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path += [str(BENCH / name) for name in ("fencing", "incarnations", "rebalances", "producers")]
sys.path.append(str(Path(__file__).parent))
