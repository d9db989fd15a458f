-- generated from NoLockedDirectoryDeleted in spec/lag_report/LagReportProps.tla by `tlasql compile`; do not edit
--
-- NoLockedDirectoryDeleted ==
--     \A d \in DOMAIN deletedBy \cap DOMAIN deletedBy' :
--         deletedBy'[d] # deletedBy[d] /\ deletedBy'[d] = "cleaner" => ~locked[d]
WITH frame AS (
  SELECT
    cluster,
    application_id,
    log,
    from_position,
    to_position,
    from_time,
    to_time,
    LEAD(from_position) OVER successive AS next_from_position,
    LEAD(to_position) OVER successive AS next_to_position,
    LEAD(from_time) OVER successive AS next_from_time,
    LEAD(to_time) OVER successive AS next_to_time,
    task_id AS d,
    deleted_by AS `deletedBy[d]`,
    LEAD(deleted_by) OVER successive AS `deletedBy'[d]`,
    locked AS `locked[d]`,
    LEAD(locked) OVER successive AS `locked'[d]`,
    TO_JSON(
      STRUCT(instance, task_id, holder, held_for, released_at, file, `position`),
      MAP('ignoreNullFields', 'false')
    ) AS evidence
  FROM silver.task_directories
  WINDOW successive AS (PARTITION BY cluster, application_id, log, task_id ORDER BY from_position)
), judged AS (
  SELECT
    *,
    `deletedBy'[d]` = `deletedBy[d]` AND `locked'[d]` = `locked[d]` AS unchanged,
    NOT `deletedBy'[d]` = `deletedBy[d]` AND `deletedBy'[d]` = 'cleaner' AS antecedent,
    NOT `locked[d]` AS c1
  FROM frame
  WHERE
    next_from_position = to_position
    AND NOT cluster IS NULL
    AND NOT application_id IS NULL
    AND NOT log IS NULL
    AND NOT d IS NULL
), weighed AS (
  SELECT
    *,
    unchanged OR (
      NOT antecedent OR c1
    ) AS verdict
  FROM judged
)
SELECT
  cluster,
  TO_JSON(STRUCT(application_id, log), MAP('ignoreNullFields', 'false')) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN TO_JSON(STRUCT(d), MAP('ignoreNullFields', 'false')) END AS witness,
  next_from_position AS from_position,
  next_to_position AS to_position,
  next_from_time AS from_time,
  next_to_time AS to_time,
  verdict,
  COALESCE(antecedent AND NOT unchanged, FALSE) AS exercised,
  CASE WHEN NOT verdict THEN CASE WHEN antecedent AND NOT c1 THEN '~locked[d]' END END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_logged' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(STRUCT(`deletedBy[d]`, `deletedBy'[d]`, `locked[d]`, `locked'[d]`), MAP('ignoreNullFields', 'false'))
  END AS observed,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN evidence END AS evidence
FROM weighed
WHERE
  NOT from_position IS NULL
UNION ALL
SELECT
  cluster,
  TO_JSON(STRUCT(application_id, log), MAP('ignoreNullFields', 'false')) AS scope,
  CAST(NULL AS STRING) AS witness,
  from_position,
  to_position + 1 AS to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS STRING) AS failed_conjunct,
  'not_captured' AS reason,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence
FROM silver.streams_coverage
WHERE
  (
    NOT COALESCE(covered, FALSE)
    OR from_position IS NULL
    OR cluster IS NULL
    OR application_id IS NULL
    OR log IS NULL
  )
  AND (
    NOT log = 'group' OR log IS NULL
  )
UNION ALL
SELECT
  cluster,
  TO_JSON(STRUCT(application_id, log), MAP('ignoreNullFields', 'false')) AS scope,
  CAST(NULL AS STRING) AS witness,
  from_position,
  to_position + 1 AS to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS STRING) AS failed_conjunct,
  'not_logged' AS reason,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence
FROM silver.task_directories
WHERE
  from_position IS NULL OR task_id IS NULL OR cluster IS NULL OR application_id IS NULL OR log IS NULL
