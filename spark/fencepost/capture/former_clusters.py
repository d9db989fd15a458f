"""Compares log directories with the cluster that the lake has under their cluster's name.

If all disks of a cluster are formatted again, or are restored from older copies, or another cluster's
directories are configured in its place, the same place in a log has another record: two histories would be
taken for one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from operator import ne

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.files import inside, names, opened
from fencepost.capture.identities import log_dirs, meta_properties
from fencepost.capture.plan import SEGMENT, Plan, Source
from fencepost.capture.whole import windows
from fencepost.settings import Cluster, Settings, SettingsError
from fencepost.tables import BATCHES, LOG_DIRS

_LOG = "__cluster_metadata"
_HEADER = struct.Struct(">qiibIhiq")
"""Of a batch: its base offset, length, leader epoch, magic, CRC, attributes, last offset delta and base
timestamp (DefaultRecordBatch).
"""
_CONTENT = ("base_offset", "leader_epoch", "crc", "base_timestamp_ms")
_REMEDY = 'What was read stays as it is: give this cluster another name ("name" of the cluster).'


def check_former_clusters(settings: Settings, catalog: Catalog) -> None:
    """Raises SettingsError if a log directory is of another cluster than the one that the lake has under its
    name, or of a metadata log that began anew.
    """
    where = [{"cluster": each.name} for each in settings.clusters]
    known = lake.scan(catalog, LOG_DIRS, ("cluster", "broker_id", "cluster_id", "directory_id"), where)
    mistakes = [
        f"{settings.path}: clusters[{number}]: {mistake}"
        for number, cluster in enumerate(settings.clusters)
        for mistake in _mistakes(
            cluster, [row for row in known.to_pylist() if row["cluster"] == cluster.name], catalog
        )
    ]
    if mistakes:
        raise SettingsError("\n".join(mistakes))


def _mistakes(cluster: Cluster, known: list[dict[str, str]], catalog: Catalog) -> Iterator[str]:
    cluster_ids, directories = (
        {row[name] for row in known} - {None} for name in ("cluster_id", "directory_id")
    )
    for path in (path for broker in cluster.brokers for path in log_dirs(broker)):
        says = meta_properties(path)
        own = says.get("cluster.id")
        if own and cluster_ids and own not in cluster_ids:
            yield (
                f"{path} is of the cluster {own}, and the lake has {', '.join(sorted(cluster_ids))} under "
                f"the name {cluster.name}. {_REMEDY}"
            )
        elif (
            says.get("directory.id", "") not in directories and known and _began_anew(cluster, path, catalog)
        ):
            yield f"{path} was formatted again since it was read, and the cluster began anew. {_REMEDY}"


def _began_anew(cluster: Cluster, path: str, catalog: Catalog) -> bool:
    """Whether the first batch of a metadata log is another one than the lake has at its offset."""
    folder = inside(path, f"{_LOG}-0")
    try:
        first = min((name for name in names(folder) if name.endswith(".log")), default=None)
        if first is None:
            return False
        with opened(inside(folder, first)) as file:
            offset, _, _, _, crc, _, _, ms = _HEADER.unpack(file.read(_HEADER.size))
    except (OSError, struct.error):
        return False
    where = [{"cluster": cluster.name, "topic": _LOG, "base_offset": offset}]
    rows = lake.scan(catalog, BATCHES, ("crc", "base_timestamp_ms"), where).to_pylist()
    # a damaged byte changes one of the two
    return bool(rows) and all(row["crc"] != crc and row["base_timestamp_ms"] != ms for row in rows)


def check_restored(plan: Plan, catalog: Catalog) -> None:
    """Raises SettingsError if a metadata log has other batches than the lake at the same offsets of the same
    leader epoch, which replicas never have: its cluster was set back to an older state, and went on from
    there.
    """
    # a file of which the beginning was read, and still is as it was, is read on
    anew = [each for each in plan.sources if each.kind == SEGMENT and each.topic == _LOG and not each.start]
    of_lake = {each: _content_of(each, catalog) for each in {source.cluster for source in anew}}
    for source in anew:
        offset = _first_other(source, of_lake[source.cluster])
        if offset is not None:
            raise SettingsError(
                f"{source.file} goes on from offset {offset} with other records than when it was read: "
                f"the disks of {source.cluster} were restored from older copies. {_REMEDY}"
            )


def _content_of(cluster: str, catalog: Catalog) -> Mapping[tuple[int, int], list[int]]:
    """What the lake has of each batch of a metadata log, by offset and leader epoch."""
    known = lake.scan(catalog, BATCHES, _CONTENT, [{"cluster": cluster, "topic": _LOG}])
    return {(offset, epoch): content for offset, epoch, *content in _rows(known)}


def _first_other(source: Source, of_lake: Mapping[tuple[int, int], list[int]]) -> int | None:
    """The first offset at which a segment has another batch than the lake; None without several such."""
    if not of_lake:
        return None
    others = [
        offset
        for window in windows(source)
        for offset, epoch, *content in _rows(window.walk.batches.select(_CONTENT))
        # a damaged byte changes one of the two
        if all(map(ne, content, of_lake.get((offset, epoch), content)))
    ]
    return others[0] if len(others) > 1 else None


def _rows(batches: pa.Table) -> Iterator[tuple[int, ...]]:
    return zip(*(batches[name].to_pylist() for name in _CONTENT), strict=True)
