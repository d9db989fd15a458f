"""Examines all logs, of this machine and in object stores."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from fencepost.capture import stores
from fencepost.doctor.checks import Check, Mark
from fencepost.doctor.collected import Places
from fencepost.doctor.evidence import evidence_checks
from fencepost.doctor.log_kinds import log_kind_checks, unread_log_checks
from fencepost.doctor.request_logs import request_log_checks
from fencepost.environment import MissingVariableError
from fencepost.iceberg.catalog import store_properties
from fencepost.settings import Settings


def log_checks(settings: Settings, collected: Places, now: datetime) -> Iterator[Check]:
    """Checks of what is found of every cluster, and of the newest requests. They end where a store fails."""
    try:
        stores.use(store_properties(settings.lake))
        yield from evidence_checks(settings, collected)
        yield from request_log_checks(settings, now)
        yield from log_kind_checks(settings)
        yield from unread_log_checks(settings)
    except (stores.StoreError, MissingVariableError) as error:
        yield Check("object store", Mark.WRONG, str(error))
