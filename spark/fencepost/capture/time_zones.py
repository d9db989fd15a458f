"""Reads logs again whose time zone has been corrected in the configuration.

Their lines are in bronze with times in UTC, which were computed with the zone that was configured then. Two
clocks in one log would be worse than a wrong one. Lines of files that are no longer there are lost with it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture import readers
from fencepost.capture.plan import Plan, Source, is_text, named_on
from fencepost.capture.progress import Progress, unread_note
from fencepost.conditions import Condition, Within
from fencepost.settings import Cluster
from fencepost.tables import FILES

_log = logging.getLogger(__name__)
_EARLIER = timedelta(microseconds=1)


def plan_rezoned(plan: Plan, sources: list[Source], progress: Progress) -> None:
    """Plan to read all files again of the logs whose zone is not the one in which they were read."""
    logs = progress.rezoned(sources)
    plan.rezoned += [source for source in sources if is_text(source.kind) and source.log in logs]
    plan.to_read_again |= {source.origin for source in plan.rezoned}


def delete_rezoned(
    catalog: Catalog, plan: Plan, clusters: Sequence[Cluster], run_id: str, now: datetime
) -> None:
    """Delete the rows with times of the logs that are read again for their zone.

    Before that their files are noted as not read, still in the zone that they were read in, and afterwards in
    the one of now: a run that is killed in between is repeated by the next one, whatever is configured then.
    """
    if not plan.rezoned:
        return
    was = Progress(catalog, clusters)
    notes = [unread_note(source, run_id, now - 2 * _EARLIER, was.zone(source)) for source in plan.rezoned]
    lake.append(catalog, FILES, FILES.rows(notes))
    for cluster, broker_id, client, host, kind in dict.fromkeys(source.log for source in plan.rezoned):
        whose = f"client {client}" if client is not None else f"broker {broker_id}"
        _log.info("%s: its %s has another time zone now, and is read again", whose, kind.replace("_", " "))
        name, value = ("client", client) if client is not None else ("broker_id", broker_id)
        owner: Condition = {"cluster": cluster, name: value}
        for table in readers.kinds()[kind].tables:
            if table.dated_by is not None:
                lake.delete(catalog, table, [{**owner, **({} if client is None else _files_of(host))}])
    notes = [unread_note(source, run_id, now - _EARLIER, source.timezone) for source in plan.rezoned]
    lake.append(catalog, FILES, FILES.rows(notes))


def _files_of(host: str | None) -> Condition:
    """Chooses the rows of a host's files: another one may have logs of the same client."""
    return {"file": Within(least=named_on(host, "/"), below=named_on(host, chr(ord("/") + 1)))}
