-- generated from BrokerKeepsItsAddPartitionsRule in spec/producer_epoch/EndTxnRules.tla by `tlasql compile`; do not edit
--
-- BrokerKeepsItsAddPartitionsRule ==
--     \A a \in addPartitionsToTxns :
--         a.error \in {"NONE", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING",
--                     "TRANSACTION_ABORTABLE"} =>
--             a.error = ShippedAddPartitionsToTxn(a)
WITH frame AS (
  SELECT
    cluster,
    topic,
    "partition",
    partition_key,
    addition_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    error AS "a.error",
    known AS "a.known",
    provided_id AS "a.providedId",
    producer_id AS "a.producerId",
    provided_epoch AS "a.providedEpoch",
    producer_epoch AS "a.producerEpoch",
    api_version AS "a.apiVersion",
    status AS "a.status",
    verify_only AS "a.verifyOnly",
    listed AS "a.listed"
  FROM silver.add_partitions_to_txn_states
), given_1 AS (
  SELECT
    *,
    CASE (
        NOT "a.providedEpoch" = "a.producerEpoch"
      )
      WHEN TRUE
      THEN CASE (
          "a.apiVersion" < 2
        )
        WHEN TRUE
        THEN 'INVALID_PRODUCER_EPOCH'
        WHEN FALSE
        THEN 'PRODUCER_FENCED'
        ELSE CASE WHEN 'INVALID_PRODUCER_EPOCH' = 'PRODUCER_FENCED' THEN 'INVALID_PRODUCER_EPOCH' END
      END
      WHEN FALSE
      THEN CASE (
          "a.status" = 'PrepareCommit' OR "a.status" = 'PrepareAbort'
        )
        WHEN TRUE
        THEN 'CONCURRENT_TRANSACTIONS'
        WHEN FALSE
        THEN CASE (
            "a.verifyOnly" AND NOT "a.listed"
          )
          WHEN TRUE
          THEN 'TRANSACTION_ABORTABLE'
          WHEN FALSE
          THEN 'NONE'
          ELSE CASE WHEN 'TRANSACTION_ABORTABLE' = 'NONE' THEN 'TRANSACTION_ABORTABLE' END
        END
        ELSE CASE
          WHEN 'CONCURRENT_TRANSACTIONS' = CASE (
              "a.verifyOnly" AND NOT "a.listed"
            )
            WHEN TRUE
            THEN 'TRANSACTION_ABORTABLE'
            WHEN FALSE
            THEN 'NONE'
            ELSE CASE WHEN 'TRANSACTION_ABORTABLE' = 'NONE' THEN 'TRANSACTION_ABORTABLE' END
          END
          THEN 'CONCURRENT_TRANSACTIONS'
        END
      END
      ELSE CASE
        WHEN CASE (
            "a.apiVersion" < 2
          )
          WHEN TRUE
          THEN 'INVALID_PRODUCER_EPOCH'
          WHEN FALSE
          THEN 'PRODUCER_FENCED'
          ELSE CASE WHEN 'INVALID_PRODUCER_EPOCH' = 'PRODUCER_FENCED' THEN 'INVALID_PRODUCER_EPOCH' END
        END = CASE (
            "a.status" = 'PrepareCommit' OR "a.status" = 'PrepareAbort'
          )
          WHEN TRUE
          THEN 'CONCURRENT_TRANSACTIONS'
          WHEN FALSE
          THEN CASE (
              "a.verifyOnly" AND NOT "a.listed"
            )
            WHEN TRUE
            THEN 'TRANSACTION_ABORTABLE'
            WHEN FALSE
            THEN 'NONE'
            ELSE CASE WHEN 'TRANSACTION_ABORTABLE' = 'NONE' THEN 'TRANSACTION_ABORTABLE' END
          END
          ELSE CASE
            WHEN 'CONCURRENT_TRANSACTIONS' = CASE (
                "a.verifyOnly" AND NOT "a.listed"
              )
              WHEN TRUE
              THEN 'TRANSACTION_ABORTABLE'
              WHEN FALSE
              THEN 'NONE'
              ELSE CASE WHEN 'TRANSACTION_ABORTABLE' = 'NONE' THEN 'TRANSACTION_ABORTABLE' END
            END
            THEN 'CONCURRENT_TRANSACTIONS'
          END
        END
        THEN CASE (
            "a.apiVersion" < 2
          )
          WHEN TRUE
          THEN 'INVALID_PRODUCER_EPOCH'
          WHEN FALSE
          THEN 'PRODUCER_FENCED'
          ELSE CASE WHEN 'INVALID_PRODUCER_EPOCH' = 'PRODUCER_FENCED' THEN 'INVALID_PRODUCER_EPOCH' END
        END
      END
    END AS "given.1"
  FROM frame
), judged AS (
  SELECT
    *,
    "a.error" = 'NONE'
    OR "a.error" = 'PRODUCER_FENCED'
    OR "a.error" = 'INVALID_PRODUCER_EPOCH'
    OR "a.error" = 'INVALID_PRODUCER_ID_MAPPING'
    OR "a.error" = 'TRANSACTION_ABORTABLE' AS antecedent,
    "a.error" = CASE (
        NOT "a.known" OR NOT "a.providedId" = "a.producerId"
      )
      WHEN TRUE
      THEN 'INVALID_PRODUCER_ID_MAPPING'
      WHEN FALSE
      THEN "given.1"
      ELSE CASE WHEN 'INVALID_PRODUCER_ID_MAPPING' = "given.1" THEN 'INVALID_PRODUCER_ID_MAPPING' END
    END AS c1
  FROM given_1
), weighed AS (
  SELECT
    cluster,
    topic,
    "partition",
    partition_key,
    addition_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    "a.error",
    "a.known",
    "a.providedId",
    "a.producerId",
    "a.providedEpoch",
    "a.producerEpoch",
    "a.apiVersion",
    "a.status",
    "a.verifyOnly",
    "a.listed",
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'a.error = ShippedAddPartitionsToTxn(a)' END AS failed_conjunct
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    addition_id
  FROM silver.add_partitions_to_txn_states
  GROUP BY
    cluster,
    addition_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    addition_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'topic': topic, 'partition': "partition", 'partition_key': partition_key, 'failed_conjunct': failed_conjunct, 'a.error': "a.error", 'a.known': "a.known", 'a.providedId': "a.providedId", 'a.producerId': "a.producerId", 'a.providedEpoch': "a.providedEpoch", 'a.producerEpoch': "a.producerEpoch", 'a.apiVersion': "a.apiVersion", 'a.status': "a.status", 'a.verifyOnly': "a.verifyOnly", 'a.listed': "a.listed"} AS first_state,
    CASE WHEN COALESCE(verdict, FALSE) THEN TRUE WHEN COALESCE(NOT verdict, FALSE) THEN FALSE END AS verdict,
    exercised AS exercised,
    CASE WHEN verdict AND NOT verdict THEN 'several_states' END AS reason
  FROM weighed
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.addition_id IS NOT DISTINCT FROM weighed.addition_id
    )
  UNION ALL
  SELECT
    cluster,
    addition_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ARG_MIN(
      {'topic': topic, 'partition': "partition", 'partition_key': partition_key, 'failed_conjunct': failed_conjunct, 'a.error': "a.error", 'a.known': "a.known", 'a.providedId': "a.providedId", 'a.producerId': "a.producerId", 'a.providedEpoch': "a.providedEpoch", 'a.producerEpoch': "a.producerEpoch", 'a.apiVersion': "a.apiVersion", 'a.status': "a.status", 'a.verifyOnly': "a.verifyOnly", 'a.listed': "a.listed"},
      candidate
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised,
    CASE WHEN BOOL_OR(verdict) AND BOOL_OR(NOT verdict) THEN 'several_states' END AS reason
  FROM weighed
  WHERE
    EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.addition_id IS NOT DISTINCT FROM weighed.addition_id
    )
  GROUP BY
    cluster,
    addition_id
)
SELECT
  cluster,
  CAST(JSON_OBJECT(
    'topic',
    STRUCT_EXTRACT(agreed.first_state, 'topic'),
    'partition',
    STRUCT_EXTRACT(agreed.first_state, 'partition'),
    'partition_key',
    STRUCT_EXTRACT(agreed.first_state, 'partition_key')
  ) AS TEXT) AS scope,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = add_partitions_to_txns.candidates THEN agreed.verdict END, FALSE)
    )
    THEN CAST(JSON_OBJECT('a', addition_id) AS TEXT)
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, add_partitions_to_txns.requested_at) AS from_time,
  COALESCE(agreed.to_time, add_partitions_to_txns.responded_at) AS to_time,
  CASE WHEN agreed.states = add_partitions_to_txns.candidates THEN agreed.verdict END AS verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed.states = add_partitions_to_txns.candidates
    THEN CASE WHEN NOT agreed.verdict THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct') END
  END AS failed_conjunct,
  CASE
    WHEN CASE WHEN agreed.states = add_partitions_to_txns.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = add_partitions_to_txns.candidates THEN agreed.reason END,
      add_partitions_to_txns.unknown_reason,
      'not_captured'
    )
  END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL
    AND NOT COALESCE(CASE WHEN agreed.states = add_partitions_to_txns.candidates THEN agreed.verdict END, FALSE)
    THEN CAST(JSON_OBJECT(
      'a.error',
      STRUCT_EXTRACT(agreed.first_state, 'a.error'),
      'a.known',
      STRUCT_EXTRACT(agreed.first_state, 'a.known'),
      'a.providedId',
      STRUCT_EXTRACT(agreed.first_state, 'a.providedId'),
      'a.producerId',
      STRUCT_EXTRACT(agreed.first_state, 'a.producerId'),
      'a.providedEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'a.providedEpoch'),
      'a.producerEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'a.producerEpoch'),
      'a.apiVersion',
      STRUCT_EXTRACT(agreed.first_state, 'a.apiVersion'),
      'a.status',
      STRUCT_EXTRACT(agreed.first_state, 'a.status'),
      'a.verifyOnly',
      STRUCT_EXTRACT(agreed.first_state, 'a.verifyOnly'),
      'a.listed',
      STRUCT_EXTRACT(agreed.first_state, 'a.listed')
    ) AS TEXT)
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = add_partitions_to_txns.candidates THEN agreed.verdict END, FALSE)
    )
    THEN CAST(JSON_OBJECT(
      'request_id',
      add_partitions_to_txns.request_id,
      'broker_id',
      add_partitions_to_txns.broker_id,
      'client_id',
      add_partitions_to_txns.client_id,
      'connection',
      add_partitions_to_txns.connection,
      'transactional_id',
      add_partitions_to_txns.transactional_id,
      'transaction_partition',
      add_partitions_to_txns.transaction_partition,
      'verify_only',
      add_partitions_to_txns.verify_only,
      'provided_id',
      add_partitions_to_txns.provided_id,
      'provided_epoch',
      add_partitions_to_txns.provided_epoch,
      'error',
      add_partitions_to_txns.error,
      'record_offset',
      add_partitions_to_txns.record_offset,
      'candidates',
      add_partitions_to_txns.candidates,
      'unknown_detail',
      add_partitions_to_txns.unknown_detail,
      'file',
      add_partitions_to_txns.file,
      'position',
      add_partitions_to_txns."position"
    ) AS TEXT)
  END AS evidence
FROM silver.add_partitions_to_txns AS add_partitions_to_txns
FULL OUTER JOIN agreed
  USING (cluster, addition_id)
