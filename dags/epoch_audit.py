"""### Epoch audit

Every hour: reads the logs that the brokers have written since the last run, rebuilds the history of epochs,
checks it against the specifications, publishes the marts, reports, and closes the gate of each cluster in
which a critical incident is new or goes on, or which could not be judged. It also runs when the asset
`fencepost_collected` has an event. The DAG starts paused: switch it on at the top.

| task | reads | writes | can be repeated |
|---|---|---|---|
| capture | log directories, request logs | `bronze` | yes: reads only new evidence |
| rebuild | `bronze` | `silver` | yes |
| judge | `silver` | `verdicts` | yes |
| marts | `silver`, `verdicts`, `bronze` | `marts` | yes |
| report | `marts` | the page, alert | yes |
| gate | what report found of one cluster | nothing | yes |

#### Triage notes

* **gate failed, and its log ends with "FAILED"**: the audit worked, and this cluster has a problem. The log
  of report says what happened and when, and what to do, if nobody was told of it before. The page has all of
  it: a link of the task, if `report.url` is set. The task is never retried, which would not help. It opens
  when the logs go on for a day without the incident, or when `[[waivers]]` name it. Each cluster has its own
  gate and its own asset, `fencepost_gate/CLUSTER`. The marts and the page are written in any case.
* **gate failed, and its log ends with "NOT JUDGED"**: nothing is known of the cluster, good or bad. The log
  of report says what is wrong with the evidence; `[gate] not_judged = "pass"` lets it pass.
* **report failed**: suites and marts do not match, as after an incomplete upgrade. Run `make compile`, then
  clear judge.
* **capture failed**: the configuration, a disk or the lake. Evidence that cannot be read does not fail the
  task: it is in `marts.fct_quarantine`.
* **rebuild, judge or marts failed**: its tables are partly those of the previous run, and no later task uses
  them until it has succeeded. Read the end of the log, and clear the task.
* **an alert was not sent**: the log of report says why; the next run tries again (`fencepost alerts --test`).
* **no run for hours**: the asset `fencepost_report` shows when a run last succeeded. A run that has not ended
  two hours after it was queued sends an alert.
* **a backfill failed**: a run reads whatever is new, so there is nothing to backfill.

Configuration: the parameter `config`, or else the environment variable `FENCEPOST_CONFIG`. All tasks are in
the pool that `FENCEPOST_POOL` names (`default_pool`).
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from airflow import sdk
from airflow.sdk import Asset, get_current_context, task

from fencepost.callbacks import is_tried_by_hand, report_failed, report_late

LAYERS = {"capture": "bronze", "rebuild": "silver", "judge": "verdicts", "marts": "marts"}
GATES = sdk.AssetAlias("fencepost_gates")
CLOSED = sdk.RetryRule("builtins.SystemExit", sdk.RetryAction.FAIL, reason="the gate is closed")
LATE = sdk.DeadlineAlert(
    sdk.DeadlineReference.DAGRUN_QUEUED_AT, timedelta(hours=2), sdk.SyncCallback(report_late)
)


def _run() -> dict[str, Any]:
    """Run the step of this task; its asset's event says what it did. A wrong configuration is not retried."""
    from fencepost.pipeline import run_step
    from fencepost.settings import SettingsError

    context = get_current_context()
    if context["dag_run"].run_type == "backfill":
        raise sdk.exceptions.AirflowFailException(
            "An audit reads whatever is new: there is nothing to backfill."
        )
    try:
        summary = run_step(context["ti"].task_id, context["params"]["config"], context["run_id"])
    except SettingsError as error:
        raise sdk.exceptions.AirflowFailException(str(error)) from error
    context["outlet_events"][context["task"].outlets[0]].extra.update(summary)
    return summary


class PageLink(sdk.BaseOperatorLink):
    """A link to the page, if it has an address that a browser may open from here (``report.url``)."""

    name = "Page"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        return operator.page if str(operator.page).startswith("http") else ""


class ClusterGate(sdk.BaseOperator):
    """The gate of one cluster: ``closed`` says why it is closed, None if it is open."""

    operator_extra_links = (PageLink(),)

    def __init__(self, *, cluster: str, closed: str | None, page: Any, found: Any, **more: Any) -> None:
        super().__init__(**more)
        self.cluster, self.closed, self.page, self.found = cluster, closed, page, found

    def execute(self, context: Any) -> None:
        if self.closed:
            self.log.error("The log of report has more. Page: %s", self.page)
            self.log.error("%s", self.closed)
            raise SystemExit(1)  # an error would end the log with a traceback
        asset = Asset(f"fencepost_gate/{quote(self.cluster, safe='')}")
        context["outlet_events"][GATES].add(asset, self.found | {"page": self.page})


@sdk.dag(
    schedule=sdk.AssetOrTimeSchedule(
        timetable=sdk.CronTriggerTimetable("@hourly", timezone="UTC"), assets=[Asset("fencepost_collected")]
    ),
    deadline=None if is_tried_by_hand() else LATE,
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=3),
    doc_md=__doc__,
    tags=["kafka", "audit"],
    params={"config": sdk.Param(None, type=["null", "string"], description="Path of fencepost.toml.")},
    default_args={
        "owner": "kafka-platform",
        "pool": os.environ.get("FENCEPOST_POOL", "default_pool"),
        "retries": 2,
        "retry_delay": timedelta(minutes=2),
        "retry_policy": sdk.ExceptionRetryPolicy([CLOSED]),
        "on_failure_callback": report_failed,
    },
)
def epoch_audit() -> None:
    @task(outlets=[Asset("fencepost_report")])
    def report() -> list[dict[str, Any]]:
        return list(_run()["gates"])

    steps = [task(task_id=name, outlets=[Asset(f"fencepost_{of}")])(_run)() for name, of in LAYERS.items()]
    sdk.chain(*steps, gates := report())
    ClusterGate.partial(
        task_id="gate", outlets=[GATES], map_index_template="{{ task.cluster }}", on_failure_callback=None
    ).expand_kwargs(gates)


epoch_audit()
