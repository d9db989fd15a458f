"""### Lake maintenance

Every day: deletes files of the lake that no snapshot of a table names, once they are three days old. Commits
replace files and do not delete them, so a lake without maintenance grows with every run. Then it deletes
evidence that is older than `[audit] keep_evidence`, if the last audit is done.

| task | reads | deletes | can be repeated |
|---|---|---|---|
| maintain | the metadata of all tables, dates of evidence | files that no table needs, old evidence | yes |

#### Triage notes

* **maintain failed**: the configuration or the lake; nothing else depends on it. Read the end of the log, and
  clear the task. A table whose files cannot be listed is a warning in the log.
* **it waits**: an audit is writing to the lake. It begins when that has ended.
* **nothing happens**: a new installation has this DAG paused. Switch it on at the top.

Configuration: the parameter `config`, or else the environment variable `FENCEPOST_CONFIG`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import Param, dag, get_current_context, task

from fencepost.callbacks import report_failed


@dag(
    schedule="@daily",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=3),
    doc_md=__doc__,
    tags=["kafka", "audit"],
    params={"config": Param(None, type=["null", "string"], description="Path of fencepost.toml.")},
    default_args={
        "owner": "kafka-platform",
        "retries": 2,
        "retry_delay": timedelta(minutes=2),
        "on_failure_callback": report_failed,
    },
)
def lake_maintenance() -> None:
    @task
    def maintain() -> dict[str, Any]:
        from airflow.sdk.exceptions import AirflowFailException

        from fencepost.pipeline import run_maintenance
        from fencepost.settings import SettingsError

        try:
            return run_maintenance(get_current_context()["params"]["config"])
        except SettingsError as error:
            # to repeat the task does not change the configuration
            raise AirflowFailException(str(error)) from error

    maintain()


lake_maintenance()
