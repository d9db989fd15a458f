"""``fencepost doctor``: examines the configuration, the logs and the machine before an audit."""

from fencepost.doctor.checks import Check, Mark, in_words
from fencepost.doctor.collected import catalog_check
from fencepost.doctor.evidence import evidence_checks
from fencepost.doctor.last_audit import last_audit_checks
from fencepost.doctor.log_kinds import log_kind_checks, unread_log_checks
from fencepost.doctor.logs import log_checks
from fencepost.doctor.machine import machine_checks
from fencepost.doctor.request_logs import request_log_checks

__all__ = [
    "Check",
    "Mark",
    "catalog_check",
    "evidence_checks",
    "in_words",
    "last_audit_checks",
    "log_checks",
    "log_kind_checks",
    "machine_checks",
    "request_log_checks",
    "unread_log_checks",
]
