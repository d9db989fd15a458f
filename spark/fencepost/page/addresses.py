"""Names of the files of the page, and links to them. A name from outside never becomes the name of a file as
it is.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from urllib.parse import quote

from fencepost.places import run_folder
from fencepost.settings import Settings

INDEX = "index.html"
ENTITIES = {
    "group_id": ("groups", "Group"),
    "transactional_id": ("transactional-ids", "Transactional id"),
    "topic": ("topics", "Topic"),
    "instance": ("instances", "Instance of Kafka Streams"),
}
"""The columns of an incident whose values have pages: the folder of these pages, and what they are called."""

_FINGERPRINT = re.compile(r"[0-9a-f]{16}")


def incident_file(fingerprint: str) -> str:
    """The page of an incident, relative to the folder of the page."""
    name = fingerprint if _FINGERPRINT.fullmatch(fingerprint) else digest(fingerprint)
    return f"incidents/{name}.html"


def entity_file(column: str, cluster: str, name: str) -> str:
    """The page of a group, a transactional id, a topic or an instance."""
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower())[:40].strip("-")
    return f"{ENTITIES[column][0]}/{'-'.join(filter(None, (readable, digest(cluster, name))))}.html"


def invariant_file(name: str) -> str:
    """The page of an invariant; the name is one of the specification."""
    return f"invariants/{name}.html"


def page_folder(settings: Settings) -> Path:
    """Where the gate writes the page: ``report.folder``, else beside the lake."""
    return settings.report.folder or run_folder(settings) / "page"


def address(settings: Settings, file: str = INDEX) -> str:
    """How a person opens a file of the page: below ``report.url`` if there is one, else its path."""
    if settings.report_url is None:
        return str(page_folder(settings) / file)
    return f"{settings.report_url}{quote(file)}"


def first_page(settings: Settings) -> str | None:
    """How a person opens the page; None if there is none."""
    return _written(settings, INDEX)


def incident_page(settings: Settings, fingerprint: str) -> str | None:
    """How a person opens the page of an incident; None if there is none."""
    return _written(settings, incident_file(fingerprint))


def _written(settings: Settings, file: str) -> str | None:
    return address(settings, file) if (page_folder(settings) / file).is_file() else None


def digest(*texts: str) -> str:
    """The same sixteen letters for the same texts, wherever one ends and the next begins."""
    packed = "".join(f"{len(text)}:{text}" for text in texts)
    return hashlib.sha256(packed.encode("utf-8", "surrogatepass")).hexdigest()[:16]
