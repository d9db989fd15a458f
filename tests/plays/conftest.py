"""Makes the lab's modules and the package ``plays`` importable, as ``make plays`` does for itself."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / "lab"), str(Path(__file__).parents[1])]
