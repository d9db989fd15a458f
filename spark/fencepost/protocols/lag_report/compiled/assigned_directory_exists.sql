-- generated from AssignedDirectoryExists in spec/lag_report/LagReportProps.tla by `tlasql compile`; do not edit
--
-- AssignedDirectoryExists ==
--     \A a \in assignedTasks : a.onReportedLag => a.directoryExists \/ a.deletedBy = "wipe"
WITH frame AS (
  SELECT
    cluster,
    application_id,
    log,
    assigned_task_id,
    from_position,
    to_position,
    from_time,
    to_time,
    on_reported_lag AS `a.onReportedLag`,
    directory_exists AS `a.directoryExists`,
    deleted_by AS `a.deletedBy`
  FROM silver.assigned_tasks
), judged AS (
  SELECT
    *,
    `a.onReportedLag` AS antecedent,
    `a.directoryExists` OR `a.deletedBy` = 'wipe' AS c1
  FROM frame
), weighed AS (
  SELECT
    cluster,
    application_id,
    log,
    assigned_task_id,
    from_position,
    to_position,
    from_time,
    to_time,
    `a.onReportedLag`,
    `a.directoryExists`,
    `a.deletedBy`,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'a.directoryExists \\/ a.deletedBy = "wipe"' END AS failed_conjunct
  FROM judged
), agreed AS (
  SELECT
    cluster,
    assigned_task_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE(
      NAMED_STRUCT(
        'application_id',
        application_id,
        'log',
        log,
        'failed_conjunct',
        failed_conjunct,
        'a.onReportedLag',
        `a.onReportedLag`,
        'a.directoryExists',
        `a.directoryExists`,
        'a.deletedBy',
        `a.deletedBy`
      )
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised
  FROM weighed
  GROUP BY
    cluster,
    assigned_task_id
)
SELECT
  cluster,
  TO_JSON(
    STRUCT(
      COALESCE(agreed.first_state.`application_id`, assigned_tasks.application_id) AS application_id,
      COALESCE(agreed.first_state.`log`, assigned_tasks.log) AS log
    ),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN TO_JSON(STRUCT(assigned_task_id AS a), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, assigned_tasks.assigned_at) AS from_time,
  COALESCE(agreed.to_time, assigned_tasks.initialized_at) AS to_time,
  agreed.verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE WHEN NOT agreed.verdict THEN agreed.first_state.`failed_conjunct` END AS failed_conjunct,
  CASE WHEN agreed.verdict IS NULL THEN 'not_logged' END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict, FALSE)
    THEN TO_JSON(
      STRUCT(
        agreed.first_state.`a.onReportedLag` AS `a.onReportedLag`,
        agreed.first_state.`a.directoryExists` AS `a.directoryExists`,
        agreed.first_state.`a.deletedBy` AS `a.deletedBy`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN TO_JSON(
      STRUCT(
        assigned_tasks.instance,
        assigned_tasks.task_id,
        assigned_tasks.thread,
        assigned_tasks.kind,
        assigned_tasks.lag_report_id,
        assigned_tasks.offset_sum,
        assigned_tasks.assigned_at,
        assigned_tasks.initialized_at,
        assigned_tasks.file,
        assigned_tasks.`position`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS evidence
FROM silver.assigned_tasks AS assigned_tasks
FULL OUTER JOIN agreed
  USING (cluster, assigned_task_id)
