-- generated from tests/tlasql/fragment/Case.tla:50 by `tlasql compile`; do not edit
--
-- LevelNeverFalls == level' >= level
WITH pairs AS (
  SELECT
    cluster,
    group_id,
    life,
    to_position AS left_at,
    to_time AS left_at_time,
    LEAD(from_position) OVER successive AS from_position,
    LEAD(to_position) OVER successive AS to_position,
    LEAD(from_time) OVER successive AS from_time,
    LEAD(to_time) OVER successive AS to_time,
    level,
    LEAD(level) OVER successive AS `level'`,
    TO_JSON(STRUCT(file), MAP('ignoreNullFields', 'false')) AS evidence
  FROM silver.groups
  WINDOW successive AS (PARTITION BY cluster, group_id, life ORDER BY from_position)
), frame AS (
  SELECT
    pairs.*,
    pairs.from_position <> pairs.left_at AS gap
  FROM pairs
  LEFT JOIN silver.coverage AS coverage
    ON pairs.cluster = coverage.cluster
    AND pairs.group_id = coverage.group_id
    AND pairs.life = coverage.life
    AND NOT COALESCE(coverage.covered, FALSE)
    AND coverage.from_position <= pairs.left_at
    AND (
      coverage.to_position IS NULL OR pairs.left_at < coverage.to_position
    )
  WHERE
    pairs.from_position = pairs.left_at
    OR (
      NOT pairs.from_position IS NULL AND NOT coverage.from_position IS NULL
    )
), judged AS (
  SELECT
    *,
    `level'` = level AS unchanged,
    `level'` >= level AS c1
  FROM frame
), weighed AS (
  SELECT
    *,
    CASE WHEN gap THEN CASE WHEN NOT c1 THEN FALSE END ELSE unchanged OR c1 END AS verdict
  FROM judged
)
SELECT
  cluster,
  TO_JSON(STRUCT(group_id, life), MAP('ignoreNullFields', 'false')) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN '{}' END AS witness,
  left_at AS from_position,
  to_position,
  COALESCE(CASE WHEN NOT gap THEN from_time END, left_at_time) AS from_time,
  to_time,
  verdict,
  COALESCE(NOT unchanged, FALSE) AS exercised,
  CASE WHEN NOT unchanged THEN CASE WHEN NOT c1 THEN 'level\' >= level (Case:50)' END END AS failed_conjunct,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(STRUCT(level, `level'`), MAP('ignoreNullFields', 'false'))
  END AS `values`,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN evidence END AS evidence
FROM weighed
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
  CAST(NULL AS STRING) AS `values`,
  CAST(NULL AS STRING) AS evidence
FROM silver.coverage
WHERE
  NOT COALESCE(covered, FALSE)
