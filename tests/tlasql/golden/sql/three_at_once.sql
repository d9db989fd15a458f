-- generated from ThreeAtOnce in tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
--
-- ThreeAtOnce ==
--     \A cluster, life, n \in DOMAIN held :
--         \A p \in held[cluster] \cap held[life] \cap held[n] : cluster = life \/ life = n \/ cluster = n
WITH frame AS (
  SELECT
    held.cluster,
    held.group_id,
    held.life,
    GREATEST(held.from_position, held_2.from_position, held_3.from_position) AS from_position,
    LEAST(held.to_position, held_2.to_position, held_3.to_position) AS to_position,
    CASE GREATEST(held.from_position, held_2.from_position, held_3.from_position)
      WHEN held.from_position
      THEN held.from_time
      WHEN held_2.from_position
      THEN held_2.from_time
      WHEN held_3.from_position
      THEN held_3.from_time
    END AS from_time,
    CASE LEAST(held.to_position, held_2.to_position, held_3.to_position)
      WHEN held.to_position
      THEN held.to_time
      WHEN held_2.to_position
      THEN held_2.to_time
      WHEN held_3.to_position
      THEN held_3.to_time
    END AS to_time,
    held.member_id AS cluster_,
    held_2.member_id AS life_,
    held_3.member_id AS n,
    held.partition_key AS p,
    '{}' AS evidence
  FROM silver.held AS held
  JOIN silver.held AS held_2
    ON held.cluster = held_2.cluster
    AND held.group_id = held_2.group_id
    AND held.life = held_2.life
    AND held.partition_key = held_2.partition_key
    AND (
      held_2.to_position IS NULL OR held.from_position < held_2.to_position
    )
    AND (
      held.to_position IS NULL OR held_2.from_position < held.to_position
    )
  JOIN silver.held AS held_3
    ON held.cluster = held_3.cluster
    AND held.group_id = held_3.group_id
    AND held.life = held_3.life
    AND held.partition_key = held_3.partition_key
    AND held.member_id <= held_3.member_id
    AND (
      held_3.to_position IS NULL OR held.from_position < held_3.to_position
    )
    AND (
      held.to_position IS NULL OR held_3.from_position < held.to_position
    )
    AND (
      held_3.to_position IS NULL OR held_2.from_position < held_3.to_position
    )
    AND (
      held_2.to_position IS NULL OR held_3.from_position < held_2.to_position
    )
  WHERE
    NOT held.from_position IS NULL
    AND NOT held_2.from_position IS NULL
    AND NOT held_3.from_position IS NULL
), judged AS (
  SELECT
    *,
    (
      cluster_ = life_ OR life_ = n
    ) OR cluster_ = n AS c1
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
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(STRUCT(cluster_ AS cluster, life_ AS life, n, p), MAP('ignoreNullFields', 'false'))
  END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  TRUE AS exercised,
  CASE WHEN NOT verdict THEN CASE WHEN NOT c1 THEN 'cluster = life \\/ life = n \\/ cluster = n' END END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_known' END AS reason,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN '{}' END AS observed,
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
FROM silver.held
WHERE
  from_position IS NULL
  OR partition_key IS NULL
  OR member_id IS NULL
  OR cluster IS NULL
  OR group_id IS NULL
  OR life IS NULL
