"""What DAGs call, and Airflow when a task has failed or a run is late: it sends an alert.

DAGs name this module, and Airflow imports it each time it parses their files. So it imports nothing itself.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def is_tried_by_hand() -> bool:
    """Whether this process is ``airflow dags test``. It fails after a run that succeeded if the DAG has a
    deadline, and nobody needs one who waits for the end. It may go when apache/airflow#73428 is mended.
    """
    return sys.argv[1:3] == ["dags", "test"]


def report_failed(context: Mapping[str, Any]) -> None:
    """Send an alert that a task has failed; ``context``: of the task. Who asks for a backfill, which is
    refused, sees that.
    """
    from fencepost.pipeline import report_failure

    if context["dag_run"].run_type != "backfill":
        report_failure(
            context["ti"].task_id, context.get("exception"), context["params"]["config"], context["run_id"]
        )


def report_late(context: Mapping[str, Any]) -> None:
    """Send an alert that a run has not ended by its deadline; ``context``: of the DeadlineAlert."""
    from fencepost import alerts
    from fencepost.settings import SettingsError, load

    named = (context["dag_run"]["conf"] or {}).get("config")
    config = Path(named) if named else None
    try:
        alerts.audit_is_late(load(config), str(context["deadline"]["deadline_time"]))
    except SettingsError as unreadable:
        alerts.configuration_failed(config, unreadable)
