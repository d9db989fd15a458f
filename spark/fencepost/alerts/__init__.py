"""Alerts that leave the machine: who of ``[[alerts]]`` is told what, once, and how.

Failures of a recipient are words in the log. They never fail a run, and the next run tries again.
"""

from fencepost.alerts.failures import (
    ALERT_URL_ENV,
    audit_failed,
    audit_is_late,
    audit_succeeded,
    configuration_failed,
    task_failed,
)
from fencepost.alerts.incidents import tell
from fencepost.alerts.trying import everybody, try_out

__all__ = [
    "ALERT_URL_ENV",
    "audit_failed",
    "audit_is_late",
    "audit_succeeded",
    "configuration_failed",
    "everybody",
    "task_failed",
    "tell",
    "try_out",
]
