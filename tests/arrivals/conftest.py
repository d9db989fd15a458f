"""Audits of captures whose files arrive piece by piece."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
