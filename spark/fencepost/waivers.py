"""The waivers of the configuration: those that count are noted in the lake, where the marts read them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fencepost.incidents import INCIDENT_VERDICTS
from fencepost.reading import Reader, rows
from fencepost.settings import Settings, Waiver
from fencepost.tables import WAIVERS
from fencepost.words import printable

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


def note_waivers(settings: Settings, catalog: Catalog, today: dt.date | None = None) -> None:
    """Make the waivers that have not expired the content of WAIVERS, unless they are it already."""
    import pyarrow as pa

    from fencepost import lake  # reports do without it

    day = today or _today()
    counting = [
        {"waiver": number, **waiver.matched, "because": waiver.reason, "expires": str(waiver.expires)}
        for number, waiver in enumerate(settings.waivers, 1)
        if not waiver.expired(day)
    ]
    now = pa.Table.from_pylist(counting, schema=WAIVERS.arrow_schema)
    if lake.scan(catalog, WAIVERS).sort_by("waiver").to_pylist() != now.to_pylist():
        lake.replace(catalog, WAIVERS, now)


def waiver_sentences(reader: Reader, settings: Settings, today: dt.date | None = None) -> list[str]:
    """A sentence for each waiver that has expired, and for each that matches nothing."""
    day = today or _today()
    sentences = []
    for number, waiver in enumerate(settings.waivers, 1):
        if waiver.expired(day):
            sentences.append(
                f"{_name(number, waiver)} expired on {waiver.expires} and counts no more: remove it, or give "
                "it a later day."
            )
        elif not _matches(reader, waiver):
            sentences.append(f"{_name(number, waiver)} matches nothing: remove it, or correct it.")
    return sentences


def _matches(reader: Reader, waiver: Waiver) -> bool:
    columns = {name: value for name, value in waiver.matched.items() if name != "incident"}
    found: Sequence[dict[str, str]] = rows(reader.scan(INCIDENT_VERDICTS, ["fingerprint"], columns or None))
    return any(row["fingerprint"].startswith(waiver.incident or "") for row in found)


def _name(number: int, waiver: Waiver) -> str:
    matched = ", ".join(f"{name} {printable(str(value))}" for name, value in waiver.matched.items())
    return f"Waiver {number} ({matched})"


def _today() -> dt.date:
    return dt.datetime.now(dt.UTC).date()
