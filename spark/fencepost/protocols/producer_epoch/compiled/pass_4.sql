-- generated from spec/producer_epoch/ProducerEpochProps.tla:1 by `tlasql compile`; do not edit
-- one pass for next_producer_id_at_exhaustion, epoch_headroom
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
      STRUCT(previous_producer_id, cause, caused_by_client_id, caused_by_connection),
      MAP('ignoreNullFields', 'false')
    ) AS evidence
  FROM silver.transactional_ids
), judged AS (
  SELECT
    *,
    (
      `status[t]` = 'PrepareCommit' OR `status[t]` = 'PrepareAbort'
    ) AND `transactionVersion[t]` = 2 AS antecedent_1,
    (
      NOT `nextProducerId[t]` = -1
    ) = (
      `producerEpoch[t]` = 32767
    ) AS c1_1,
    TRY_ADD(CAST(`producerEpoch[t]` AS BIGINT), 1000) < 32767 AS c1_2
  FROM frame
), weighed AS (
  SELECT
    *,
    NOT antecedent_1 OR c1_1 AS verdict_1,
    c1_2 AS verdict_2
  FROM judged
)
SELECT
  each.`definition` AS definition,
  cluster,
  scope,
  each.`witness` AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  each.`verdict` AS verdict,
  each.`exercised` AS exercised,
  each.`failed_conjunct` AS failed_conjunct,
  each.`reason` AS reason,
  each.`values` AS `values`,
  each.`evidence` AS evidence
FROM (
  SELECT
    cluster,
    TO_JSON(STRUCT(topic, `partition`, partition_key), MAP('ignoreNullFields', 'false')) AS scope,
    from_position,
    to_position,
    from_time,
    to_time,
    EXPLODE(
      ARRAY(
        NAMED_STRUCT(
          'definition',
          'next_producer_id_at_exhaustion',
          'witness',
          CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN TO_JSON(STRUCT(t), MAP('ignoreNullFields', 'false')) END,
          'verdict',
          verdict_1,
          'exercised',
          COALESCE(antecedent_1, FALSE),
          'failed_conjunct',
          CASE
            WHEN NOT verdict_1
            THEN CASE
              WHEN antecedent_1 AND NOT c1_1
              THEN 'nextProducerId[t] # -1 <=> producerEpoch[t] = MaxEpoch (ProducerEpochProps:365)'
            END
          END,
          'reason',
          CASE WHEN verdict_1 IS NULL THEN 'not_captured' END,
          'values',
          CASE
            WHEN NOT COALESCE(verdict_1, FALSE)
            THEN TO_JSON(
              STRUCT(`status[t]`, `transactionVersion[t]`, `nextProducerId[t]`, `producerEpoch[t]`),
              MAP('ignoreNullFields', 'false')
            )
          END,
          'evidence',
          CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN evidence END
        ),
        NAMED_STRUCT(
          'definition',
          'epoch_headroom',
          'witness',
          CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN TO_JSON(STRUCT(t), MAP('ignoreNullFields', 'false')) END,
          'verdict',
          verdict_2,
          'exercised',
          TRUE,
          'failed_conjunct',
          CASE
            WHEN NOT verdict_2
            THEN CASE WHEN NOT c1_2 THEN 'producerEpoch[t] + EpochReserve < MaxEpoch (ProducerEpochProps:387)' END
          END,
          'reason',
          CASE WHEN verdict_2 IS NULL THEN 'not_captured' END,
          'values',
          CASE
            WHEN NOT COALESCE(verdict_2, FALSE)
            THEN TO_JSON(STRUCT(`producerEpoch[t]`), MAP('ignoreNullFields', 'false'))
          END,
          'evidence',
          CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN evidence END
        )
      )
    ) AS each
  FROM weighed
) AS fanned
UNION ALL
SELECT
  each.`definition` AS definition,
  cluster,
  scope,
  witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  exercised,
  failed_conjunct,
  reason,
  `values`,
  evidence
FROM (
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
    CAST(NULL AS STRING) AS `values`,
    CAST(NULL AS STRING) AS evidence,
    EXPLODE(
      ARRAY(
        NAMED_STRUCT('definition', 'next_producer_id_at_exhaustion'),
        NAMED_STRUCT('definition', 'epoch_headroom')
      )
    ) AS each
  FROM silver.log_coverage
  WHERE
    NOT COALESCE(covered, FALSE) AND topic = '__transaction_state'
) AS fanned
