"""The logs of instances: which lines are whose, in the order in which they were written, and what is missing.

A log is what one instance wrote into the files of one configured client, over restarts of its process. It is
named by both: two hosts may give their instances one client id.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.protocols.lag_report.log_files import Line, in_order


@dataclass(frozen=True, slots=True)
class InstanceLog:
    """The lines of an instance, and holes (None), in their order: an index is a position of the log.

    ``is_ordered`` is False where its files tell of the same time: nothing says what came first.
    """

    cluster: str
    client: str
    instance: str
    application_id: str
    lines: Sequence[Line | None]
    is_ordered: bool = True

    @property
    def name(self) -> str:
        """The log's name, as in the column ``log``."""
        return f"instance:{self.client.replace('/', '%2F')}/{self.instance}"

    @property
    def key(self) -> dict[str, Any]:
        """The columns that every row of it begins with."""
        return {
            "cluster": self.cluster,
            "application_id": self.application_id,
            "log": self.name,
            "instance": self.instance,
        }


def instance_logs(lines: Sequence[Line], holes: Mapping[str, Sequence[int]]) -> Iterator[InstanceLog]:
    """The logs that these lines are, by cluster, client and instance.

    ``lines`` are all of some clients; what names no instance belongs to the client's only one.
    ``holes`` are positions by file.
    """
    clients: defaultdict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in lines:
        clients[line["cluster"], line["client"]].append(line)
    for (cluster, client), told in sorted(clients.items()):
        named = sorted({line["instance"] for line in told if line["instance"] is not None})
        for instance in named:
            own = [
                line for line in told if line["instance"] in {instance, None if len(named) == 1 else instance}
            ]
            applications = {line["group_id"] for line in own if line["group_id"] is not None}
            application_id = applications.pop() if len(applications) == 1 else ""
            ordered, is_ordered = in_order(own, holes)
            yield InstanceLog(cluster, client, instance, application_id, ordered, is_ordered)


def number_of(configured: str | None, key: str, bits: int) -> int | None:
    """A setting of a StreamsConfig, as a line ``configured`` tells it; None where it is no number."""
    text = json.loads(configured or "{}").get(key) or ""
    return int(text) if text.isdecimal() and int(text) < 2**bits else None
