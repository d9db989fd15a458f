-- generated from EpochHeadroom in spec/producer_epoch/TransactionLogRules.tla by `tlasql compile`; do not edit
--
-- EpochHeadroom ==
--     \A t \in DOMAIN producerEpoch : producerEpoch[t] + EpochReserve < MaxEpoch
WITH frame AS (
  SELECT
    cluster,
    topic,
    `partition`,
    partition_key,
    from_position,
    to_position,
    from_time,
    to_time,
    transactional_id AS t,
    producer_epoch AS `producerEpoch[t]`,
    TO_JSON(
      STRUCT(transactional_id, previous_producer_id, cause, caused_by_client_id, caused_by_connection),
      MAP('ignoreNullFields', 'false')
    ) AS evidence
  FROM silver.transactional_ids
), judged AS (
  SELECT
    *,
    TRY_ADD(CAST(`producerEpoch[t]` AS BIGINT), 1000) < 32767 AS c1
  FROM frame
), weighed AS (
  SELECT
    *,
    c1 AS verdict
  FROM judged
)
SELECT
  cluster,
  TO_JSON(STRUCT(topic, `partition`, partition_key), MAP('ignoreNullFields', 'false')) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN TO_JSON(STRUCT(t), MAP('ignoreNullFields', 'false')) END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  TRUE AS exercised,
  CASE WHEN NOT verdict THEN CASE WHEN NOT c1 THEN 'producerEpoch[t] + EpochReserve < MaxEpoch' END END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_captured' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(STRUCT(`producerEpoch[t]`), MAP('ignoreNullFields', 'false'))
  END AS observed,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN evidence END AS evidence
FROM weighed
WHERE
  NOT from_position IS NULL
UNION ALL
SELECT
  cluster,
  TO_JSON(STRUCT(topic, `partition`, partition_key), MAP('ignoreNullFields', 'false')) AS scope,
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
FROM silver.log_coverage
WHERE
  (
    NOT COALESCE(covered, FALSE)
    OR from_position IS NULL
    OR cluster IS NULL
    OR topic IS NULL
    OR `partition` IS NULL
    OR partition_key IS NULL
  )
  AND (
    topic = '__transaction_state' OR topic IS NULL
  )
UNION ALL
SELECT
  cluster,
  TO_JSON(STRUCT(topic, `partition`, partition_key), MAP('ignoreNullFields', 'false')) AS scope,
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
FROM silver.transactional_ids
WHERE
  from_position IS NULL
