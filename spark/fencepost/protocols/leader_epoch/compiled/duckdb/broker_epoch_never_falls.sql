-- generated from BrokerEpochNeverFalls in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
--
-- BrokerEpochNeverFalls ==
--     \A b \in DOMAIN brokerEpoch \cap DOMAIN brokerEpoch' : brokerEpoch'[b] >= brokerEpoch[b]
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
    broker_id AS b,
    broker_epoch AS "brokerEpoch[b]",
    LEAD(broker_epoch) OVER successive AS "brokerEpoch'[b]",
    CAST(JSON_OBJECT('broker_id', broker_id, 'incarnation_id', incarnation_id, 'fenced', fenced, 'record_name', record_name) AS TEXT) AS evidence
  FROM silver.broker_states
  WINDOW successive AS (PARTITION BY cluster, log, broker_id ORDER BY from_position NULLS FIRST)
), judged AS (
  SELECT
    *,
    "brokerEpoch'[b]" = "brokerEpoch[b]" AS unchanged,
    "brokerEpoch'[b]" >= "brokerEpoch[b]" AS c1
  FROM frame
  WHERE
    next_from_position = to_position AND NOT cluster IS NULL AND NOT log IS NULL AND NOT b IS NULL
), weighed AS (
  SELECT
    *,
    unchanged OR c1 AS verdict
  FROM judged
)
SELECT
  cluster,
  CAST(JSON_OBJECT('log', log) AS TEXT) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN CAST(JSON_OBJECT('b', b) AS TEXT) END AS witness,
  next_from_position AS from_position,
  next_to_position AS to_position,
  next_from_time AS from_time,
  next_to_time AS to_time,
  verdict,
  COALESCE(NOT unchanged, FALSE) AS exercised,
  CASE WHEN NOT verdict THEN CASE WHEN NOT c1 THEN 'brokerEpoch''[b] >= brokerEpoch[b]' END END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_captured' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN CAST(JSON_OBJECT('brokerEpoch[b]', "brokerEpoch[b]", 'brokerEpoch''[b]', "brokerEpoch'[b]") AS TEXT)
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
    log = 'AAAAAAAAAAAAAAAAAAAAAQ:__cluster_metadata-0' OR log IS NULL
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
  'not_captured' AS reason,
  CAST(NULL AS TEXT) AS observed,
  CAST(NULL AS TEXT) AS evidence
FROM silver.broker_states
WHERE
  from_position IS NULL OR broker_id IS NULL OR cluster IS NULL OR log IS NULL
