-- generated from ShippedWaits in spec/producer_epoch/InitProducerIdRules.tla by `tlasql compile`; do not edit
--
-- ShippedWaits(r) == PassesIdCheck(r) /\ r.status \in {"Ongoing", "PrepareCommit", "PrepareAbort"}
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
    provided_id AS `r.providedId`,
    producer_epoch AS `r.producerEpoch`,
    producer_id AS `r.producerId`,
    previous_id_held AS `r.previousIdHeld`,
    provided_epoch AS `r.providedEpoch`,
    status AS `r.status`
  FROM silver.init_producer_id_states
), judged AS (
  SELECT
    *,
    (
      NOT NOT `r.providedId` = -1
      OR `r.producerEpoch` = -1
      OR `r.providedId` = `r.producerId`
      OR (
        `r.providedId` = `r.previousIdHeld` AND `r.providedEpoch` >= 32766
      )
    )
    AND (
      `r.status` = 'Ongoing' OR `r.status` = 'PrepareCommit' OR `r.status` = 'PrepareAbort'
    ) AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    request_id,
    COUNT(*) AS states,
    CASE WHEN BOOL_AND(COALESCE(c1, FALSE)) THEN TRUE WHEN BOOL_AND(COALESCE(NOT c1, FALSE)) THEN FALSE END AS verdict,
    CASE WHEN BOOL_OR(c1) AND BOOL_OR(NOT c1) THEN 'several_states' END AS reason
  FROM judged
  GROUP BY
    cluster,
    request_id
)
SELECT
  cluster,
  request_id AS subject,
  CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict END AS outcome,
  CASE
    WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason END,
      init_producer_ids.unknown_reason,
      'not_captured'
    )
  END AS reason
FROM silver.init_producer_ids AS init_producer_ids
FULL OUTER JOIN agreed
  USING (cluster, request_id)
