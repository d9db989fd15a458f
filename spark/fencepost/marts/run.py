"""Build the marts whose rows may have changed, in this process or by Spark."""

from __future__ import annotations

import logging
from dataclasses import replace

from pyiceberg.catalog import Catalog

from fencepost.engines import MANY_ROWS, Sessions, choose
from fencepost.iceberg.times import correct
from fencepost.ledger import Ledger
from fencepost.marts import compiled
from fencepost.marts.in_process import build_in_process
from fencepost.marts.plan import Inputs
from fencepost.marts.result import MartsResult
from fencepost.marts.tables import create, drop_former_view
from fencepost.reading import LakeError
from fencepost.settings import Settings

_log = logging.getLogger(__name__)


def build(
    settings: Settings, catalog: Catalog, session: Sessions, ledger: Ledger | None = None
) -> MartsResult:
    """Build and test every mart whose rows may have changed; ``session`` is called if Spark is needed. Raises
    MartsError.
    """
    ledger = ledger or Ledger(catalog, settings)
    project = compiled.project(settings)
    inputs = Inputs(catalog, project.models, ledger)
    plan = inputs.plan()
    ledger.begin("marts", ledger.marts.values())
    for mart in plan.new:
        drop_former_view(catalog, mart)
    for mart in plan.empty:
        create(catalog, mart)
    result = MartsResult((), 0, (), 0.0)
    if plan.build:
        # whatever their number: at all sizes measured DuckDB took a fifth of Spark's CPU
        choice = choose(settings, inputs.rows, inputs.rows, "rows that marts read")
        reason = choice.reason if choice.run_on == "spark" else None
        try:
            if reason is None:
                result = build_in_process(settings, catalog, project, inputs, plan)
        except (LakeError, NotImplementedError) as error:
            reason = str(error)
        if reason is not None:
            from fencepost.marts.in_spark import build_by_spark

            _log.info("marts: by Spark, because %s", reason)
            correct(catalog)
            small = inputs.rows < MANY_ROWS
            result = build_by_spark(session(small=small), settings, plan, small=small)
    result = replace(result, empty=len(plan.empty), kept=plan.kept)
    ledger.done("marts", inputs.entries(), result.summary)
    return result
