-- generated from spec/producer_epoch/ProducerEpochProps.tla by `tlasql compile`; do not edit
-- one pass for next_producer_id_at_exhaustion, epoch_headroom
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
    status AS "status[t]",
    transaction_version AS "transactionVersion[t]",
    next_producer_id AS "nextProducerId[t]",
    producer_epoch AS "producerEpoch[t]",
    CAST(JSON_OBJECT(
      'transactional_id',
      transactional_id,
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
    (
      "status[t]" = 'PrepareCommit' OR "status[t]" = 'PrepareAbort'
    ) AND "transactionVersion[t]" = 2 AS antecedent_1,
    (
      NOT "nextProducerId[t]" = -1
    ) = (
      "producerEpoch[t]" = 32767
    ) AS c1_1,
    TRY(CAST("producerEpoch[t]" AS BIGINT) + 1000) < 32767 AS c1_2
  FROM frame
), weighed AS (
  SELECT
    *,
    NOT antecedent_1 OR c1_1 AS verdict_1,
    c1_2 AS verdict_2
  FROM judged
)
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  scope,
  STRUCT_EXTRACT(each, 'witness') AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  STRUCT_EXTRACT(each, 'verdict') AS verdict,
  STRUCT_EXTRACT(each, 'exercised') AS exercised,
  STRUCT_EXTRACT(each, 'failed_conjunct') AS failed_conjunct,
  STRUCT_EXTRACT(each, 'reason') AS reason,
  STRUCT_EXTRACT(each, 'observed') AS observed,
  STRUCT_EXTRACT(each, 'evidence') AS evidence
FROM (
  SELECT
    cluster,
    scope,
    from_position,
    to_position,
    from_time,
    to_time,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      CAST(JSON_OBJECT('topic', topic, 'partition', "partition", 'partition_key', partition_key) AS TEXT) AS scope,
      from_position,
      to_position,
      from_time,
      to_time,
      [
        {'definition': 'next_producer_id_at_exhaustion', 'witness': CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN CAST(JSON_OBJECT('t', t) AS TEXT) END, 'verdict': verdict_1, 'exercised': COALESCE(antecedent_1, FALSE), 'failed_conjunct': CASE
          WHEN NOT verdict_1
          THEN CASE WHEN antecedent_1 AND NOT c1_1 THEN 'nextProducerId[t] # -1 <=> producerEpoch[t] = MaxEpoch' END
        END, 'reason': CASE WHEN verdict_1 IS NULL THEN 'not_captured' END, 'observed': CASE
          WHEN NOT COALESCE(verdict_1, FALSE)
          THEN CAST(JSON_OBJECT(
            'status[t]',
            "status[t]",
            'transactionVersion[t]',
            "transactionVersion[t]",
            'nextProducerId[t]',
            "nextProducerId[t]",
            'producerEpoch[t]',
            "producerEpoch[t]"
          ) AS TEXT)
        END, 'evidence': CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN evidence END},
        {'definition': 'epoch_headroom', 'witness': CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN CAST(JSON_OBJECT('t', t) AS TEXT) END, 'verdict': verdict_2, 'exercised': TRUE, 'failed_conjunct': CASE
          WHEN NOT verdict_2
          THEN CASE WHEN NOT c1_2 THEN 'producerEpoch[t] + EpochReserve < MaxEpoch' END
        END, 'reason': CASE WHEN verdict_2 IS NULL THEN 'not_captured' END, 'observed': CASE
          WHEN NOT COALESCE(verdict_2, FALSE)
          THEN CAST(JSON_OBJECT('producerEpoch[t]', "producerEpoch[t]") AS TEXT)
        END, 'evidence': CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN evidence END}
      ] AS rows_
    FROM weighed
    WHERE
      NOT from_position IS NULL
  ) AS judged_together
) AS fanned
UNION ALL
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
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
  observed,
  evidence
FROM (
  SELECT
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
    observed,
    evidence,
    UNNEST(rows_) AS each
  FROM (
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
      CAST(NULL AS TEXT) AS observed,
      CAST(NULL AS TEXT) AS evidence,
      [{'definition': 'next_producer_id_at_exhaustion'}, {'definition': 'epoch_headroom'}] AS rows_
    FROM silver.log_coverage
    WHERE
      (
        NOT COALESCE(covered, FALSE)
        OR from_position IS NULL
        OR cluster IS NULL
        OR topic IS NULL
        OR "partition" IS NULL
        OR partition_key IS NULL
      )
      AND (
        topic = '__transaction_state' OR topic IS NULL
      )
  ) AS judged_together
) AS fanned
UNION ALL
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
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
  observed,
  evidence
FROM (
  SELECT
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
    observed,
    evidence,
    UNNEST(rows_) AS each
  FROM (
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
      CAST(NULL AS TEXT) AS observed,
      CAST(NULL AS TEXT) AS evidence,
      [{'definition': 'next_producer_id_at_exhaustion'}, {'definition': 'epoch_headroom'}] AS rows_
    FROM silver.transactional_ids
    WHERE
      from_position IS NULL
  ) AS judged_together
) AS fanned
