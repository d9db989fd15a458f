"""The stores of the tasks of each subtopology, and which of them are logged, as the logs of tasks
show them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from fencepost.protocols.lag_report.instance_logs import InstanceLog
from fencepost.protocols.lag_report.tasks import listed, subtopology_of

_LOGGED = {"store_from_checkpoint", "store_from_beginning"}


@dataclass(frozen=True, slots=True)
class Stores:
    """``logged`` and ``non_logged``: the stores of each subtopology that has any; logged ones with the
    topics of their changelogs. ``without``: subtopologies that have none. A subtopology in none of these is
    not known.
    """

    logged: dict[str, dict[str, set[str]]] = field(default_factory=lambda: defaultdict(dict))
    non_logged: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    without: set[str] = field(default_factory=set)
    reported: set[str] = field(default_factory=set)
    """Subtopologies with a reported offset sum: they have stores, it is not known how many."""

    def has_state(self, task_id: str | None) -> bool | None:
        """Whether a task has stores; None if not known."""
        subtopology = subtopology_of(task_id)
        if subtopology in self.logged or subtopology in self.non_logged or subtopology in self.reported:
            return True
        return False if subtopology in self.without else None

    def counts(self, task_id: str | None) -> tuple[int | None, int | None]:
        """How many logged stores a task has, and how many others; None if not known."""
        subtopology = subtopology_of(task_id)
        subtopologies = self.logged.keys() | self.non_logged.keys() | (self.without - self.reported)
        if subtopology is None or subtopology not in subtopologies:
            return None, None
        return len(self.logged.get(subtopology, ())), len(self.non_logged.get(subtopology, ()))

    def changelogs(self, application_id: str, task_id: str | None) -> list[str] | None:
        """The topics of the changelogs of a task; None if one is not known, or is a source topic.

        A store that is restored from its source topic (StreamsConfig.OPTIMIZE) has no changelog of its own.
        """
        subtopology = subtopology_of(task_id)
        if self.counts(task_id)[0] is None or subtopology is None:
            return None
        topology, _, _ = subtopology.rpartition("__")
        prefix = f"{application_id}-{topology}-" if topology else f"{application_id}-"
        stores = self.logged.get(subtopology, {})
        names = {store: f"{prefix}{store}-changelog" for store in stores}
        return (
            sorted(names.values()) if all(stores[each] == {topic} for each, topic in names.items()) else None
        )


def stores_of(logs: Iterable[InstanceLog]) -> Stores:
    """The stores that the logs of an application's instances show.

    A task that is new to a thread logs each of its stores before it is initialised. A standby task that
    becomes active may not: so only tasks that are new to a thread count.
    """
    stores = Stores()
    initialized: set[str] = set()
    for log in logs:
        shows_stores, fresh, silent = False, set[str](), set[str]()
        for line in log.lines:
            subtopology = None if line is None else subtopology_of(line["task_id"])
            if line is None:
                fresh = set()
            elif line["event"] == "assignment":
                before = listed(line["existing_active"]) | listed(line["existing_standby"])
                fresh |= (listed(line["new_active"]) | listed(line["new_standby"])) - before
            elif subtopology is None:
                continue
            elif line["event"] in _LOGGED:
                topic, _, _ = (line["changelog"] or "").rpartition("-")
                stores.logged[subtopology].setdefault(line["store"] or "", set()).add(topic)
                shows_stores = True
            elif line["event"] == "store_not_logged":
                stores.non_logged[subtopology].add(line["store"] or "")
                shows_stores = True
            elif line["event"] == "initialized" and line["task_id"] in fresh:
                silent.add(subtopology)
        initialized |= silent if shows_stores else set()
    stores.without.update(initialized - stores.logged.keys() - stores.non_logged.keys())
    return stores
