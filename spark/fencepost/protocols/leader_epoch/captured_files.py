"""How the files in partitions' folders were when they were read last, by rows of ``bronze.files``."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.log_dirs import base_offset
from fencepost.capture.plan import SEGMENT
from fencepost.protocols.leader_epoch.capture.partition_files import LEADER_EPOCHS
from fencepost.protocols.leader_epoch.checkpoints import LastRead
from fencepost.replay.entities import tuples

Folder = tuple[int, str, str]
Segments = Mapping[tuple[int, str, str], tuple[int, int | None]]
"""By broker, file and topic id: size and the offset behind the last batch."""


@dataclass(frozen=True, slots=True)
class CapturedFiles:
    """The files of one cluster. ``consumed_to``: by (broker, segment), up to which byte it was read last;
    ``ends``: by broker, folder and topic id ('' for none), the end of the replica's log; ``empty``: those in
    which no segment has a byte.
    """

    consumed_to: Mapping[tuple[int, str], int] = field(default_factory=dict)
    ends: Mapping[Folder, int] = field(default_factory=dict)
    empty: Set[Folder] = frozenset()
    checkpoints: LastRead = field(default_factory=dict)

    def end_of(self, broker_id: int, topic: str, topic_id: str | None, partition: int) -> int | None:
        """The end of a broker's log of a partition of an incarnation that lives."""
        name = f"/{topic}-{partition}"
        ends = [
            end
            for (broker, folder, of), end in self.ends.items()
            if (broker, of) == (broker_id, topic_id or "") and folder.endswith(name)
        ]
        return max(ends, default=None)


def captured_files(files: pa.Table) -> dict[str, CapturedFiles]:
    """By cluster, from rows of ``bronze.files``."""
    rows = files.filter(pc.is_in(files["kind"], pa.array([SEGMENT, LEADER_EPOCHS.name])))
    names = (
        "cluster", "kind", "broker_id", "file", "topic_id", "size", "consumed_to", "head_digest",
        "next_offset",
    )  # fmt: skip
    consumed: dict[str, dict[tuple[int, str], int]] = {}
    segments: dict[str, dict[tuple[int, str, str], tuple[int, int | None]]] = {}
    checkpoints: dict[str, dict[tuple[int, str, str], tuple[str, int]]] = {}
    for cluster, kind, broker_id, file, topic_id, size, consumed_to, digest, next_offset in tuples(
        rows.sort_by("captured_at").select(names)
    ):
        place = (broker_id, file, topic_id or "")
        if kind == SEGMENT:
            consumed.setdefault(cluster, {})[broker_id, file] = consumed_to
            segments.setdefault(cluster, {})[place] = (size, next_offset)
        else:
            checkpoints.setdefault(cluster, {})[place] = (digest, consumed_to)
    return {
        cluster: CapturedFiles(
            consumed.get(cluster, {}), *_ends(segments.get(cluster, {})), checkpoints.get(cluster, {})
        )
        for cluster in {*consumed, *checkpoints}
    }


def _ends(segments: Segments) -> tuple[dict[Folder, int], set[Folder]]:
    """``ends`` and ``empty`` of CapturedFiles."""
    ends: dict[Folder, int] = {}
    written: set[Folder] = set()
    for (broker_id, file, topic_id), (size, next_offset) in segments.items():
        folder = (broker_id, file.rpartition("/")[0], topic_id)
        ends[folder] = max(ends.get(folder, 0), base_offset(file), next_offset or 0)
        if size:
            written.add(folder)
    return ends, ends.keys() - written
