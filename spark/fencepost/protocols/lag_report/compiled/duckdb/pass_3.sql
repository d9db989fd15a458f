-- generated from spec/lag_report/LagReportProps.tla by `tlasql compile`; do not edit
-- one pass for no_cleaning_while_lag_is_reported, no_cleaning_within_the_delay
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
    deleted_by AS "d.deletedBy",
    has_state AS "d.hasState",
    lag_reported AS "d.lagReported",
    since_release_ms AS "d.sinceRelease",
    cleanup_delay_ms AS "d.cleanupDelay"
  FROM silver.directory_deletions
), judged AS (
  SELECT
    *,
    "d.deletedBy" = 'cleaner' AND "d.hasState" AS antecedent_1,
    NOT "d.lagReported" AS c1_1,
    "d.deletedBy" = 'cleaner' AND "d.hasState" AS antecedent_2,
    "d.sinceRelease" >= "d.cleanupDelay" AS c1_2
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
    "d.deletedBy",
    "d.hasState",
    "d.lagReported",
    "d.sinceRelease",
    "d.cleanupDelay",
    NOT antecedent_1 OR c1_1 AS verdict_1,
    COALESCE(antecedent_1, FALSE) AS exercised_1,
    CASE WHEN antecedent_1 AND NOT c1_1 THEN '~d.lagReported' END AS failed_conjunct_1,
    NOT antecedent_2 OR c1_2 AS verdict_2,
    COALESCE(antecedent_2, FALSE) AS exercised_2,
    CASE WHEN antecedent_2 AND NOT c1_2 THEN 'd.sinceRelease >= d.cleanupDelay' END AS failed_conjunct_2
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    deletion_id
  FROM silver.directory_deletions
  GROUP BY
    cluster,
    deletion_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    deletion_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'application_id': application_id, 'log': log, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'd.deletedBy': "d.deletedBy", 'd.hasState': "d.hasState", 'd.lagReported': "d.lagReported", 'd.sinceRelease': "d.sinceRelease", 'd.cleanupDelay': "d.cleanupDelay"} AS first_state,
    CASE WHEN COALESCE(verdict_1, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_1, FALSE) THEN FALSE END AS verdict_1,
    exercised_1 AS exercised_1,
    CASE WHEN COALESCE(verdict_2, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_2, FALSE) THEN FALSE END AS verdict_2,
    exercised_2 AS exercised_2
  FROM weighed
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.deletion_id IS NOT DISTINCT FROM weighed.deletion_id
    )
  UNION ALL
  SELECT
    cluster,
    deletion_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE(
      {'application_id': application_id, 'log': log, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'd.deletedBy': "d.deletedBy", 'd.hasState': "d.hasState", 'd.lagReported': "d.lagReported", 'd.sinceRelease': "d.sinceRelease", 'd.cleanupDelay': "d.cleanupDelay"}
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_1, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_1, FALSE))
      THEN FALSE
    END AS verdict_1,
    BOOL_AND(exercised_1) AS exercised_1,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_2, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_2, FALSE))
      THEN FALSE
    END AS verdict_2,
    BOOL_AND(exercised_2) AS exercised_2
  FROM weighed
  WHERE
    EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.deletion_id IS NOT DISTINCT FROM weighed.deletion_id
    )
  GROUP BY
    cluster,
    deletion_id
)
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  scope,
  CASE WHEN NOT COALESCE(STRUCT_EXTRACT(each, 'verdict'), FALSE) THEN witness END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  STRUCT_EXTRACT(each, 'verdict') AS verdict,
  STRUCT_EXTRACT(each, 'exercised') AS exercised,
  STRUCT_EXTRACT(each, 'failed_conjunct') AS failed_conjunct,
  STRUCT_EXTRACT(each, 'reason') AS reason,
  STRUCT_EXTRACT(each, 'observed') AS observed,
  CASE WHEN NOT COALESCE(STRUCT_EXTRACT(each, 'verdict'), FALSE) THEN evidence END AS evidence
FROM (
  SELECT
    cluster,
    scope,
    witness,
    from_position,
    to_position,
    from_time,
    to_time,
    evidence,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      CAST(JSON_OBJECT(
        'application_id',
        COALESCE(STRUCT_EXTRACT(agreed.first_state, 'application_id'), directory_deletions.application_id),
        'log',
        COALESCE(STRUCT_EXTRACT(agreed.first_state, 'log'), directory_deletions.log)
      ) AS TEXT) AS scope,
      CASE
        WHEN NOT (
          COALESCE(agreed.verdict_1, FALSE) AND COALESCE(agreed.verdict_2, FALSE)
        )
        THEN CAST(JSON_OBJECT('d', deletion_id) AS TEXT)
      END AS witness,
      agreed.from_position,
      agreed.to_position,
      COALESCE(agreed.from_time, directory_deletions.from_time) AS from_time,
      COALESCE(agreed.to_time, directory_deletions.to_time) AS to_time,
      CASE
        WHEN NOT (
          COALESCE(agreed.verdict_1, FALSE) AND COALESCE(agreed.verdict_2, FALSE)
        )
        THEN CAST(JSON_OBJECT(
          'instance',
          directory_deletions.instance,
          'task_id',
          directory_deletions.task_id,
          'deleted_at',
          STRFTIME(directory_deletions.deleted_at, '%Y-%m-%dT%H:%M:%S.%gZ'),
          'elapsed_ms',
          directory_deletions.elapsed_ms,
          'reported_by',
          directory_deletions.reported_by,
          'reported_at',
          STRFTIME(directory_deletions.reported_at, '%Y-%m-%dT%H:%M:%S.%gZ'),
          'released_by',
          directory_deletions.released_by,
          'released_at',
          STRFTIME(directory_deletions.released_at, '%Y-%m-%dT%H:%M:%S.%gZ'),
          'file',
          directory_deletions.file,
          'position',
          directory_deletions."position"
        ) AS TEXT)
      END AS evidence,
      [
        {'definition': 'no_cleaning_while_lag_is_reported', 'verdict': agreed.verdict_1, 'exercised': COALESCE(agreed.exercised_1, FALSE), 'failed_conjunct': CASE WHEN NOT agreed.verdict_1 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_1') END, 'reason': CASE WHEN agreed.verdict_1 IS NULL THEN 'not_logged' END, 'observed': CASE
          WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_1, FALSE)
          THEN CAST(JSON_OBJECT(
            'd.deletedBy',
            STRUCT_EXTRACT(agreed.first_state, 'd.deletedBy'),
            'd.hasState',
            STRUCT_EXTRACT(agreed.first_state, 'd.hasState'),
            'd.lagReported',
            STRUCT_EXTRACT(agreed.first_state, 'd.lagReported')
          ) AS TEXT)
        END},
        {'definition': 'no_cleaning_within_the_delay', 'verdict': agreed.verdict_2, 'exercised': COALESCE(agreed.exercised_2, FALSE), 'failed_conjunct': CASE WHEN NOT agreed.verdict_2 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_2') END, 'reason': CASE WHEN agreed.verdict_2 IS NULL THEN 'not_logged' END, 'observed': CASE
          WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_2, FALSE)
          THEN CAST(JSON_OBJECT(
            'd.deletedBy',
            STRUCT_EXTRACT(agreed.first_state, 'd.deletedBy'),
            'd.hasState',
            STRUCT_EXTRACT(agreed.first_state, 'd.hasState'),
            'd.sinceRelease',
            STRUCT_EXTRACT(agreed.first_state, 'd.sinceRelease'),
            'd.cleanupDelay',
            STRUCT_EXTRACT(agreed.first_state, 'd.cleanupDelay')
          ) AS TEXT)
        END}
      ] AS rows_
    FROM silver.directory_deletions AS directory_deletions
    FULL OUTER JOIN agreed
      USING (cluster, deletion_id)
  ) AS judged_together
) AS fanned
