-- generated from Arithmetic in tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
--
-- Arithmetic ==
--     LET Twice(n) == 2 * n
--     IN \A m \in DOMAIN epoch :
--            IF epoch[m] \in {1, 2, 4} THEN -Twice(epoch[m]) + 6 > 0 ELSE (epoch[m] - 1) * 2 <= 4
WITH frame AS (
  SELECT
    cluster,
    group_id,
    life,
    from_position,
    to_position,
    from_time,
    to_time,
    member_id AS m,
    epoch AS `epoch[m]`,
    '{}' AS evidence
  FROM silver.members
), judged AS (
  SELECT
    *,
    CASE (
        `epoch[m]` = 1 OR `epoch[m]` = 2 OR `epoch[m]` = 4
      )
      WHEN TRUE
      THEN TRY_ADD(CAST(TRY_SUBTRACT(CAST(0 AS BIGINT), TRY_MULTIPLY(CAST(2 AS BIGINT), `epoch[m]`)) AS BIGINT), 6) > 0
      WHEN FALSE
      THEN TRY_MULTIPLY(CAST(TRY_SUBTRACT(CAST(`epoch[m]` AS BIGINT), 1) AS BIGINT), 2) <= 4
      ELSE CASE
        WHEN (
          TRY_ADD(CAST(TRY_SUBTRACT(CAST(0 AS BIGINT), TRY_MULTIPLY(CAST(2 AS BIGINT), `epoch[m]`)) AS BIGINT), 6) > 0
        ) = (
          TRY_MULTIPLY(CAST(TRY_SUBTRACT(CAST(`epoch[m]` AS BIGINT), 1) AS BIGINT), 2) <= 4
        )
        THEN TRY_ADD(CAST(TRY_SUBTRACT(CAST(0 AS BIGINT), TRY_MULTIPLY(CAST(2 AS BIGINT), `epoch[m]`)) AS BIGINT), 6) > 0
      END
    END AS c1
  FROM frame
), weighed AS (
  SELECT
    *,
    c1 AS verdict
  FROM judged
)
SELECT
  cluster,
  TO_JSON(STRUCT(group_id, life), MAP('ignoreNullFields', 'false')) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN TO_JSON(STRUCT(m), MAP('ignoreNullFields', 'false')) END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  TRUE AS exercised,
  CASE
    WHEN NOT verdict
    THEN CASE
      WHEN NOT c1
      THEN 'IF epoch[m] \\in {1, 2, 4} THEN -Twice(epoch[m]) + 6 > 0 ELSE (epoch[m] - 1) * 2 <= 4'
    END
  END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_known' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(STRUCT(`epoch[m]`), MAP('ignoreNullFields', 'false'))
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
FROM silver.members
WHERE
  from_position IS NULL
