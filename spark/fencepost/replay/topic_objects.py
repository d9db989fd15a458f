"""Topics and their partitions, as the JSON of requests and answers lists them: a row for each partition."""

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
    """A list of topics: the member that has it, and of each partition the member that is its number, and
    those that are read, by the column that each is read into: its path, with dots, and its type.
    """

    name: str
    number: str
    members: Mapping[str, tuple[str, pa.DataType]]

    @property
    def type(self) -> pa.DataType:
        """Arrow's type of the list; topics of before topic ids are called ``topic`` or ``name``."""
        partition = struct({self.number: pa.int32(), **dict(self.members.values())})
        names = dict.fromkeys(("topic", "name", "topicId"), pa.string())
        return pa.list_(pa.struct({**names, "partitions": pa.list_(partition)}))

    def read(self, lists: pa.ListArray) -> tuple[Longs, Columns]:
        """The partitions of such lists: the number of the list, and columns: ``topic`` and ``topic_id``, null
        for none, ``partition``, and the members.
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
    """Of members, and of members of members: their paths have dots."""
    own: dict[str, pa.DataType] = {}
    inner: dict[str, dict[str, pa.DataType]] = {}
    for path, kind in members.items():
        name, _, rest = path.partition(".")
        if rest:
            inner.setdefault(name, {})[rest] = kind
        else:
            own[name] = kind
    return pa.struct({**own, **{name: struct(of) for name, of in inner.items()}})


def places(line: Longs, asked: Columns, of: Longs, told: Columns) -> tuple[Longs, Longs]:
    """A number for each partition of each line (``line``, ``of``), the same in requests and answers."""
    names = ("topic", "topic_id")
    numbers = [numbered_values(*(pa.chunked_array([each[name]]) for each in (asked, told))) for name in names]
    partitions = [longs(pc.fill_null(each["partition"], -1)) for each in (asked, told)]
    place = numbered_rows(*map(np.concatenate, ((line, of), *numbers, partitions)))
    return place[: len(line)], place[len(line) :]


def last_at(own: Longs, others: Longs) -> Longs:
    """Of each of some places the number of the last one among others that is the same; -1 for none."""
    newest = np.full(max(own.max(initial=-1), others.max(initial=-1)) + 1, -1)
    newest[others] = np.arange(len(others))
    found: Longs = newest[own]
    return found


def _unless(values: pa.Array, nothing: str) -> pa.Array:
    return pc.if_else(pc.equal(values, nothing), None, values)
