"""The alert of a run that Airflow's DeadlineAlert finds late.

The DAG names this module, and Airflow imports it each time it parses the DAG's file. So it imports
nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


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
