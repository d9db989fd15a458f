-- generated from NextProducerIdAtExhaustion in spec/producer_epoch/TransactionLogRules.tla by `tlasql compile`; do not edit
--
-- NextProducerIdAtExhaustion ==
--     \A t \in DOMAIN status :
--         status[t] \in {"PrepareCommit", "PrepareAbort"} /\ transactionVersion[t] = 2 =>
--             (nextProducerId[t] # -1 <=> producerEpoch[t] = MaxEpoch)
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
    status AS `status[t]`,
    transaction_version AS `transactionVersion[t]`,
    next_producer_id AS `nextProducerId[t]`,
    producer_epoch AS `producerEpoch[t]`,
    TO_JSON(
      STRUCT(transactional_id, previous_producer_id, cause, caused_by_client_id, caused_by_connection),
      MAP('ignoreNullFields', 'false')
    ) AS evidence
  FROM silver.transactional_ids
), judged AS (
  SELECT
    *,
    (
      `status[t]` = 'PrepareCommit' OR `status[t]` = 'PrepareAbort'
    ) AND `transactionVersion[t]` = 2 AS antecedent,
    (
      NOT `nextProducerId[t]` = -1
    ) = (
      `producerEpoch[t]` = 32767
    ) AS c1
  FROM frame
), weighed AS (
  SELECT
    *,
    NOT antecedent OR c1 AS verdict
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
  COALESCE(antecedent, FALSE) AS exercised,
  CASE
    WHEN NOT verdict
    THEN CASE WHEN antecedent AND NOT c1 THEN 'nextProducerId[t] # -1 <=> producerEpoch[t] = MaxEpoch' END
  END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_captured' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(
      STRUCT(`status[t]`, `transactionVersion[t]`, `nextProducerId[t]`, `producerEpoch[t]`),
      MAP('ignoreNullFields', 'false')
    )
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
