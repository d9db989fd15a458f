-- generated from GroupEpochNeverFalls in spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
--
-- GroupEpochNeverFalls == groupEpoch' >= groupEpoch
WITH frame AS (
  SELECT
    cluster,
    group_id,
    life,
    from_position,
    to_position,
    from_time,
    to_time,
    LEAD(from_position) OVER successive AS next_from_position,
    LEAD(to_position) OVER successive AS next_to_position,
    LEAD(from_time) OVER successive AS next_from_time,
    LEAD(to_time) OVER successive AS next_to_time,
    group_epoch AS `groupEpoch`,
    LEAD(group_epoch) OVER successive AS `groupEpoch'`,
    TO_JSON(STRUCT(coordinator_partition), MAP('ignoreNullFields', 'false')) AS evidence
  FROM silver.consumer_groups
  WINDOW successive AS (PARTITION BY cluster, group_id, life ORDER BY from_position)
), judged AS (
  SELECT
    *,
    `groupEpoch'` = `groupEpoch` AS unchanged,
    `groupEpoch'` >= `groupEpoch` AS c1
  FROM frame
  WHERE
    next_from_position = to_position AND NOT cluster IS NULL AND NOT group_id IS NULL AND NOT life IS NULL
), weighed AS (
  SELECT
    *,
    unchanged OR c1 AS verdict
  FROM judged
)
SELECT
  cluster,
  TO_JSON(STRUCT(group_id, life), MAP('ignoreNullFields', 'false')) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN '{}' END AS witness,
  next_from_position AS from_position,
  next_to_position AS to_position,
  next_from_time AS from_time,
  next_to_time AS to_time,
  verdict,
  COALESCE(NOT unchanged, FALSE) AS exercised,
  CASE WHEN NOT verdict THEN CASE WHEN NOT c1 THEN 'groupEpoch\' >= groupEpoch' END END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_captured' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(STRUCT(`groupEpoch`, `groupEpoch'`), MAP('ignoreNullFields', 'false'))
  END AS observed,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN evidence END AS evidence
FROM weighed
WHERE
  NOT from_position IS NULL
UNION ALL
SELECT
  cluster,
  TO_JSON(STRUCT(group_id, life), MAP('ignoreNullFields', 'false')) AS scope,
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
FROM silver.coverage
WHERE
  NOT COALESCE(covered, FALSE)
  OR from_position IS NULL
  OR cluster IS NULL
  OR group_id IS NULL
  OR life IS NULL
UNION ALL
SELECT
  cluster,
  TO_JSON(STRUCT(group_id, life), MAP('ignoreNullFields', 'false')) AS scope,
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
FROM silver.consumer_groups
WHERE
  from_position IS NULL OR cluster IS NULL OR group_id IS NULL OR life IS NULL
