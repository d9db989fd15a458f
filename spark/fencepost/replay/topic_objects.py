"""Reads lists of topics and partitions, as the JSON of requests and answers has them, into a row for each
partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.entities import numbered_rows, numbered_values
from fencepost.replay.keys import ZERO_ID
from fencepost.replay.logs import Longs, longs

Columns = dict[str, pa.Array]


@dataclass(frozen=True)
class TopicList:
    """How to read a list of topics. ``name``: the field that has the list; ``number``: the field that has a
    partition's number; ``members``: column -> path (with dots) and type of a partition's field to be read.
    """

    name: str
    number: str
    members: Mapping[str, tuple[str, pa.DataType]]

    @property
    def type(self) -> pa.DataType:
        """Arrow's type of the list. Versions before topic ids have the topic's name in ``topic`` or
        ``name``.
        """
        partition = struct({self.number: pa.int32(), **dict(self.members.values())})
        names = dict.fromkeys(("topic", "name", "topicId"), pa.string())
        return pa.list_(pa.struct({**names, "partitions": pa.list_(partition)}))

    def read(self, lists: pa.ListArray) -> tuple[Longs, Columns]:
        """The partitions in such lists: for each the number of its list, and the columns ``topic`` and
        ``topic_id`` (null for none), ``partition``, and those of ``members``.
        """
        each, of = pc.list_flatten(lists), pc.list_parent_indices(lists)
        name = pc.coalesce(pc.struct_field(each, "topic"), pc.struct_field(each, "name"))
        topic_id = pc.struct_field(each, "topicId")
        partitions = pc.struct_field(each, "partitions")
        topic = pc.list_parent_indices(partitions)
        partition = pc.list_flatten(partitions)
        return longs(of.take(topic)), {
            "topic": _unless(name, "").take(topic),
            "topic_id": _unless(topic_id, ZERO_ID).take(topic),
            "partition": pc.struct_field(partition, self.number),
            **{
                column: pc.struct_field(partition, path.split("."))
                for column, (path, _) in self.members.items()
            },
        }


def struct(members: Mapping[str, pa.DataType]) -> pa.StructType:
    """The type of an object with these fields; fields of inner objects have paths with dots."""
    own: dict[str, pa.DataType] = {}
    inner: dict[str, dict[str, pa.DataType]] = {}
    for path, kind in members.items():
        name, _, rest = path.partition(".")
        if rest:
            inner.setdefault(name, {})[rest] = kind
        else:
            own[name] = kind
    return pa.struct({**own, **{name: struct(of) for name, of in inner.items()}})


def places(line: Longs, requested: Columns, of: Longs, answered: Columns) -> tuple[Longs, Longs]:
    """Numbers for the partitions of requests and for those of answers: equal ones if line and partition are.

    ``line``: the line of each requested partition; ``of``: the line of each answered one.
    """
    names = ("topic", "topic_id")
    numbers = [
        numbered_values(*(pa.chunked_array([each[name]]) for each in (requested, answered))) for name in names
    ]
    partitions = [longs(pc.fill_null(each["partition"], -1)) for each in (requested, answered)]
    place = numbered_rows(*map(np.concatenate, ((line, of), *numbers, partitions)))
    return place[: len(line)], place[len(line) :]


def last_at(own: Longs, others: Longs) -> Longs:
    """For each of ``own`` the place of the last equal number among ``others``; -1 for none."""
    newest = np.full(max(own.max(initial=-1), others.max(initial=-1)) + 1, -1)
    newest[others] = np.arange(len(others))
    found: Longs = newest[own]
    return found


def _unless(values: pa.Array, nothing: str) -> pa.Array:
    return pc.if_else(pc.equal(values, nothing), None, values)
