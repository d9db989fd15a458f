"""### Model check

Every day: runs TLC on the specifications that have changed since they were checked last: on every model,
mutant and reachability twin in their manifests, but for those that take minutes to hours. What the audits
judge by is then what TLC has checked.

| task | reads | writes | can be repeated |
|---|---|---|---|
| check | `spec` | the asset `fencepost_specifications` | yes: of changed protocols all is checked |

#### Triage notes

* **check failed**: its log ends with the runs of which TLC says something else than the manifest. Somebody
  has changed a specification: do not trust verdicts of that protocol until it is repaired.
  `python -m fencepost.spec check NAME` repeats one run and prints all that TLC says.

It needs Java and TLC (`make setup`) on the worker. The DAG starts paused: switch it on at the top.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow.sdk import Asset, Param, dag, get_current_context, task

from fencepost.callbacks import report_failed

SPECIFICATIONS = Asset("fencepost_specifications")


@dag(
    schedule="@daily",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=3),
    doc_md=__doc__,
    tags=["kafka", "audit"],
    params={"config": Param(None, type=["null", "string"], description="Path of fencepost.toml.")},
    default_args={"owner": "kafka-platform", "retries": 1, "on_failure_callback": report_failed},
)
def model_check() -> None:
    @task(inlets=[SPECIFICATIONS], outlets=[SPECIFICATIONS])
    def check() -> None:
        from airflow.sdk.exceptions import AirflowFailException

        from fencepost.spec.recheck import SpecificationError, recheck

        context = get_current_context()
        before = context["inlet_events"][SPECIFICATIONS]
        try:
            checked = recheck(before[-1].extra if len(before) else {})
        except SpecificationError as error:
            # TLC would say the same again
            raise AirflowFailException(str(error)) from error
        context["outlet_events"][SPECIFICATIONS].extra.update(checked)

    check()


model_check()
