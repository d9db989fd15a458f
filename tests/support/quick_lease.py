"""The commands of fencepost, where a lease ends after seconds: a test need not wait for minutes."""

from __future__ import annotations

import sys

from fencepost import cli, lease

ENDED_S = 4.0

if __name__ == "__main__":
    lease.RENEWED_S, lease.LOST_S, lease.ENDED_S = 0.5, 3.0, ENDED_S
    sys.exit(cli.main())
