-- generated from NoCleaningWhileLagIsReported in spec/lag_report/LagReportProps.tla by `tlasql compile`; do not edit
--
-- NoCleaningWhileLagIsReported == \A d \in deletions : ByCleaner(d) => ~d.lagReported
WITH frame AS (
  SELECT
    cluster,
    application_id,
    log,
    deletion_id,
    from_position,
    to_position,
    from_time,
    to_time,
    deleted_by AS `d.deletedBy`,
    has_state AS `d.hasState`,
    lag_reported AS `d.lagReported`
  FROM silver.directory_deletions
), judged AS (
  SELECT
    *,
    `d.deletedBy` = 'cleaner' AND `d.hasState` AS antecedent,
    NOT `d.lagReported` AS c1
  FROM frame
), weighed AS (
  SELECT
    cluster,
    application_id,
    log,
    deletion_id,
    from_position,
    to_position,
    from_time,
    to_time,
    `d.deletedBy`,
    `d.hasState`,
    `d.lagReported`,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN '~d.lagReported' END AS failed_conjunct
  FROM judged
), agreed AS (
  SELECT
    cluster,
    deletion_id,
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
        'd.deletedBy',
        `d.deletedBy`,
        'd.hasState',
        `d.hasState`,
        'd.lagReported',
        `d.lagReported`
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
    deletion_id
)
SELECT
  cluster,
  TO_JSON(
    STRUCT(
      COALESCE(agreed.first_state.`application_id`, directory_deletions.application_id) AS application_id,
      COALESCE(agreed.first_state.`log`, directory_deletions.log) AS log
    ),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN TO_JSON(STRUCT(deletion_id AS d), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, directory_deletions.from_time) AS from_time,
  COALESCE(agreed.to_time, directory_deletions.to_time) AS to_time,
  agreed.verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE WHEN NOT agreed.verdict THEN agreed.first_state.`failed_conjunct` END AS failed_conjunct,
  CASE WHEN agreed.verdict IS NULL THEN 'not_logged' END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict, FALSE)
    THEN TO_JSON(
      STRUCT(
        agreed.first_state.`d.deletedBy` AS `d.deletedBy`,
        agreed.first_state.`d.hasState` AS `d.hasState`,
        agreed.first_state.`d.lagReported` AS `d.lagReported`
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
        directory_deletions.instance,
        directory_deletions.task_id,
        directory_deletions.deleted_at,
        directory_deletions.elapsed_ms,
        directory_deletions.reported_by,
        directory_deletions.reported_at,
        directory_deletions.released_by,
        directory_deletions.released_at,
        directory_deletions.file,
        directory_deletions.`position`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS evidence
FROM silver.directory_deletions AS directory_deletions
FULL OUTER JOIN agreed
  USING (cluster, deletion_id)
