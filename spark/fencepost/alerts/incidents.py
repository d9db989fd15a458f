"""Tells recipients of incidents, and of clusters that could not be judged, at the end of a run."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence

from pyiceberg.catalog import Catalog

from fencepost.alerts.events import NEW, events, standing
from fencepost.alerts.message import message
from fencepost.alerts.notes import AlertNotes
from fencepost.alerts.sending import SendError, most_at_once, send
from fencepost.incidents import Incident
from fencepost.outcomes import ClusterOutcome
from fencepost.settings import Recipient, Settings
from fencepost.words import printable

NOT_JUDGED = "not judged"
"""In place of a fingerprint; no incident has a blank in its own."""

logger = logging.getLogger(__name__)


def tell(
    settings: Settings,
    catalog: Catalog,
    incidents: Sequence[Incident],
    clusters: Sequence[ClusterOutcome],
    run_id: str,
) -> None:
    """Tell each recipient what it was not told before, and note it after it was sent.

    A recipient that cannot be reached is told by the next run. A run that is killed between an alert and its
    note has the next run tell it twice.
    """
    if not settings.alerts:
        return
    notes = AlertNotes(catalog)
    blind = [] if settings.not_judged_passes else list(_not_judged(clusters))
    for recipient in settings.alerts:
        _tell(settings, recipient, [*blind, *incidents], notes, run_id)


def _tell(
    settings: Settings, recipient: Recipient, found: Sequence[Incident], notes: AlertNotes, run_id: str
) -> None:
    noted = notes.of(recipient.name)
    all_news = events(recipient, found, noted, [each.name for each in settings.clusters])
    news = [each for each in all_news if each.kind in recipient.on]
    try:
        most = most_at_once(recipient)
        sent = news[:most]
        # an Alertmanager forgets what it was told when it starts again
        still = standing(recipient, found, noted) if recipient.alertmanager and NEW in recipient.on else []
        if sent or still:
            send(settings, recipient, message(settings, sent), still)
    except SendError as error:
        logger.error("alert to %s: not sent, the next run tries again: %s", printable(recipient.name), error)
        return
    if sent:
        logger.info("alert to %s: %d of %d told", printable(recipient.name), len(sent), len(news))
    later = {each.key for each in news[len(sent) :]}
    if known := [each for each in all_news if each.key not in later]:
        notes.add(recipient.name, known, recipient.on, run_id)


def _not_judged(clusters: Iterable[ClusterOutcome]) -> Iterator[Incident]:
    """Clusters of which a violation could not have been seen, in the form of incidents."""
    for each in clusters:
        if each.not_judged:
            yield {
                "cluster": each.cluster,
                "fingerprint": NOT_JUDGED,
                "state": "new",
                "severity": "critical",
                "title": f"could not be judged: {each.not_judged[0]}",
                "critical": [],
            }
