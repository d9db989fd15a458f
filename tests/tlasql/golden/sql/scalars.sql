-- generated from Scalars in tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
--
-- Scalars == level >= 2 /\ level # 4
WITH frame AS (
  SELECT
    cluster,
    group_id,
    life,
    from_position,
    to_position,
    from_time,
    to_time,
    level,
    TO_JSON(STRUCT(file, from_time), MAP('ignoreNullFields', 'false')) AS evidence
  FROM silver.groups
), judged AS (
  SELECT
    *,
    level >= 2 AS c1,
    NOT level = 4 AS c2
  FROM frame
), weighed AS (
  SELECT
    *,
    c1 AND c2 AS verdict
  FROM judged
)
SELECT
  cluster,
  TO_JSON(STRUCT(group_id, life), MAP('ignoreNullFields', 'false')) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN '{}' END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  TRUE AS exercised,
  CASE WHEN NOT verdict THEN CASE WHEN NOT c1 THEN 'level >= 2' WHEN NOT c2 THEN 'level # 4' END END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_known' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(STRUCT(level), MAP('ignoreNullFields', 'false'))
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
  to_position,
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
  to_position,
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
  from_position IS NULL
