-- generated from NoPartitionOwnedTwice in spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
--
-- NoPartitionOwnedTwice ==
--     \A m \in DOMAIN owned : \A n \in DOMAIN owned :
--         \A p \in owned[m] \cap owned[n] : m = n
WITH frame AS (
  SELECT
    owned_partitions.cluster,
    owned_partitions.group_id,
    owned_partitions.life,
    GREATEST(owned_partitions.from_position, owned_partitions_2.from_position) AS from_position,
    LEAST(owned_partitions.to_position, owned_partitions_2.to_position) AS to_position,
    CASE GREATEST(owned_partitions.from_position, owned_partitions_2.from_position)
      WHEN owned_partitions.from_position
      THEN owned_partitions.from_time
      WHEN owned_partitions_2.from_position
      THEN owned_partitions_2.from_time
    END AS from_time,
    CASE LEAST(owned_partitions.to_position, owned_partitions_2.to_position)
      WHEN owned_partitions.to_position
      THEN owned_partitions.to_time
      WHEN owned_partitions_2.to_position
      THEN owned_partitions_2.to_time
    END AS to_time,
    owned_partitions.member_id AS m,
    owned_partitions_2.member_id AS n,
    owned_partitions.partition_key AS p,
    TO_JSON(
      STRUCT(
        owned_partitions.coordinator_partition,
        owned_partitions.member_id,
        owned_partitions.topic,
        owned_partitions.`partition`,
        owned_partitions.pending_revocation
      ),
      MAP('ignoreNullFields', 'false')
    ) AS evidence
  FROM silver.owned_partitions AS owned_partitions
  JOIN silver.owned_partitions AS owned_partitions_2
    ON owned_partitions.cluster = owned_partitions_2.cluster
    AND owned_partitions.group_id = owned_partitions_2.group_id
    AND owned_partitions.life = owned_partitions_2.life
    AND owned_partitions.partition_key = owned_partitions_2.partition_key
    AND owned_partitions.member_id <= owned_partitions_2.member_id
    AND (
      owned_partitions_2.to_position IS NULL
      OR owned_partitions.from_position < owned_partitions_2.to_position
    )
    AND (
      owned_partitions.to_position IS NULL
      OR owned_partitions_2.from_position < owned_partitions.to_position
    )
  WHERE
    NOT owned_partitions.from_position IS NULL AND NOT owned_partitions_2.from_position IS NULL
), judged AS (
  SELECT
    *,
    m = n AS c1
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
    THEN TO_JSON(STRUCT(m, n, p), MAP('ignoreNullFields', 'false'))
  END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  TRUE AS exercised,
  CASE WHEN NOT verdict THEN CASE WHEN NOT c1 THEN 'm = n' END END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_captured' END AS reason,
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
  to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS STRING) AS failed_conjunct,
  'not_captured' AS reason,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence
FROM silver.owned_partitions
WHERE
  from_position IS NULL
  OR partition_key IS NULL
  OR member_id IS NULL
  OR cluster IS NULL
  OR group_id IS NULL
  OR life IS NULL
