"""How the files in partitions' folders were when they were read last, by rows of ``bronze.files``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.log_dirs import base_offset
from fencepost.capture.plan import SEGMENT
from fencepost.protocols.leader_epoch.capture.partition_files import LEADER_EPOCHS
from fencepost.protocols.leader_epoch.checkpoints import LastRead
from fencepost.replay.entities import tuples


@dataclass(frozen=True, slots=True)
class CapturedFiles:
    """The files of one cluster. ``consumed_to``: by (broker, segment), up to which byte it was read last;
    ``empty_at``: by broker, folder and topic id ('' for none), the end of a log whose segments in that folder
    have no byte.
    """

    consumed_to: Mapping[tuple[int, str], int] = field(default_factory=dict)
    empty_at: Mapping[tuple[int, str, str], int] = field(default_factory=dict)
    checkpoints: LastRead = field(default_factory=dict)


def captured_files(files: pa.Table) -> dict[str, CapturedFiles]:
    """By cluster, from rows of ``bronze.files``."""
    rows = files.filter(pc.is_in(files["kind"], pa.array([SEGMENT, LEADER_EPOCHS.name])))
    names = ("cluster", "kind", "broker_id", "file", "topic_id", "size", "consumed_to", "head_digest")
    consumed: dict[str, dict[tuple[int, str], int]] = {}
    sizes: dict[str, dict[tuple[int, str, str], int]] = {}
    checkpoints: dict[str, dict[tuple[int, str, str], tuple[str, int]]] = {}
    for cluster, kind, broker_id, file, topic_id, size, consumed_to, digest in tuples(
        rows.sort_by("captured_at").select(names)
    ):
        place = (broker_id, file, topic_id or "")
        if kind == SEGMENT:
            consumed.setdefault(cluster, {})[broker_id, file] = consumed_to
            sizes.setdefault(cluster, {})[place] = size
        else:
            checkpoints.setdefault(cluster, {})[place] = (digest, consumed_to)
    return {
        cluster: CapturedFiles(
            consumed.get(cluster, {}), _empty_at(sizes.get(cluster, {})), checkpoints.get(cluster, {})
        )
        for cluster in {*consumed, *checkpoints}
    }


def _empty_at(sizes: Mapping[tuple[int, str, str], int]) -> dict[tuple[int, str, str], int]:
    """The first offset of the newest segment of each folder without a byte in any."""
    ends: dict[tuple[int, str, str], int] = {}
    written = set()
    for (broker_id, file, topic_id), size in sizes.items():
        folder = (broker_id, file.rpartition("/")[0], topic_id)
        ends[folder] = max(ends.get(folder, 0), base_offset(file))
        if size:
            written.add(folder)
    return {folder: end for folder, end in ends.items() if folder not in written}
