"""Writes the page: an index, and pages of incidents, of what these are about, and of invariants.

All lists have a limited length, and only incidents in the index have pages, so that the page is small
whatever the lake holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from fencepost.definitions import definitions, modules
from fencepost.incidents import STATES, Incident
from fencepost.outcomes import Outcome, coverage_counts, headline
from fencepost.page import invariants, stories
from fencepost.page.addresses import ENTITIES, INDEX, entity_file, incident_file, invariant_file
from fencepost.page.around import Around
from fencepost.page.folder import Folder
from fencepost.page.model import Command, Link, Row, Section, entities, row
from fencepost.page.pictures import Pictures
from fencepost.page.rendering import render
from fencepost.protocols import protocols
from fencepost.reading import Reader
from fencepost.report import Judged, Stories, command, judged
from fencepost.report.incidents import facts_of, gravest_invariants, known_sentences, when
from fencepost.report.on_call import told_on_call
from fencepost.report.screen import changed_sentence, runs_of
from fencepost.settings import SEVERITIES, Settings
from fencepost.waivers import waiver_sentences

MOST_LISTED = 100
"""Incidents of a state that the index lists, and incidents that any other page lists."""
MOST_VERDICTS = 12
"""Verdicts of which the page of an incident tells."""
MOST_PICTURES = 60
_UP = "../"

Files = dict[str, bytes]


def write(
    reader: Reader, settings: Settings, path: Path, found: Judged | None = None, pictures: int = MOST_PICTURES
) -> Path:
    """Write the page into the folder ``path``; ``pictures``: how many are drawn at most. Returns its index.

    Raises FolderError.
    """
    folder = Folder(path)
    site = _Site(reader, settings, found)
    drawn = Pictures(reader, folder, site.listed, pictures)
    files = {INDEX: site.index(), **site.incidents(drawn), **site.entities(drawn), **site.invariants()}
    folder.write({**files, **drawn.new}, frozenset(drawn.kept))
    return path / INDEX


class _Site:
    """What the pages say, read once."""

    def __init__(self, reader: Reader, settings: Settings, found: Judged | None) -> None:
        self._reader = reader
        self._settings = settings
        self._found = found or judged(reader, settings)
        self._runs = runs_of(reader)
        self._of_state = {
            state: [each for each in self._found.incidents if each["state"] == state] for state in STATES
        }
        self._of_same = _of_same(self._found.incidents)
        self.listed = list(chain.from_iterable(each[:MOST_LISTED] for each in self._of_state.values()))
        self._with_pages = {each["fingerprint"] for each in self.listed}

    def index(self) -> bytes:
        clusters = [
            {
                "outcome": each,
                "until": self._found.evidence_until.get(each.cluster),
                "faults": self._found.faults[each.cluster],
                "deleted": self._found.deleted.get(each.cluster),
            }
            for each in self._found.clusters
        ]
        return render(
            "index",
            root="",
            title="Fencepost",
            headline=headline(self._found.clusters),
            clusters=clusters,
            sections=[self._section(state) for state in ("new", "ongoing", "over", "waived")],
            waivers=waiver_sentences(self._reader, self._settings),
            changed=changed_sentence(self._found, self._runs),
            run=next((each for each in self._runs if each["finished_at"]), None),
            coverage=_coverage(self._found.outcomes),
            severities=SEVERITIES,
        )

    def incidents(self, pictures: Pictures) -> Files:
        told = Stories(self._reader, self._settings, self.listed, MOST_VERDICTS)
        around = Around(self._reader, told.verdicts)
        return {
            incident_file(each["fingerprint"]): render(
                "incident",
                root=_UP,
                title=f"{each['severity'].capitalize()}, {each['state']}: {each['title']}",
                incident=each,
                facts=f"{when(each)}; {facts_of(each)}",
                meanings=stories.meanings(each),
                files={name: invariant_file(name) for name in each["invariants"]},
                about=entities(each),
                details=stories.details(each),
                happened=stories.happened(told, each, around, self._settings),
                picture=pictures.of(each),
                on_call=told_on_call(gravest_invariants(each)[0]),
                known=known_sentences(each),
                commands=stories.commands(each, self._settings),
                similar=self._rows(stories.similar(each, self._of_same)),
            )
            for each in map(told.group_types.added, self.listed)
        }

    def entities(self, pictures: Pictures) -> Files:
        shown = {
            (column, each["cluster"], each[column])
            for each in self.listed
            for column in ENTITIES
            if each[column]
        }
        files = {}
        for column, cluster, name in sorted(shown):
            found = self._of_same[cluster, column, name]
            files[entity_file(column, cluster, name)] = render(
                "entity",
                root=_UP,
                title=f"{ENTITIES[column][1]} {name}",
                cluster=cluster,
                section=self._bounded("Incidents", found),
                pictures=[(row(each), file) for each in found if (file := pictures.of(each))][:3],
                commands=self._plots(column, cluster, name),
            )
        return files

    def invariants(self) -> Files:
        histories = invariants.histories(self._reader)
        of_invariant: dict[str, list[Outcome]] = defaultdict(list)
        for each in self._found.outcomes:
            of_invariant[each.invariant].append(each)
        of_incidents: dict[str, list[Incident]] = defaultdict(list)
        for incident in self._found.incidents:
            for name in incident["invariants"]:
                of_incidents[name].append(incident)
        return {
            invariant_file(each.id): render(
                "invariant",
                root=_UP,
                title=each.id,
                definition=each,
                paragraphs=[" ".join(text.split()) for text in each.prose.split("\n\n")],
                tlc=invariants.tlc_runs(each),
                sql=invariants.compiled_sql()[each.id],
                outcomes=of_invariant[each.id],
                statuses=invariants.STATUSES,
                history=histories.get(each.id, ()),
                section=self._bounded("Incidents", of_incidents[each.id]),
            )
            for each in definitions()
            if each.severity is not None
        }

    def _section(self, state: str) -> Section:
        return self._bounded(state.capitalize(), self._of_state[state], "--state", state)

    def _bounded(self, title: str, found: Sequence[Incident], *options: str) -> Section:
        more = max(0, len(found) - MOST_LISTED)
        lists_them = command(self._settings, "incidents", *options, anywhere=True)
        return Section(title, self._rows(found[:MOST_LISTED]), more, lists_them, len(found))

    def _rows(self, found: Iterable[Incident]) -> list[Row]:
        return [row(each, each["fingerprint"] in self._with_pages) for each in found]

    def _plots(self, column: str, cluster: str, name: str) -> list[Command]:
        found = (plot for protocol in protocols() for plot in protocol.plots if plot.column == column)
        return [
            Command(f"a picture of {plot.words}", stories.plot_command(self._settings, plot, cluster, name))
            for plot in found
        ]


def _of_same(found: Iterable[Incident]) -> dict[tuple[str, str, str], list[Incident]]:
    """Incidents by cluster and what they are about: a column with its value, or their gravest invariant."""
    of_same: dict[tuple[str, str, str], list[Incident]] = defaultdict(list)
    for each in found:
        for column in ENTITIES:
            if each[column]:
                of_same[each["cluster"], column, each[column]].append(each)
        of_same[each["cluster"], "invariant", gravest_invariants(each)[0]].append(each)
    return of_same


def _coverage(found: Sequence[Outcome]) -> list[Mapping[str, Any]]:
    """What was judged, in a line for each protocol, with links to its invariants."""
    lines: list[Mapping[str, Any]] = []
    for protocol, module in modules().items():
        of_protocol = [each for each in found if each.module == module]
        lines.append(
            {
                "protocol": protocol.replace("_", " "),
                **coverage_counts(of_protocol),
                "violated": sum(each.status == "violated" for each in of_protocol),
                "links": [
                    Link(each.id, invariant_file(each.id))
                    for each in definitions()
                    if each.module == module and each.severity is not None
                ],
            }
        )
    return lines
