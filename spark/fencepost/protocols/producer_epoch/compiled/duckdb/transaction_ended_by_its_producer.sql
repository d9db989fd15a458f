-- generated from spec/producer_epoch/ProducerEpochProps.tla:550 by `tlasql compile`; do not edit
--
-- TransactionEndedByItsProducer == \A e \in endTxns : e.error = "NONE" /\ e.status = "Ongoing" => ~e.byAnother
WITH frame AS (
  SELECT
    cluster,
    topic,
    "partition",
    partition_key,
    request_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    error AS "e.error",
    status AS "e.status",
    by_another AS "e.byAnother"
  FROM silver.end_txn_states
), judged AS (
  SELECT
    *,
    "e.error" = 'NONE' AND "e.status" = 'Ongoing' AS antecedent,
    NOT "e.byAnother" AS c1
  FROM frame
), weighed AS (
  SELECT
    cluster,
    topic,
    "partition",
    partition_key,
    request_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    "e.error",
    "e.status",
    "e.byAnother",
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN '~e.byAnother (ProducerEpochProps:550)' END AS failed_conjunct
  FROM judged
), agreed AS (
  SELECT
    cluster,
    request_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ARG_MIN(
      {'topic': topic, 'partition': "partition", 'partition_key': partition_key, 'failed_conjunct': failed_conjunct, 'e.error': "e.error", 'e.status': "e.status", 'e.byAnother': "e.byAnother"},
      candidate
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised,
    CASE
      WHEN BOOL_OR(verdict) AND BOOL_OR(NOT verdict)
      THEN 'several_states'
      ELSE MIN(CASE WHEN verdict IS NULL THEN CASE WHEN "e.byAnother" IS NULL THEN 'client_unknown' END END)
    END AS reason
  FROM weighed
  GROUP BY
    cluster,
    request_id
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
      COALESCE(CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict END, FALSE)
    )
    THEN CAST(JSON_OBJECT('e', request_id) AS TEXT)
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, end_txns.requested_at) AS from_time,
  COALESCE(agreed.to_time, end_txns.responded_at) AS to_time,
  CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict END AS verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed.states = end_txns.candidates
    THEN CASE WHEN NOT agreed.verdict THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct') END
  END AS failed_conjunct,
  CASE
    WHEN CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = end_txns.candidates THEN agreed.reason END,
      end_txns.unknown_reason,
      'not_captured'
    )
  END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL
    AND NOT COALESCE(CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict END, FALSE)
    THEN CAST(JSON_OBJECT(
      'e.error',
      STRUCT_EXTRACT(agreed.first_state, 'e.error'),
      'e.status',
      STRUCT_EXTRACT(agreed.first_state, 'e.status'),
      'e.byAnother',
      STRUCT_EXTRACT(agreed.first_state, 'e.byAnother')
    ) AS TEXT)
  END AS "values",
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = end_txns.candidates THEN agreed.verdict END, FALSE)
    )
    THEN CAST(JSON_OBJECT(
      'request_id',
      request_id,
      'broker_id',
      end_txns.broker_id,
      'client_id',
      end_txns.client_id,
      'connection',
      end_txns.connection,
      'given_client_id',
      end_txns.given_client_id,
      'given_connection',
      end_txns.given_connection,
      'transactional_id',
      end_txns.transactional_id,
      'provided_id',
      end_txns.provided_id,
      'provided_epoch',
      end_txns.provided_epoch,
      'commit',
      end_txns.commit,
      'error',
      end_txns.error,
      'returned_id',
      end_txns.returned_id,
      'returned_epoch',
      end_txns.returned_epoch,
      'record_offset',
      end_txns.record_offset,
      'candidates',
      end_txns.candidates,
      'unknown_detail',
      end_txns.unknown_detail,
      'file',
      end_txns.file,
      'position',
      end_txns."position"
    ) AS TEXT)
  END AS evidence
FROM silver.end_txns AS end_txns
FULL OUTER JOIN agreed
  USING (cluster, request_id)
