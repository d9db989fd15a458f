"""Makes the lab's modules importable by its tests, as ``python tests/lab/record.py`` does for itself."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
