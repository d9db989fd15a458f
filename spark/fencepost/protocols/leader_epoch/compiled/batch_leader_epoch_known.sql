-- generated from BatchLeaderEpochKnown in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
--
-- BatchLeaderEpochKnown ==
--     \A p \in DOMAIN appendedLeaderEpoch : appendedLeaderEpoch[p] >= 0 => leaderEpochGiven[p]
WITH frame AS (
  SELECT
    cluster,
    log,
    from_position,
    to_position,
    from_time,
    to_time,
    partition_key AS p,
    leader_epoch AS `appendedLeaderEpoch[p]`,
    given AS `leaderEpochGiven[p]`,
    given_unknown AS reason,
    TO_JSON(
      STRUCT(topic, `partition`, last_offset, broker_id, file, byte_position),
      MAP('ignoreNullFields', 'false')
    ) AS evidence
  FROM silver.partition_batches
), judged AS (
  SELECT
    *,
    `appendedLeaderEpoch[p]` >= 0 AS antecedent,
    `leaderEpochGiven[p]` AS c1
  FROM frame
), weighed AS (
  SELECT
    *,
    NOT antecedent OR c1 AS verdict
  FROM judged
)
SELECT
  cluster,
  TO_JSON(STRUCT(log), MAP('ignoreNullFields', 'false')) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN TO_JSON(STRUCT(p), MAP('ignoreNullFields', 'false')) END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  COALESCE(antecedent, FALSE) AS exercised,
  CASE WHEN NOT verdict THEN CASE WHEN antecedent AND NOT c1 THEN 'leaderEpochGiven[p]' END END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN COALESCE(reason, 'not_captured') END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(STRUCT(`appendedLeaderEpoch[p]`, `leaderEpochGiven[p]`), MAP('ignoreNullFields', 'false'))
  END AS observed,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN evidence END AS evidence
FROM weighed
WHERE
  NOT from_position IS NULL
UNION ALL
SELECT
  cluster,
  TO_JSON(STRUCT(log), MAP('ignoreNullFields', 'false')) AS scope,
  CAST(NULL AS STRING) AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS STRING) AS failed_conjunct,
  COALESCE(why_uncovered, 'not_captured') AS reason,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence
FROM silver.metadata_coverage
WHERE
  (
    NOT COALESCE(covered, FALSE) OR from_position IS NULL OR cluster IS NULL OR log IS NULL
  )
  AND (
    NOT log = 'AAAAAAAAAAAAAAAAAAAAAQ:__cluster_metadata-0' OR log IS NULL
  )
UNION ALL
SELECT
  cluster,
  TO_JSON(STRUCT(log), MAP('ignoreNullFields', 'false')) AS scope,
  CAST(NULL AS STRING) AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS STRING) AS failed_conjunct,
  COALESCE(given_unknown, 'not_captured') AS reason,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence
FROM silver.partition_batches
WHERE
  from_position IS NULL
