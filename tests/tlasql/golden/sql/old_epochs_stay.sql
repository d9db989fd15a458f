-- generated from OldEpochsStay in tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
--
-- OldEpochsStay == \A m \in DOMAIN epoch \cap DOMAIN epoch' : epoch[m] > 2 => epoch'[m] >= epoch[m]
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
    member_id AS m,
    epoch AS `epoch[m]`,
    LEAD(epoch) OVER successive AS `epoch'[m]`,
    '{}' AS evidence
  FROM silver.members
  WINDOW successive AS (PARTITION BY cluster, group_id, life, member_id ORDER BY from_position)
), judged AS (
  SELECT
    *,
    `epoch'[m]` = `epoch[m]` AS unchanged,
    `epoch[m]` > 2 AS antecedent,
    `epoch'[m]` >= `epoch[m]` AS c1
  FROM frame
  WHERE
    next_from_position = to_position
    AND NOT cluster IS NULL
    AND NOT group_id IS NULL
    AND NOT life IS NULL
    AND NOT m IS NULL
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
  TO_JSON(STRUCT(group_id, life), MAP('ignoreNullFields', 'false')) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN TO_JSON(STRUCT(m), MAP('ignoreNullFields', 'false')) END AS witness,
  next_from_position AS from_position,
  next_to_position AS to_position,
  next_from_time AS from_time,
  next_to_time AS to_time,
  verdict,
  COALESCE(antecedent AND NOT unchanged, FALSE) AS exercised,
  CASE WHEN NOT verdict THEN CASE WHEN antecedent AND NOT c1 THEN 'epoch\'[m] >= epoch[m]' END END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_known' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(STRUCT(`epoch[m]`, `epoch'[m]`), MAP('ignoreNullFields', 'false'))
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
FROM silver.members
WHERE
  from_position IS NULL OR member_id IS NULL OR cluster IS NULL OR group_id IS NULL OR life IS NULL
