-- generated from LevelGrowsByOne in tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
--
-- LevelGrowsByOne == level' = level + 1
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
    level,
    LEAD(level) OVER successive AS `level'`,
    TO_JSON(STRUCT(file, from_time), MAP('ignoreNullFields', 'false')) AS evidence
  FROM silver.groups
  WINDOW successive AS (PARTITION BY cluster, group_id, life ORDER BY from_position)
), judged AS (
  SELECT
    *,
    `level'` = level AS unchanged,
    `level'` = TRY_ADD(CAST(level AS BIGINT), 1) AS c1
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
  CASE WHEN NOT verdict THEN CASE WHEN NOT c1 THEN 'level\' = level + 1' END END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_known' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(STRUCT(level, `level'`), MAP('ignoreNullFields', 'false'))
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
  'not_covered' AS reason,
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
  'not_known' AS reason,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence
FROM silver.groups
WHERE
  from_position IS NULL OR cluster IS NULL OR group_id IS NULL OR life IS NULL
