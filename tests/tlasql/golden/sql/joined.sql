-- generated from Joined in tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
--
-- Joined == \A m \in DOMAIN epoch : \A p \in held[m] : epoch[m] > 1
WITH frame AS (
  SELECT
    members.cluster,
    members.group_id,
    members.life,
    GREATEST(members.from_position, held.from_position) AS from_position,
    LEAST(members.to_position, held.to_position) AS to_position,
    CASE GREATEST(members.from_position, held.from_position)
      WHEN members.from_position
      THEN members.from_time
      WHEN held.from_position
      THEN held.from_time
    END AS from_time,
    CASE LEAST(members.to_position, held.to_position)
      WHEN members.to_position
      THEN members.to_time
      WHEN held.to_position
      THEN held.to_time
    END AS to_time,
    members.member_id AS m,
    held.partition_key AS p,
    members.epoch AS `epoch[m]`,
    '{}' AS evidence
  FROM silver.members AS members
  JOIN silver.held AS held
    ON members.cluster = held.cluster
    AND members.group_id = held.group_id
    AND members.life = held.life
    AND members.member_id = held.member_id
    AND (
      held.to_position IS NULL OR members.from_position < held.to_position
    )
    AND (
      members.to_position IS NULL OR held.from_position < members.to_position
    )
  WHERE
    NOT members.from_position IS NULL AND NOT held.from_position IS NULL
), judged AS (
  SELECT
    *,
    `epoch[m]` > 1 AS c1
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
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN TO_JSON(STRUCT(m, p), MAP('ignoreNullFields', 'false')) END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  TRUE AS exercised,
  CASE WHEN NOT verdict THEN CASE WHEN NOT c1 THEN 'epoch[m] > 1' END END AS failed_conjunct,
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
  from_position IS NULL OR member_id IS NULL OR cluster IS NULL OR group_id IS NULL OR life IS NULL
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
FROM silver.held
WHERE
  from_position IS NULL OR member_id IS NULL OR cluster IS NULL OR group_id IS NULL OR life IS NULL
