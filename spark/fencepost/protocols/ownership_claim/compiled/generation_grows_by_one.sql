-- generated from GenerationGrowsByOne in spec/ownership_claim/OwnershipClaimProps.tla by `tlasql compile`; do not edit
--
-- GenerationGrowsByOne == generation' # generation => generation' = generation + 1 + abandoned'
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
    generation,
    LEAD(generation) OVER successive AS `generation'`,
    abandoned,
    LEAD(abandoned) OVER successive AS `abandoned'`,
    TO_JSON(
      STRUCT(coordinator_partition, protocol, leader_member_id, members, record_offset, reason, file, `position`),
      MAP('ignoreNullFields', 'false')
    ) AS evidence
  FROM silver.group_generations
  WINDOW successive AS (PARTITION BY cluster, group_id, life ORDER BY from_position)
), judged AS (
  SELECT
    *,
    `generation'` = generation AND `abandoned'` = abandoned AS unchanged,
    NOT `generation'` = generation AS antecedent,
    `generation'` = TRY_ADD(CAST(TRY_ADD(CAST(generation AS BIGINT), 1) AS BIGINT), `abandoned'`) AS c1
  FROM frame
  WHERE
    next_from_position = to_position AND NOT cluster IS NULL AND NOT group_id IS NULL AND NOT life IS NULL
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
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN '{}' END AS witness,
  next_from_position AS from_position,
  next_to_position AS to_position,
  next_from_time AS from_time,
  next_to_time AS to_time,
  verdict,
  COALESCE(antecedent AND NOT unchanged, FALSE) AS exercised,
  CASE
    WHEN NOT verdict
    THEN CASE WHEN antecedent AND NOT c1 THEN 'generation\' = generation + 1 + abandoned\'' END
  END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_captured' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(STRUCT(generation, `generation'`, abandoned, `abandoned'`), MAP('ignoreNullFields', 'false'))
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
FROM silver.classic_group_coverage
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
FROM silver.group_generations
WHERE
  from_position IS NULL OR cluster IS NULL OR group_id IS NULL OR life IS NULL
