"""The states of the time around verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from fencepost.incidents import INCIDENT_VERDICTS
from fencepost.page import model
from fencepost.protocols import protocols
from fencepost.protocols.base import Context
from fencepost.reading import Reader, rows

MOST_STATES = 3
"""States before, during and after a verdict that are shown."""

_PLACES = ("before", "then", "after")
_AROUND = """
WITH wanted AS (
  SELECT explode(split(:ids, ',')) AS wanted_id
), given AS (
  SELECT verdicts.* FROM {verdicts} AS verdicts INNER JOIN wanted ON verdicts.verdict_id = wanted.wanted_id
  WHERE verdicts.protocol = :protocol
), placed AS (
  SELECT given.verdict_id, states.from_time, states.from_position, {shown},
    CASE
      WHEN states.to_time <= given.from_time THEN 'before'
      WHEN states.from_time >= coalesce(given.to_time, given.from_time)
        AND states.from_time > given.from_time THEN 'after'
      ELSE 'then'
    END AS place
  FROM given INNER JOIN {table} AS states ON states.cluster = given.cluster AND {same}
)
SELECT * FROM (
  SELECT *,
    row_number() OVER (
      PARTITION BY verdict_id, place ORDER BY from_time DESC, from_position DESC
    ) AS from_last,
    row_number() OVER (PARTITION BY verdict_id, place ORDER BY from_time, from_position) AS from_first
  FROM placed
) AS ranked
WHERE CASE place WHEN 'after' THEN from_first ELSE from_last END <= :most
ORDER BY verdict_id, from_time, from_position
"""


class Around:
    """What is known of the time around some verdicts (rows of ``marts.fct_invariant_verdicts``)."""

    def __init__(self, reader: Reader, verdicts: Sequence[Mapping[str, Any]]) -> None:
        self._states: dict[str, list[model.States]] = defaultdict(list)
        if not verdicts:
            return
        ids = ",".join(sorted(each["verdict_id"] for each in verdicts))
        for protocol in protocols():
            for each in protocol.context:
                self._read_states(reader, protocol.name, each, ids)

    def states(self, verdict_id: str) -> Sequence[model.States]:
        """The states before, during and after a verdict."""
        return self._states[verdict_id]

    def _read_states(self, reader: Reader, protocol: str, each: Context, ids: str) -> None:
        query = _AROUND.format(
            verdicts=INCIDENT_VERDICTS,
            table=each.table,
            shown=", ".join(f"states.{name} AS shown_{name}" for name in each.shown),
            same=" AND ".join(f"states.{name} = given.{name}" for name in each.of),
        )
        of_verdict: dict[str, list[model.State]] = defaultdict(list)
        for row in rows(reader.query(query, protocol=protocol, ids=ids, most=MOST_STATES)):
            cells = [_cell(row[f"shown_{name}"]) for name in each.shown]
            of_verdict[row["verdict_id"]].append(model.State(row["place"], row["from_time"], cells))
        columns = [name.replace("_", " ") for name in each.shown]
        for verdict_id, states in of_verdict.items():
            in_order = sorted(states, key=lambda state: _PLACES.index(state.when))
            self._states[verdict_id].append(model.States(each.words.capitalize(), columns, in_order))


def _cell(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value
