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
    on_reported_lag AS "a.onReportedLag",
    directory_exists AS "a.directoryExists",
    deleted_by AS "a.deletedBy"
  FROM silver.assigned_tasks
), judged AS (
  SELECT
    *,
    "a.onReportedLag" AS antecedent,
    "a.directoryExists" OR "a.deletedBy" = 'wipe' AS c1
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
    "a.onReportedLag",
    "a.directoryExists",
    "a.deletedBy",
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'a.directoryExists \/ a.deletedBy = "wipe"' END AS failed_conjunct
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    assigned_task_id
  FROM silver.assigned_tasks
  GROUP BY
    cluster,
    assigned_task_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    assigned_task_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'application_id': application_id, 'log': log, 'failed_conjunct': failed_conjunct, 'a.onReportedLag': "a.onReportedLag", 'a.directoryExists': "a.directoryExists", 'a.deletedBy': "a.deletedBy"} AS first_state,
    CASE WHEN COALESCE(verdict, FALSE) THEN TRUE WHEN COALESCE(NOT verdict, FALSE) THEN FALSE END AS verdict,
    exercised AS exercised
  FROM weighed
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.assigned_task_id IS NOT DISTINCT FROM weighed.assigned_task_id
    )
  UNION ALL
  SELECT
    cluster,
    assigned_task_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE(
      {'application_id': application_id, 'log': log, 'failed_conjunct': failed_conjunct, 'a.onReportedLag': "a.onReportedLag", 'a.directoryExists': "a.directoryExists", 'a.deletedBy': "a.deletedBy"}
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised
  FROM weighed
  WHERE
    EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.assigned_task_id IS NOT DISTINCT FROM weighed.assigned_task_id
    )
  GROUP BY
    cluster,
    assigned_task_id
)
SELECT
  cluster,
  CAST(JSON_OBJECT(
    'application_id',
    COALESCE(STRUCT_EXTRACT(agreed.first_state, 'application_id'), assigned_tasks.application_id),
    'log',
    COALESCE(STRUCT_EXTRACT(agreed.first_state, 'log'), assigned_tasks.log)
  ) AS TEXT) AS scope,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN CAST(JSON_OBJECT('a', assigned_task_id) AS TEXT)
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, assigned_tasks.assigned_at) AS from_time,
  COALESCE(agreed.to_time, assigned_tasks.initialized_at) AS to_time,
  agreed.verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE WHEN NOT agreed.verdict THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct') END AS failed_conjunct,
  CASE WHEN agreed.verdict IS NULL THEN 'not_logged' END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict, FALSE)
    THEN CAST(JSON_OBJECT(
      'a.onReportedLag',
      STRUCT_EXTRACT(agreed.first_state, 'a.onReportedLag'),
      'a.directoryExists',
      STRUCT_EXTRACT(agreed.first_state, 'a.directoryExists'),
      'a.deletedBy',
      STRUCT_EXTRACT(agreed.first_state, 'a.deletedBy')
    ) AS TEXT)
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN CAST(JSON_OBJECT(
      'instance',
      assigned_tasks.instance,
      'task_id',
      assigned_tasks.task_id,
      'thread',
      assigned_tasks.thread,
      'kind',
      assigned_tasks.kind,
      'lag_report_id',
      assigned_tasks.lag_report_id,
      'offset_sum',
      assigned_tasks.offset_sum,
      'assigned_at',
      STRFTIME(assigned_tasks.assigned_at, '%Y-%m-%dT%H:%M:%S.%gZ'),
      'initialized_at',
      STRFTIME(assigned_tasks.initialized_at, '%Y-%m-%dT%H:%M:%S.%gZ'),
      'file',
      assigned_tasks.file,
      'position',
      assigned_tasks."position"
    ) AS TEXT)
  END AS evidence
FROM silver.assigned_tasks AS assigned_tasks
FULL OUTER JOIN agreed
  USING (cluster, assigned_task_id)
