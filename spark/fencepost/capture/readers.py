"""Every kind of evidence, in the order in which its files are found and read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

from fencepost.capture.client_logs import CLIENT_LOGS
from fencepost.capture.kinds import Find, Kind
from fencepost.capture.log_dirs import find_files
from fencepost.capture.meta_properties import META_PROPERTIES_FILES
from fencepost.capture.metadata_snapshots import METADATA_SNAPSHOTS
from fencepost.capture.plan import Source
from fencepost.capture.request_logs import REQUEST_LOGS
from fencepost.capture.rows import OUTCOME, Rows, outcome, unreadable
from fencepost.capture.segments import SEGMENTS
from fencepost.capture.server_logs import BROKER_SETTINGS_LINES
from fencepost.capture.state_files import ABORTED_INDEXES, PRODUCER_SNAPSHOTS
from fencepost.protocols import protocols

_TEXT = (CLIENT_LOGS, REQUEST_LOGS, BROKER_SETTINGS_LINES)
_OF_PARTITIONS = (METADATA_SNAPSHOTS, PRODUCER_SNAPSHOTS, SEGMENTS, ABORTED_INDEXES)


@cache
def kinds() -> dict[str, Kind]:
    """Every kind by its name, including those of protocols.

    The order matters because logs grow while they are read. Logs in text come first: the records that a line
    is about are then in the segments, which are read later. For the same reason snapshots come before
    segments, and segments before the index of aborted transactions.
    """
    of_protocols = (kind for protocol in protocols() for kind in protocol.kinds())
    return {kind.name: kind for kind in (*_TEXT, META_PROPERTIES_FILES, *of_protocols, *_OF_PARTITIONS)}


def finds() -> tuple[Find, ...]:
    """The functions that find files, in this order.

    The partitions of applications come before those of coordinators: the coordinator's log, which is read
    last, then has everything that the partitions depend on.
    """
    all_kinds = tuple(kinds().values())
    of_kinds = tuple(kind.find for kind in all_kinds if kind.find)
    return (*of_kinds, *(partial(find_files, all_kinds, internal=internal) for internal in (False, True)))


def read_all(sources: Sequence[Source]) -> Rows:
    """The rows of every source, each read once.

    A source that cannot be read has no progress, so the next run reads the same range again, and rows that
    were already read are not added twice. A source that does not exist any more was renamed or deleted after
    it was found: the next run finds it under its new name, or it is lost.
    """
    for source in sources:
        try:
            yield from kinds()[source.kind].rows(source)
        except FileNotFoundError:
            continue
        except OSError as error:
            yield OUTCOME, outcome(source, [unreadable(source, error)])
