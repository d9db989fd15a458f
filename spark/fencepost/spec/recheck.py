"""Runs TLC again on the specifications that have changed."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

from fencepost.places import project_folder
from fencepost.spec.check import check
from fencepost.spec.manifest import runs
from tlasql.java.jvm import kept
from tlasql.java.tlc import TlcError

_log = logging.getLogger(__name__)


class SpecificationError(Exception):
    """TLC does not say what a manifest says, or cannot run; the text names the runs."""


def recheck(checked: Mapping[str, str], spec: Path | None = None) -> dict[str, str]:
    """Run TLC on everything in the manifests of the protocols whose specification is not the one that was
    checked, but for the runs that take minutes to hours (``large``). ``checked``: what an earlier call has
    returned: protocol -> digest of its specification. ``spec``: the folder of specifications.

    Raises SpecificationError after all of them.
    """
    folders = sorted(path.parent for path in (spec or project_folder("spec")).glob("*/manifest.json"))
    digests = {folder.name: _digest(folder) for folder in folders}
    wrong: list[str] = []
    with kept():
        for folder in folders:
            if checked.get(folder.name) != digests[folder.name]:
                wrong += _differences(folder)
    if wrong:
        raise SpecificationError("\n".join(wrong))
    return digests


def _differences(folder: Path) -> Iterator[str]:
    listed = [run for run in runs(folder) if not run.large]
    _log.info("%s: TLC runs %d models, mutants and twins", folder.name, len(listed))
    for run in listed:
        try:
            violated = check(run).violated
        except TlcError as error:
            yield f"{folder.name}/{run.name}: {error}"
            continue
        if violated != run.violates:
            said = f"the manifest says that TLC violates {run.violates or 'nothing'}"
            yield f"{folder.name}/{run.name}: {said}, and it violates {violated or 'nothing'}"


def _digest(folder: Path) -> str:
    """Of all that TLC reads: a name and a content for each file."""
    digest = hashlib.sha256()
    for file in sorted([*folder.glob("*.tla"), folder / "manifest.json"]):
        digest.update(f"{file.name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
