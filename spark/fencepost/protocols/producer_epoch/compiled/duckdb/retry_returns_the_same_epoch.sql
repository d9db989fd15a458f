-- generated from spec/producer_epoch/ProducerEpochProps.tla:450 by `tlasql compile`; do not edit
--
-- RetryReturnsTheSameEpoch ==
--     \A r \in initProducerIds : Kip360SameEpoch(r) /\ r.granted =>
--         r.returnedId = r.producerId /\ r.returnedEpoch = r.producerEpoch
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
    known AS "r.known",
    provided_id AS "r.providedId",
    producer_id AS "r.producerId",
    previous_id AS "r.previousId",
    provided_epoch AS "r.providedEpoch",
    producer_epoch AS "r.producerEpoch",
    last_epoch AS "r.lastEpoch",
    granted AS "r.granted",
    returned_id AS "r.returnedId",
    returned_epoch AS "r.returnedEpoch"
  FROM silver.init_producer_id_states
), judged AS (
  SELECT
    *,
    (
      "r.known"
      AND NOT "r.providedId" = -1
      AND (
        "r.providedId" = "r.producerId"
        OR (
          "r.providedId" = "r.previousId" AND "r.providedEpoch" >= 32766
        )
      )
      AND NOT "r.providedEpoch" = "r.producerEpoch"
      AND "r.providedEpoch" = "r.lastEpoch"
    )
    AND "r.granted" AS antecedent,
    "r.returnedId" = "r.producerId" AS c1,
    "r.returnedEpoch" = "r.producerEpoch" AS c2
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
    "r.known",
    "r.providedId",
    "r.producerId",
    "r.previousId",
    "r.providedEpoch",
    "r.producerEpoch",
    "r.lastEpoch",
    "r.granted",
    "r.returnedId",
    "r.returnedEpoch",
    NOT antecedent OR (
      c1 AND c2
    ) AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE
      WHEN antecedent AND NOT c1
      THEN 'r.returnedId = r.producerId (ProducerEpochProps:452)'
      WHEN antecedent AND NOT c2
      THEN 'r.returnedEpoch = r.producerEpoch (ProducerEpochProps:452)'
    END AS failed_conjunct
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
      {'topic': topic, 'partition': "partition", 'partition_key': partition_key, 'failed_conjunct': failed_conjunct, 'r.known': "r.known", 'r.providedId': "r.providedId", 'r.producerId': "r.producerId", 'r.previousId': "r.previousId", 'r.providedEpoch': "r.providedEpoch", 'r.producerEpoch': "r.producerEpoch", 'r.lastEpoch': "r.lastEpoch", 'r.granted': "r.granted", 'r.returnedId': "r.returnedId", 'r.returnedEpoch': "r.returnedEpoch"},
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
      COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict END, FALSE)
    )
    THEN CAST(JSON_OBJECT('r', request_id) AS TEXT)
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, init_producer_ids.requested_at) AS from_time,
  COALESCE(agreed.to_time, init_producer_ids.responded_at) AS to_time,
  CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict END AS verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed.states = init_producer_ids.candidates
    THEN CASE WHEN NOT agreed.verdict THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct') END
  END AS failed_conjunct,
  CASE
    WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason END,
      init_producer_ids.unknown_reason,
      'not_captured'
    )
  END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL
    AND NOT COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict END, FALSE)
    THEN CAST(JSON_OBJECT(
      'r.known',
      STRUCT_EXTRACT(agreed.first_state, 'r.known'),
      'r.providedId',
      STRUCT_EXTRACT(agreed.first_state, 'r.providedId'),
      'r.producerId',
      STRUCT_EXTRACT(agreed.first_state, 'r.producerId'),
      'r.previousId',
      STRUCT_EXTRACT(agreed.first_state, 'r.previousId'),
      'r.providedEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'r.providedEpoch'),
      'r.producerEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'r.producerEpoch'),
      'r.lastEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'r.lastEpoch'),
      'r.granted',
      STRUCT_EXTRACT(agreed.first_state, 'r.granted'),
      'r.returnedId',
      STRUCT_EXTRACT(agreed.first_state, 'r.returnedId'),
      'r.returnedEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'r.returnedEpoch')
    ) AS TEXT)
  END AS "values",
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict END, FALSE)
    )
    THEN CAST(JSON_OBJECT(
      'request_id',
      request_id,
      'broker_id',
      init_producer_ids.broker_id,
      'client_id',
      init_producer_ids.client_id,
      'connection',
      init_producer_ids.connection,
      'transactional_id',
      init_producer_ids.transactional_id,
      'provided_id',
      init_producer_ids.provided_id,
      'provided_epoch',
      init_producer_ids.provided_epoch,
      'error',
      init_producer_ids.error,
      'returned_id',
      init_producer_ids.returned_id,
      'returned_epoch',
      init_producer_ids.returned_epoch,
      'record_offset',
      init_producer_ids.record_offset,
      'candidates',
      init_producer_ids.candidates,
      'unknown_detail',
      init_producer_ids.unknown_detail,
      'file',
      init_producer_ids.file,
      'position',
      init_producer_ids."position"
    ) AS TEXT)
  END AS evidence
FROM silver.init_producer_ids AS init_producer_ids
FULL OUTER JOIN agreed
  USING (cluster, request_id)
