"""### Epoch audit

Every hour: reads the logs that the brokers have written since the last run, rebuilds the history of epochs,
checks it against the specifications, publishes the marts, and closes the gate while a critical incident is
new or goes on, or if a cluster could not be judged.

| task | reads | writes | can be repeated |
|---|---|---|---|
| capture | log directories, request logs | `bronze` | yes: reads only new evidence |
| rebuild | `bronze` | `silver` | yes |
| judge | `silver` | `verdicts` | yes |
| marts | `silver`, `verdicts`, `bronze` | `marts` | yes |
| gate | `marts` | the page, alert | yes |

#### Triage notes

* **gate failed, and its log ends with "FAILED"**: the audit worked, and a cluster has a problem. The lines
  before say what happened and when, and what to do, if nobody was told of it before; else "the alert was sent
  before". The page that the log names has all of it. The task is never retried, which would not help. The
  gate opens when the logs go on for a day without the incident, or when `[[waivers]]` name it. It is one gate
  for all clusters: its log says which of them closed it. The marts and the page are written in any case.
* **gate failed, and its log ends with "NOT JUDGED"**: nothing is known of the cluster, good or bad. The alert
  begins with what is wrong with the evidence, and how to mend it; `[gate] not_judged = "pass"` lets it pass.
* **gate failed with another error**: suites and marts do not match, as after an incomplete upgrade. Run
  `make compile`, then clear judge.
* **capture failed**: the configuration, a disk or the lake. Evidence that cannot be read does not fail the
  task: it is in `marts.fct_quarantine`.
* **rebuild, judge or marts failed**: its tables are partly still those of the previous run, and no later task
  uses them until it has succeeded. Read the end of the log, and clear the task.
* **an alert was not sent**: the log of gate says why; the next run tries again (`fencepost alerts --test`).
* **no run for hours**: the asset `fencepost_gate` shows when a run last succeeded.

Configuration: the parameter `config`, or else the environment variable `FENCEPOST_CONFIG`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import (
    Asset,
    ExceptionRetryPolicy,
    Param,
    RetryAction,
    RetryRule,
    dag,
    get_current_context,
    task,
)

BRONZE = Asset("fencepost_bronze")
SILVER = Asset("fencepost_silver")
VERDICTS = Asset("fencepost_verdicts")
MARTS = Asset("fencepost_marts")
GATE = Asset("fencepost_gate")
CLOSED = RetryRule("builtins.SystemExit", RetryAction.FAIL, reason="the gate is closed")


def _run(step: str, asset: Asset) -> dict[str, Any]:
    """Run a step; its asset's event says what it did. Errors that a repetition cannot fix are not retried."""
    from airflow.sdk.exceptions import AirflowFailException

    from fencepost.gate import GateFailed
    from fencepost.pipeline import run_step
    from fencepost.settings import SettingsError

    context = get_current_context()
    try:
        summary = run_step(step, context["params"]["config"], context["run_id"])
        context["outlet_events"][asset].extra.update(summary)
        return summary
    except GateFailed as closed:
        # an error would end the log with a traceback, and not with what the gate found
        raise SystemExit(1) from closed
    except SettingsError as error:
        raise AirflowFailException(str(error)) from error


def _alert(context: Any) -> None:
    """Alert that a step failed. A closed gate has sent its own alert already."""
    from fencepost.pipeline import report_failure

    error = context.get("exception")
    cause = getattr(error, "__cause__", None) or error
    report_failure(context["ti"].task_id, cause, context["params"]["config"], context["run_id"])


@dag(
    schedule="@hourly",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=3),
    doc_md=__doc__,
    tags=["kafka", "audit"],
    params={"config": Param("", type="string", title="Configuration", description="Path of fencepost.toml.")},
    default_args={
        "owner": "kafka-platform",
        "retries": 2,
        "retry_delay": timedelta(minutes=2),
        "retry_policy": ExceptionRetryPolicy([CLOSED]),
        "on_failure_callback": _alert,
    },
)
def epoch_audit() -> None:
    @task(outlets=[BRONZE])
    def capture() -> dict[str, Any]:
        return _run("capture", BRONZE)

    @task(outlets=[SILVER])
    def rebuild() -> dict[str, Any]:
        return _run("rebuild", SILVER)

    @task(outlets=[VERDICTS])
    def judge() -> dict[str, Any]:
        return _run("judge", VERDICTS)

    @task(outlets=[MARTS])
    def marts() -> dict[str, Any]:
        return _run("marts", MARTS)

    @task(outlets=[GATE])
    def gate() -> dict[str, Any]:
        return _run("gate", GATE)

    capture() >> rebuild() >> judge() >> marts() >> gate()


epoch_audit()
