-- generated from BrokerKeepsItsInitRule in spec/producer_epoch/InitProducerIdRules.tla by `tlasql compile`; do not edit
--
-- BrokerKeepsItsInitRule ==
--     \A r \in initProducerIds : r.granted \/ r.fenced \/ r.busy =>
--         /\ r.granted => ShippedNewEpoch(r) \/ ShippedSameEpoch(r)
--         /\ r.fenced => ShippedFenced(r)
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
    granted AS `r.granted`,
    fenced AS `r.fenced`,
    busy AS `r.busy`,
    provided_id AS `r.providedId`,
    producer_epoch AS `r.producerEpoch`,
    producer_id AS `r.producerId`,
    previous_id_held AS `r.previousIdHeld`,
    provided_epoch AS `r.providedEpoch`,
    status AS `r.status`,
    last_epoch_held AS `r.lastEpochHeld`
  FROM silver.init_producer_id_states
), judged AS (
  SELECT
    *,
    (
      `r.granted` OR `r.fenced`
    ) OR `r.busy` AS antecedent,
    NOT `r.granted`
    OR (
      (
        (
          NOT NOT `r.providedId` = -1
          OR `r.producerEpoch` = -1
          OR `r.providedId` = `r.producerId`
          OR (
            `r.providedId` = `r.previousIdHeld` AND `r.providedEpoch` >= 32766
          )
        )
        AND (
          `r.status` = 'Empty' OR `r.status` = 'CompleteCommit' OR `r.status` = 'CompleteAbort'
        )
        AND (
          (
            NOT NOT `r.providedId` = -1 OR `r.producerEpoch` = -1
          ) OR `r.providedEpoch` = `r.producerEpoch`
        )
      )
      OR (
        (
          NOT NOT `r.providedId` = -1
          OR `r.producerEpoch` = -1
          OR `r.providedId` = `r.producerId`
          OR (
            `r.providedId` = `r.previousIdHeld` AND `r.providedEpoch` >= 32766
          )
        )
        AND (
          `r.status` = 'Empty' OR `r.status` = 'CompleteCommit' OR `r.status` = 'CompleteAbort'
        )
        AND NOT `r.providedId` = -1
        AND NOT `r.producerEpoch` = -1
        AND NOT `r.producerEpoch` >= 32766
        AND NOT `r.providedEpoch` = `r.producerEpoch`
        AND `r.providedEpoch` = `r.lastEpochHeld`
      )
    ) AS c1,
    NOT `r.fenced`
    OR (
      NOT (
        NOT NOT `r.providedId` = -1
        OR `r.producerEpoch` = -1
        OR `r.providedId` = `r.producerId`
        OR (
          `r.providedId` = `r.previousIdHeld` AND `r.providedEpoch` >= 32766
        )
      )
      OR (
        (
          `r.status` = 'Empty' OR `r.status` = 'CompleteCommit' OR `r.status` = 'CompleteAbort'
        )
        AND NOT `r.providedId` = -1
        AND NOT `r.producerEpoch` = -1
        AND NOT `r.producerEpoch` >= 32766
        AND NOT `r.providedEpoch` = `r.producerEpoch`
        AND NOT `r.providedEpoch` = `r.lastEpochHeld`
      )
    ) AS c2
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
    `r.granted`,
    `r.fenced`,
    `r.busy`,
    `r.providedId`,
    `r.producerEpoch`,
    `r.producerId`,
    `r.previousIdHeld`,
    `r.providedEpoch`,
    `r.status`,
    `r.lastEpochHeld`,
    NOT antecedent OR (
      c1 AND c2
    ) AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE
      WHEN antecedent AND NOT c1
      THEN 'r.granted => ShippedNewEpoch(r) \\/ ShippedSameEpoch(r)'
      WHEN antecedent AND NOT c2
      THEN 'r.fenced => ShippedFenced(r)'
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
    MIN_BY(
      NAMED_STRUCT(
        'topic',
        topic,
        'partition',
        `partition`,
        'partition_key',
        partition_key,
        'failed_conjunct',
        failed_conjunct,
        'r.granted',
        `r.granted`,
        'r.fenced',
        `r.fenced`,
        'r.busy',
        `r.busy`,
        'r.providedId',
        `r.providedId`,
        'r.producerEpoch',
        `r.producerEpoch`,
        'r.producerId',
        `r.producerId`,
        'r.previousIdHeld',
        `r.previousIdHeld`,
        'r.providedEpoch',
        `r.providedEpoch`,
        'r.status',
        `r.status`,
        'r.lastEpochHeld',
        `r.lastEpochHeld`
      ),
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
  TO_JSON(
    STRUCT(
      agreed.first_state.`topic` AS topic,
      agreed.first_state.`partition` AS `partition`,
      agreed.first_state.`partition_key` AS partition_key
    ),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(STRUCT(request_id AS r), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, init_producer_ids.requested_at) AS from_time,
  COALESCE(agreed.to_time, init_producer_ids.responded_at) AS to_time,
  CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict END AS verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed.states = init_producer_ids.candidates
    THEN CASE WHEN NOT agreed.verdict THEN agreed.first_state.`failed_conjunct` END
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
    THEN TO_JSON(
      STRUCT(
        agreed.first_state.`r.granted` AS `r.granted`,
        agreed.first_state.`r.fenced` AS `r.fenced`,
        agreed.first_state.`r.busy` AS `r.busy`,
        agreed.first_state.`r.providedId` AS `r.providedId`,
        agreed.first_state.`r.producerEpoch` AS `r.producerEpoch`,
        agreed.first_state.`r.producerId` AS `r.producerId`,
        agreed.first_state.`r.previousIdHeld` AS `r.previousIdHeld`,
        agreed.first_state.`r.providedEpoch` AS `r.providedEpoch`,
        agreed.first_state.`r.status` AS `r.status`,
        agreed.first_state.`r.lastEpochHeld` AS `r.lastEpochHeld`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(
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
        init_producer_ids.unknown_detail,
        init_producer_ids.file,
        init_producer_ids.`position`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS evidence
FROM silver.init_producer_ids AS init_producer_ids
FULL OUTER JOIN agreed
  USING (cluster, request_id)
