-- generated from Filtered in tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
--
-- Filtered ==
--     /\ \A m \in {n \in DOMAIN epoch : epoch[n] > 2} : epoch[m] # 5
--     /\ ~ \E m \in DOMAIN epoch : epoch[m] = 0
WITH frame_1 AS (
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
), judged_1 AS (
  SELECT
    *,
    `epoch[m]` > 2 AS antecedent,
    NOT `epoch[m]` = 5 AS c1
  FROM frame_1
), weighed_1 AS (
  SELECT
    *,
    NOT antecedent OR c1 AS verdict
  FROM judged_1
), frame_2 AS (
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
), judged_2 AS (
  SELECT
    *,
    NOT `epoch[m]` = 0 AS c1
  FROM frame_2
), weighed_2 AS (
  SELECT
    *,
    c1 AS verdict
  FROM judged_2
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
  COALESCE(antecedent, FALSE) AS exercised,
  CASE WHEN NOT verdict THEN CASE WHEN antecedent AND NOT c1 THEN 'epoch[m] # 5' END END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_known' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(STRUCT(`epoch[m]`), MAP('ignoreNullFields', 'false'))
  END AS observed,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN evidence END AS evidence
FROM weighed_1
WHERE
  NOT from_position IS NULL
UNION ALL
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
  CASE WHEN NOT verdict THEN CASE WHEN NOT c1 THEN 'epoch[m] = 0' END END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_known' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(STRUCT(`epoch[m]`), MAP('ignoreNullFields', 'false'))
  END AS observed,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN evidence END AS evidence
FROM weighed_2
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
