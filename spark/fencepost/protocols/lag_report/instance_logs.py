"""The logs of instances: their lines in the order in which they were written, and their holes.

A log has what one instance wrote into the files of one configured client, over restarts of its process. It is
named by both: two hosts may give their instances the same client id.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.protocols.lag_report.log_files import Line, has_fractions, in_order


@dataclass(frozen=True, slots=True)
class InstanceLog:
    """The lines of an instance, and holes (None), in order: an index is a position of the log.

    ``is_ordered`` is False if its files overlap in time: then the order of their lines is not known.
    """

    cluster: str
    client: str
    instance: str
    application_id: str
    lines: Sequence[Line | None]
    is_ordered: bool = True

    @property
    def inexact_ms(self) -> int:
        """By how much times may be later than the lines have them: they may have no fractions of a second."""
        return 0 if has_fractions(self.lines) else 999

    @property
    def name(self) -> str:
        """The log's name, as in the column ``log``."""
        return f"instance:{self.client.replace('/', '%2F')}/{self.instance}"

    @property
    def key(self) -> dict[str, Any]:
        """The first columns of all its rows."""
        return {
            "cluster": self.cluster,
            "application_id": self.application_id,
            "log": self.name,
            "instance": self.instance,
        }


def instance_logs(lines: Sequence[Line], holes: Mapping[str, Sequence[int]]) -> Iterator[InstanceLog]:
    """The logs with these lines, ordered by cluster, client and instance.

    ``lines``: all lines of some clients; a line that names no instance is of the client's only instance.
    ``holes``: positions by file.
    """
    clients: defaultdict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in lines:
        clients[line["cluster"], line["client"]].append(line)
    for (cluster, client), client_lines in sorted(clients.items()):
        instances = sorted({line["instance"] for line in client_lines if line["instance"] is not None})
        for instance in instances:
            instance_lines = [
                line
                for line in client_lines
                if line["instance"] in {instance, None if len(instances) == 1 else instance}
            ]
            applications = {line["group_id"] for line in instance_lines if line["group_id"] is not None}
            application_id = applications.pop() if len(applications) == 1 else ""
            ordered, is_ordered = in_order(instance_lines, holes)
            yield InstanceLog(cluster, client, instance, application_id, ordered, is_ordered)


def number_of(configured: str | None, key: str, bits: int) -> int | None:
    """A setting of a StreamsConfig in a line ``configured``; None if it is not a number of so many bits."""
    text = json.loads(configured or "{}").get(key) or ""
    # no number of these has more digits, and Python converts no text of thousands
    return int(text) if text.isdecimal() and len(text) < 20 and int(text) < 2**bits else None
