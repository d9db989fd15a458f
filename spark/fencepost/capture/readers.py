"""Every kind of evidence, in the order in which it is looked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

from fencepost.capture.client_logs import CLIENT_LOGS
from fencepost.capture.kinds import Find, Kind
from fencepost.capture.log_dirs import find_files
from fencepost.capture.metadata_snapshots import METADATA_SNAPSHOTS
from fencepost.capture.plan import Source
from fencepost.capture.request_logs import REQUEST_LOGS
from fencepost.capture.rows import OUTCOME, Rows, outcome, unreadable
from fencepost.capture.segments import SEGMENTS
from fencepost.capture.state_files import ABORTED_INDEXES, PRODUCER_SNAPSHOTS
from fencepost.protocols import protocols

_TEXT = (CLIENT_LOGS, REQUEST_LOGS)
_OF_PARTITIONS = (METADATA_SNAPSHOTS, PRODUCER_SNAPSHOTS, SEGMENTS, ABORTED_INDEXES)


@cache
def kinds() -> dict[str, Kind]:
    """Every kind by its name, those of the protocols among them.

    Logs in text come first: whatever a line read here speaks of, the segments read afterwards hold already.
    So do state files: what a snapshot tells, the segment read after it holds. What a segment holds, the index
    read after it tells.
    """
    own = (kind for protocol in protocols() for kind in protocol.kinds())
    return {kind.name: kind for kind in (*_TEXT, *own, *_OF_PARTITIONS)}


def finds() -> tuple[Find, ...]:
    """How files are found, in this order.

    Of the folders of partitions those of applications come first: whatever they hold, the coordinator's log
    that is read last knows already.
    """
    every = tuple(kinds().values())
    in_text = tuple(kind.find for kind in every if kind.find)
    return (*in_text, *(partial(find_files, every, internal=internal) for internal in (False, True)))


def read_all(sources: Sequence[Source]) -> Rows:
    """The rows of every source, each read once.

    One that cannot be read has no progress, so the next run reads the same range again; what was read of it
    until then counts once. One that is gone was renamed or deleted since it was found: the next run finds it
    under its new name, or nothing is left to be read.
    """
    for source in sources:
        try:
            yield from kinds()[source.kind].rows(source)
        except FileNotFoundError:
            continue
        except OSError as error:
            yield OUTCOME, outcome(source, [unreadable(source, error)])
