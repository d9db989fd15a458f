-- generated from spec/producer_epoch/ProducerEpochProps.tla:316 by `tlasql compile`; do not edit
--
-- RetryReturnsTheSameEpoch ==
--     \A r \in initProducerIds : Kip360SameEpoch(r) /\ r.granted =>
--         r.returnedId = r.producerId /\ r.returnedEpoch = r.producerEpoch
WITH frame AS (
  SELECT
    cluster,
    topic,
    `partition`,
    partition_key,
    request_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    known AS `r.known`,
    provided_id AS `r.providedId`,
    producer_id AS `r.producerId`,
    previous_id AS `r.previousId`,
    provided_epoch AS `r.providedEpoch`,
    producer_epoch AS `r.producerEpoch`,
    last_epoch AS `r.lastEpoch`,
    granted AS `r.granted`,
    returned_id AS `r.returnedId`,
    returned_epoch AS `r.returnedEpoch`
  FROM silver.init_producer_id_states
), judged AS (
  SELECT
    *,
    (
      `r.known`
      AND NOT `r.providedId` = -1
      AND (
        `r.providedId` = `r.producerId`
        OR (
          `r.providedId` = `r.previousId` AND `r.providedEpoch` >= 32766
        )
      )
      AND NOT `r.providedEpoch` = `r.producerEpoch`
      AND `r.providedEpoch` = `r.lastEpoch`
    )
    AND `r.granted` AS antecedent,
    `r.returnedId` = `r.producerId` AS c1,
    `r.returnedEpoch` = `r.producerEpoch` AS c2
  FROM frame
), weighed AS (
  SELECT
    cluster,
    topic,
    `partition`,
    partition_key,
    request_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    NOT antecedent OR (
      c1 AND c2
    ) AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE
      WHEN antecedent AND NOT c1
      THEN 'r.returnedId = r.producerId (ProducerEpochProps:318)'
      WHEN antecedent AND NOT c2
      THEN 'r.returnedEpoch = r.producerEpoch (ProducerEpochProps:318)'
    END AS failed_conjunct,
    TO_JSON(
      STRUCT(
        `r.known`,
        `r.providedId`,
        `r.producerId`,
        `r.previousId`,
        `r.providedEpoch`,
        `r.producerEpoch`,
        `r.lastEpoch`,
        `r.granted`,
        `r.returnedId`,
        `r.returnedEpoch`
      ),
      MAP('ignoreNullFields', 'false')
    ) AS `values`
  FROM judged
), agreed AS (
  SELECT
    cluster,
    request_id,
    MIN_BY(topic, candidate) AS topic,
    MIN_BY(`partition`, candidate) AS `partition`,
    MIN_BY(partition_key, candidate) AS partition_key,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised,
    MIN_BY(failed_conjunct, candidate) AS failed_conjunct,
    MIN_BY(`values`, candidate) AS `values`
  FROM weighed
  GROUP BY
    cluster,
    request_id
)
SELECT
  cluster,
  TO_JSON(STRUCT(agreed.topic, agreed.`partition`, agreed.partition_key), MAP('ignoreNullFields', 'false')) AS scope,
  TO_JSON(STRUCT(request_id AS r), MAP('ignoreNullFields', 'false')) AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, init_producer_ids.requested_at) AS from_time,
  COALESCE(agreed.to_time, init_producer_ids.responded_at) AS to_time,
  CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict END AS verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed.states = init_producer_ids.candidates
    THEN CASE WHEN NOT agreed.verdict THEN agreed.failed_conjunct END
  END AS failed_conjunct,
  agreed.`values`,
  TO_JSON(
    STRUCT(
      request_id,
      init_producer_ids.broker_id,
      init_producer_ids.client_id,
      init_producer_ids.connection,
      init_producer_ids.transactional_id,
      init_producer_ids.provided_id,
      init_producer_ids.provided_epoch,
      init_producer_ids.error,
      init_producer_ids.returned_id,
      init_producer_ids.returned_epoch,
      init_producer_ids.record_offset,
      init_producer_ids.candidates,
      init_producer_ids.unknown_reason,
      init_producer_ids.file,
      init_producer_ids.`position`
    ),
    MAP('ignoreNullFields', 'false')
  ) AS evidence
FROM silver.init_producer_ids AS init_producer_ids
FULL OUTER JOIN agreed
  USING (cluster, request_id)
