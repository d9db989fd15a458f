"""Every kind of evidence, in the order in which it is looked for."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.capture.client_logs import CLIENT_LOGS
from fencepost.capture.kinds import Find, Kind
from fencepost.capture.plan import Source
from fencepost.capture.request_logs import REQUEST_LOGS
from fencepost.capture.rows import OUTCOME, Rows, outcome, unreadable
from fencepost.capture.segments import SEGMENTS
from fencepost.capture.state_files import ABORTED_INDEXES, PRODUCER_SNAPSHOTS

# Logs in text first: whatever a line read here speaks of, the segments read afterwards hold already.
KINDS: tuple[Kind, ...] = (CLIENT_LOGS, REQUEST_LOGS, SEGMENTS, PRODUCER_SNAPSHOTS, ABORTED_INDEXES)
OF_NAME = {kind.name: kind for kind in KINDS}


def finds() -> tuple[Find, ...]:
    """How files are found, each way once."""
    return tuple(dict.fromkeys(find for kind in KINDS for find in kind.finds))


def read_all(sources: Sequence[Source]) -> Rows:
    """The rows of every source, each read once.

    One that cannot be read has no progress, so the next run reads the same range again; what was read of it
    until then counts once. One that is gone was renamed or deleted since it was found: the next run finds it
    under its new name, or nothing is left to be read.
    """
    for source in sources:
        try:
            yield from OF_NAME[source.kind].rows(source)
        except FileNotFoundError:
            continue
        except OSError as error:
            yield OUTCOME, outcome(source, [unreadable(source, error)])
