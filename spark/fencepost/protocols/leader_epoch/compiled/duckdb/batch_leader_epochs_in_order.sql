-- generated from BatchLeaderEpochsInOrder in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
--
-- BatchLeaderEpochsInOrder ==
--     \A p \in DOMAIN appendedLeaderEpoch \cap DOMAIN appendedLeaderEpoch' :
--         appendedLeaderEpoch'[p] >= appendedLeaderEpoch[p]
WITH frame AS (
  SELECT
    cluster,
    log,
    from_position,
    to_position,
    from_time,
    to_time,
    LEAD(from_position) OVER successive AS next_from_position,
    LEAD(to_position) OVER successive AS next_to_position,
    LEAD(from_time) OVER successive AS next_from_time,
    LEAD(to_time) OVER successive AS next_to_time,
    partition_key AS p,
    leader_epoch AS "appendedLeaderEpoch[p]",
    LEAD(leader_epoch) OVER successive AS "appendedLeaderEpoch'[p]",
    given_unknown AS reason,
    LEAD(given_unknown) OVER successive AS next_reason,
    CAST(JSON_OBJECT(
      'topic',
      topic,
      'partition',
      "partition",
      'last_offset',
      last_offset,
      'broker_id',
      broker_id,
      'file',
      file,
      'byte_position',
      byte_position
    ) AS TEXT) AS evidence
  FROM silver.partition_batches
  WINDOW successive AS (PARTITION BY cluster, log, partition_key ORDER BY from_position NULLS FIRST)
), judged AS (
  SELECT
    *,
    "appendedLeaderEpoch'[p]" = "appendedLeaderEpoch[p]" AS unchanged,
    "appendedLeaderEpoch'[p]" >= "appendedLeaderEpoch[p]" AS c1
  FROM frame
  WHERE
    next_from_position = to_position AND NOT cluster IS NULL AND NOT log IS NULL AND NOT p IS NULL
), weighed AS (
  SELECT
    *,
    unchanged OR c1 AS verdict
  FROM judged
)
SELECT
  cluster,
  CAST(JSON_OBJECT('log', log) AS TEXT) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN CAST(JSON_OBJECT('p', p) AS TEXT) END AS witness,
  next_from_position AS from_position,
  next_to_position AS to_position,
  next_from_time AS from_time,
  next_to_time AS to_time,
  verdict,
  COALESCE(NOT unchanged, FALSE) AS exercised,
  CASE
    WHEN NOT verdict
    THEN CASE WHEN NOT c1 THEN 'appendedLeaderEpoch''[p] >= appendedLeaderEpoch[p]' END
  END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN COALESCE(reason, next_reason, 'not_captured') END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN CAST(JSON_OBJECT('appendedLeaderEpoch[p]', "appendedLeaderEpoch[p]", 'appendedLeaderEpoch''[p]', "appendedLeaderEpoch'[p]") AS TEXT)
  END AS observed,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN evidence END AS evidence
FROM weighed
WHERE
  NOT from_position IS NULL
UNION ALL
SELECT
  cluster,
  CAST(JSON_OBJECT('log', log) AS TEXT) AS scope,
  CAST(NULL AS TEXT) AS witness,
  from_position,
  to_position + 1 AS to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS TEXT) AS failed_conjunct,
  COALESCE(why_uncovered, 'not_captured') AS reason,
  CAST(NULL AS TEXT) AS observed,
  CAST(NULL AS TEXT) AS evidence
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
  CAST(JSON_OBJECT('log', log) AS TEXT) AS scope,
  CAST(NULL AS TEXT) AS witness,
  from_position,
  to_position + 1 AS to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS TEXT) AS failed_conjunct,
  COALESCE(given_unknown, 'not_captured') AS reason,
  CAST(NULL AS TEXT) AS observed,
  CAST(NULL AS TEXT) AS evidence
FROM silver.partition_batches
WHERE
  from_position IS NULL OR partition_key IS NULL OR cluster IS NULL OR log IS NULL
