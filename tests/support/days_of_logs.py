"""Write the files that a generated cluster has some days after its begin: ``FOLDER DAYS``. Its generators, in
tests/year and bench, must be on Python's path.
"""

from __future__ import annotations

import sys
from pathlib import Path

from calendar_of import BEGIN_MS, DAY_MS, Calendar
from cluster_files import Brokers
from history import History

MOST_DAYS = 16
"""Nothing is old enough to be deleted in the first eleven."""

if __name__ == "__main__":
    brokers = Brokers(History(Calendar(MOST_DAYS)), Path(sys.argv[1]))
    for day in range(1, int(sys.argv[2]) + 1):
        brokers.advance(BEGIN_MS + day * DAY_MS, deletes=False)
