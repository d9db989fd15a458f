-- generated from spec/producer_epoch/ProducerEpochProps.tla by `tlasql compile`; do not edit
-- one pass for status_transitions, producer_epoch_steps, end_txn_bumps_epoch
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
    LEAD(from_position) OVER successive AS next_from_position,
    LEAD(to_position) OVER successive AS next_to_position,
    LEAD(from_time) OVER successive AS next_from_time,
    LEAD(to_time) OVER successive AS next_to_time,
    transactional_id AS t,
    status AS "status[t]",
    LEAD(status) OVER successive AS "status'[t]",
    producer_id AS "producerId[t]",
    LEAD(producer_id) OVER successive AS "producerId'[t]",
    producer_epoch AS "producerEpoch[t]",
    LEAD(producer_epoch) OVER successive AS "producerEpoch'[t]",
    transaction_version AS "transactionVersion[t]",
    LEAD(transaction_version) OVER successive AS "transactionVersion'[t]",
    next_producer_id AS "nextProducerId[t]",
    LEAD(next_producer_id) OVER successive AS "nextProducerId'[t]",
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
  WINDOW successive AS (
    PARTITION BY cluster, topic, "partition", partition_key, transactional_id
    ORDER BY from_position NULLS FIRST
  )
), judged AS (
  SELECT
    *,
    "status'[t]" = "status[t]" AS unchanged_1,
    "producerId'[t]" = "producerId[t]" AND "producerEpoch'[t]" = "producerEpoch[t]" AS unchanged_2,
    "status'[t]" = "status[t]"
    AND "transactionVersion'[t]" = "transactionVersion[t]"
    AND "producerId'[t]" = "producerId[t]"
    AND "producerEpoch'[t]" = "producerEpoch[t]"
    AND "nextProducerId'[t]" = "nextProducerId[t]" AS unchanged_3,
    NOT "status'[t]" = "status[t]" AS antecedent_1,
    (
      (
        "status[t]" = 'CompleteCommit' OR "status[t]" = 'CompleteAbort'
      ) AND "status'[t]" = 'Empty'
    )
    OR (
      (
        "status[t]" = 'Empty' OR "status[t]" = 'CompleteCommit' OR "status[t]" = 'CompleteAbort'
      )
      AND "status'[t]" = 'Ongoing'
    )
    OR (
      "status[t]" = 'Ongoing' AND "status'[t]" = 'PrepareCommit'
    )
    OR (
      (
        "status[t]" = 'Ongoing'
        OR "status[t]" = 'Empty'
        OR "status[t]" = 'CompleteCommit'
        OR "status[t]" = 'CompleteAbort'
      )
      AND "status'[t]" = 'PrepareAbort'
    )
    OR (
      "status[t]" = 'PrepareCommit' AND "status'[t]" = 'CompleteCommit'
    )
    OR (
      "status[t]" = 'PrepareAbort' AND "status'[t]" = 'CompleteAbort'
    ) AS c1_1,
    NOT "producerId'[t]" = "producerId[t]"
    OR (
      "producerEpoch'[t]" = "producerEpoch[t]"
      OR "producerEpoch'[t]" = TRY(CAST("producerEpoch[t]" AS BIGINT) + 1)
    ) AS c1_2,
    NOT NOT "producerId'[t]" = "producerId[t]" OR "producerEpoch'[t]" = 0 AS c2_2,
    NOT "status'[t]" = "status[t]"
    AND "transactionVersion'[t]" = 2
    AND (
      "status'[t]" = 'PrepareCommit'
      OR "status'[t]" = 'PrepareAbort'
      OR "status'[t]" = 'CompleteCommit'
      OR "status'[t]" = 'CompleteAbort'
    ) AS antecedent_3,
    (
      (
        "status'[t]" = 'PrepareCommit' OR "status'[t]" = 'PrepareAbort'
      )
      AND "producerId'[t]" = "producerId[t]"
      AND "producerEpoch'[t]" = TRY(CAST("producerEpoch[t]" AS BIGINT) + 1)
    )
    OR (
      (
        "status'[t]" = 'CompleteCommit' OR "status'[t]" = 'CompleteAbort'
      )
      AND "producerId'[t]" = "producerId[t]"
      AND "producerEpoch'[t]" = "producerEpoch[t]"
    )
    OR (
      (
        "status'[t]" = 'CompleteCommit' OR "status'[t]" = 'CompleteAbort'
      )
      AND NOT "producerId'[t]" = "producerId[t]"
      AND "producerEpoch'[t]" = 0
      AND (
        "nextProducerId[t]" = -1 OR "producerId'[t]" = "nextProducerId[t]"
      )
    ) AS c1_3
  FROM frame
), weighed AS (
  SELECT
    *,
    unchanged_1 OR (
      NOT antecedent_1 OR c1_1
    ) AS verdict_1,
    unchanged_2 OR (
      c1_2 AND c2_2
    ) AS verdict_2,
    unchanged_3 OR (
      NOT antecedent_3 OR c1_3
    ) AS verdict_3
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
      next_from_position AS from_position,
      next_to_position AS to_position,
      next_from_time AS from_time,
      next_to_time AS to_time,
      [
        CASE
          WHEN next_from_position = to_position
          AND NOT cluster IS NULL
          AND NOT topic IS NULL
          AND NOT "partition" IS NULL
          AND NOT partition_key IS NULL
          AND NOT t IS NULL
          THEN {'definition': 'status_transitions', 'witness': CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN CAST(JSON_OBJECT('t', t) AS TEXT) END, 'verdict': verdict_1, 'exercised': COALESCE(antecedent_1 AND NOT unchanged_1, FALSE), 'failed_conjunct': CASE
            WHEN NOT verdict_1
            THEN CASE
              WHEN antecedent_1 AND NOT c1_1
              THEN '\/ status[t] \in {"CompleteCommit", "CompleteAbort"} /\ status''[t] = "Empty" \/ status[t] \in {"Empty", "CompleteCommit", "CompleteAbort"} /\ status''[t] = "Ongoing" \/ status[t] = "Ongoing" /\ status''[t] = "PrepareCommit" \/ status[t] \in {"Ongoing", "Empty", "CompleteCommit", "CompleteAbort"} /\ status''[t] = "PrepareAbort" \/ status[t] = "PrepareCommit" /\ status''[t] = "CompleteCommit" \/ status[t] = "PrepareAbort" /\ status''[t] = "CompleteAbort"'
            END
          END, 'reason': CASE WHEN verdict_1 IS NULL THEN 'not_captured' END, 'observed': CASE
            WHEN NOT COALESCE(verdict_1, FALSE)
            THEN CAST(JSON_OBJECT('status[t]', "status[t]", 'status''[t]', "status'[t]") AS TEXT)
          END, 'evidence': CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN evidence END}
        END,
        CASE
          WHEN next_from_position = to_position
          AND NOT cluster IS NULL
          AND NOT topic IS NULL
          AND NOT "partition" IS NULL
          AND NOT partition_key IS NULL
          AND NOT t IS NULL
          THEN {'definition': 'producer_epoch_steps', 'witness': CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN CAST(JSON_OBJECT('t', t) AS TEXT) END, 'verdict': verdict_2, 'exercised': COALESCE(NOT unchanged_2, FALSE), 'failed_conjunct': CASE
            WHEN NOT verdict_2
            THEN CASE
              WHEN NOT c1_2
              THEN 'producerId''[t] = producerId[t] => producerEpoch''[t] = producerEpoch[t] \/ producerEpoch''[t] = producerEpoch[t] + 1'
              WHEN NOT c2_2
              THEN 'producerId''[t] # producerId[t] => producerEpoch''[t] = 0'
            END
          END, 'reason': CASE WHEN verdict_2 IS NULL THEN 'not_captured' END, 'observed': CASE
            WHEN NOT COALESCE(verdict_2, FALSE)
            THEN CAST(JSON_OBJECT(
              'producerId[t]',
              "producerId[t]",
              'producerId''[t]',
              "producerId'[t]",
              'producerEpoch[t]',
              "producerEpoch[t]",
              'producerEpoch''[t]',
              "producerEpoch'[t]"
            ) AS TEXT)
          END, 'evidence': CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN evidence END}
        END,
        CASE
          WHEN next_from_position = to_position
          AND NOT cluster IS NULL
          AND NOT topic IS NULL
          AND NOT "partition" IS NULL
          AND NOT partition_key IS NULL
          AND NOT t IS NULL
          THEN {'definition': 'end_txn_bumps_epoch', 'witness': CASE WHEN NOT COALESCE(verdict_3, FALSE) THEN CAST(JSON_OBJECT('t', t) AS TEXT) END, 'verdict': verdict_3, 'exercised': COALESCE(antecedent_3 AND NOT unchanged_3, FALSE), 'failed_conjunct': CASE
            WHEN NOT verdict_3
            THEN CASE
              WHEN antecedent_3 AND NOT c1_3
              THEN '\/ /\ status''[t] \in {"PrepareCommit", "PrepareAbort"} /\ producerId''[t] = producerId[t] /\ producerEpoch''[t] = producerEpoch[t] + 1 \/ /\ status''[t] \in {"CompleteCommit", "CompleteAbort"} /\ producerId''[t] = producerId[t] /\ producerEpoch''[t] = producerEpoch[t] \/ /\ status''[t] \in {"CompleteCommit", "CompleteAbort"} /\ producerId''[t] # producerId[t] /\ producerEpoch''[t] = 0 /\ nextProducerId[t] = -1 \/ producerId''[t] = nextProducerId[t]'
            END
          END, 'reason': CASE WHEN verdict_3 IS NULL THEN 'not_captured' END, 'observed': CASE
            WHEN NOT COALESCE(verdict_3, FALSE)
            THEN CAST(JSON_OBJECT(
              'status[t]',
              "status[t]",
              'status''[t]',
              "status'[t]",
              'transactionVersion[t]',
              "transactionVersion[t]",
              'transactionVersion''[t]',
              "transactionVersion'[t]",
              'producerId[t]',
              "producerId[t]",
              'producerId''[t]',
              "producerId'[t]",
              'producerEpoch[t]',
              "producerEpoch[t]",
              'producerEpoch''[t]',
              "producerEpoch'[t]",
              'nextProducerId[t]',
              "nextProducerId[t]",
              'nextProducerId''[t]',
              "nextProducerId'[t]"
            ) AS TEXT)
          END, 'evidence': CASE WHEN NOT COALESCE(verdict_3, FALSE) THEN evidence END}
        END
      ] AS rows_
    FROM weighed
    WHERE
      NOT from_position IS NULL
  ) AS judged_together
) AS fanned
WHERE
  NOT each IS NULL
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
      to_position + 1 AS to_position,
      from_time,
      to_time,
      CAST(NULL AS BOOLEAN) AS verdict,
      FALSE AS exercised,
      CAST(NULL AS TEXT) AS failed_conjunct,
      'not_captured' AS reason,
      CAST(NULL AS TEXT) AS observed,
      CAST(NULL AS TEXT) AS evidence,
      [
        {'definition': 'status_transitions'},
        {'definition': 'producer_epoch_steps'},
        {'definition': 'end_txn_bumps_epoch'}
      ] AS rows_
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
      to_position + 1 AS to_position,
      from_time,
      to_time,
      CAST(NULL AS BOOLEAN) AS verdict,
      FALSE AS exercised,
      CAST(NULL AS TEXT) AS failed_conjunct,
      'not_captured' AS reason,
      CAST(NULL AS TEXT) AS observed,
      CAST(NULL AS TEXT) AS evidence,
      [
        {'definition': 'status_transitions'},
        {'definition': 'producer_epoch_steps'},
        {'definition': 'end_txn_bumps_epoch'}
      ] AS rows_
    FROM silver.transactional_ids
    WHERE
      from_position IS NULL
      OR transactional_id IS NULL
      OR cluster IS NULL
      OR topic IS NULL
      OR "partition" IS NULL
      OR partition_key IS NULL
  ) AS judged_together
) AS fanned
