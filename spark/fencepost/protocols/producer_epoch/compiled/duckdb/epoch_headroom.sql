-- generated from spec/producer_epoch/ProducerEpochProps.tla:386 by `tlasql compile`; do not edit
--
-- EpochHeadroom ==
--     \A t \in DOMAIN producerEpoch : producerEpoch[t] + EpochReserve < MaxEpoch
WITH frame AS (
  SELECT
    cluster,
    topic,
    "partition",
    partition_key,
    from_position,
    to_position,
    from_time,
    to_time,
    transactional_id AS t,
    producer_epoch AS "producerEpoch[t]",
    CAST(JSON_OBJECT(
      'previous_producer_id',
      previous_producer_id,
      'cause',
      cause,
      'caused_by_client_id',
      caused_by_client_id,
      'caused_by_connection',
      caused_by_connection
    ) AS TEXT) AS evidence
  FROM silver.transactional_ids
), judged AS (
  SELECT
    *,
    TRY(CAST("producerEpoch[t]" AS BIGINT) + 1000) < 32767 AS c1
  FROM frame
), weighed AS (
  SELECT
    *,
    c1 AS verdict
  FROM judged
)
SELECT
  cluster,
  CAST(JSON_OBJECT('topic', topic, 'partition', "partition", 'partition_key', partition_key) AS TEXT) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN CAST(JSON_OBJECT('t', t) AS TEXT) END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  TRUE AS exercised,
  CASE
    WHEN NOT verdict
    THEN CASE WHEN NOT c1 THEN 'producerEpoch[t] + EpochReserve < MaxEpoch (ProducerEpochProps:387)' END
  END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_captured' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN CAST(JSON_OBJECT('producerEpoch[t]', "producerEpoch[t]") AS TEXT)
  END AS "values",
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN evidence END AS evidence
FROM weighed
UNION ALL
SELECT
  cluster,
  CAST(JSON_OBJECT('topic', topic, 'partition', "partition", 'partition_key', partition_key) AS TEXT) AS scope,
  CAST(NULL AS TEXT) AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS TEXT) AS failed_conjunct,
  'not_captured' AS reason,
  CAST(NULL AS TEXT) AS "values",
  CAST(NULL AS TEXT) AS evidence
FROM silver.log_coverage
WHERE
  NOT COALESCE(covered, FALSE) AND topic = '__transaction_state'
