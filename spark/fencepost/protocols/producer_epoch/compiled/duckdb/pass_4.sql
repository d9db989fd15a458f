-- generated from spec/producer_epoch/ProducerEpochProps.tla by `tlasql compile`; do not edit
-- one pass for kip_360_new_epoch, kip_360_same_epoch, kip_360_fenced, shipped_new_epoch, shipped_same_epoch, shipped_fenced, shipped_fails, shipped_waits
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
    previous_id_held AS "r.previousIdHeld",
    status AS "r.status",
    last_epoch_held AS "r.lastEpochHeld"
  FROM silver.init_producer_id_states
), judged AS (
  SELECT
    *,
    NOT "r.known"
    OR NOT NOT "r.providedId" = -1
    OR (
      (
        "r.providedId" = "r.producerId"
        OR (
          "r.providedId" = "r.previousId" AND "r.providedEpoch" >= 32766
        )
      )
      AND "r.providedEpoch" = "r.producerEpoch"
    ) AS c1_1,
    "r.known"
    AND NOT "r.providedId" = -1
    AND (
      "r.providedId" = "r.producerId"
      OR (
        "r.providedId" = "r.previousId" AND "r.providedEpoch" >= 32766
      )
    )
    AND NOT "r.providedEpoch" = "r.producerEpoch"
    AND "r.providedEpoch" = "r.lastEpoch" AS c1_2,
    "r.known"
    AND NOT "r.providedId" = -1
    AND (
      NOT (
        "r.providedId" = "r.producerId"
        OR (
          "r.providedId" = "r.previousId" AND "r.providedEpoch" >= 32766
        )
      )
      OR (
        NOT "r.providedEpoch" = "r.producerEpoch" AND NOT "r.providedEpoch" = "r.lastEpoch"
      )
    ) AS c1_3,
    (
      NOT NOT "r.providedId" = -1
      OR "r.producerEpoch" = -1
      OR "r.providedId" = "r.producerId"
      OR (
        "r.providedId" = "r.previousIdHeld" AND "r.providedEpoch" >= 32766
      )
    )
    AND (
      "r.status" = 'Empty' OR "r.status" = 'CompleteCommit' OR "r.status" = 'CompleteAbort'
    )
    AND (
      (
        NOT NOT "r.providedId" = -1 OR "r.producerEpoch" = -1
      ) OR "r.providedEpoch" = "r.producerEpoch"
    ) AS c1_4,
    (
      NOT NOT "r.providedId" = -1
      OR "r.producerEpoch" = -1
      OR "r.providedId" = "r.producerId"
      OR (
        "r.providedId" = "r.previousIdHeld" AND "r.providedEpoch" >= 32766
      )
    )
    AND (
      "r.status" = 'Empty' OR "r.status" = 'CompleteCommit' OR "r.status" = 'CompleteAbort'
    )
    AND NOT "r.providedId" = -1
    AND NOT "r.producerEpoch" = -1
    AND NOT "r.producerEpoch" >= 32766
    AND NOT "r.providedEpoch" = "r.producerEpoch"
    AND "r.providedEpoch" = "r.lastEpochHeld" AS c1_5,
    NOT (
      NOT NOT "r.providedId" = -1
      OR "r.producerEpoch" = -1
      OR "r.providedId" = "r.producerId"
      OR (
        "r.providedId" = "r.previousIdHeld" AND "r.providedEpoch" >= 32766
      )
    )
    OR (
      (
        "r.status" = 'Empty' OR "r.status" = 'CompleteCommit' OR "r.status" = 'CompleteAbort'
      )
      AND NOT "r.providedId" = -1
      AND NOT "r.producerEpoch" = -1
      AND NOT "r.producerEpoch" >= 32766
      AND NOT "r.providedEpoch" = "r.producerEpoch"
      AND NOT "r.providedEpoch" = "r.lastEpochHeld"
    ) AS c1_6,
    (
      NOT NOT "r.providedId" = -1
      OR "r.producerEpoch" = -1
      OR "r.providedId" = "r.producerId"
      OR (
        "r.providedId" = "r.previousIdHeld" AND "r.providedEpoch" >= 32766
      )
    )
    AND (
      "r.status" = 'Empty' OR "r.status" = 'CompleteCommit' OR "r.status" = 'CompleteAbort'
    )
    AND NOT "r.providedId" = -1
    AND NOT "r.producerEpoch" = -1
    AND "r.producerEpoch" >= 32766
    AND NOT "r.providedEpoch" = "r.producerEpoch" AS c1_7,
    (
      NOT NOT "r.providedId" = -1
      OR "r.producerEpoch" = -1
      OR "r.providedId" = "r.producerId"
      OR (
        "r.providedId" = "r.previousIdHeld" AND "r.providedEpoch" >= 32766
      )
    )
    AND (
      "r.status" = 'Ongoing' OR "r.status" = 'PrepareCommit' OR "r.status" = 'PrepareAbort'
    ) AS c1_8
  FROM frame
), agreed AS (
  SELECT
    cluster,
    request_id,
    COUNT(*) AS states,
    CASE
      WHEN BOOL_AND(COALESCE(c1_1, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT c1_1, FALSE))
      THEN FALSE
    END AS verdict_1,
    CASE
      WHEN BOOL_AND(COALESCE(c1_2, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT c1_2, FALSE))
      THEN FALSE
    END AS verdict_2,
    CASE
      WHEN BOOL_AND(COALESCE(c1_3, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT c1_3, FALSE))
      THEN FALSE
    END AS verdict_3,
    CASE
      WHEN BOOL_AND(COALESCE(c1_4, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT c1_4, FALSE))
      THEN FALSE
    END AS verdict_4,
    CASE
      WHEN BOOL_AND(COALESCE(c1_5, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT c1_5, FALSE))
      THEN FALSE
    END AS verdict_5,
    CASE
      WHEN BOOL_AND(COALESCE(c1_6, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT c1_6, FALSE))
      THEN FALSE
    END AS verdict_6,
    CASE
      WHEN BOOL_AND(COALESCE(c1_7, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT c1_7, FALSE))
      THEN FALSE
    END AS verdict_7,
    CASE
      WHEN BOOL_AND(COALESCE(c1_8, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT c1_8, FALSE))
      THEN FALSE
    END AS verdict_8,
    CASE WHEN BOOL_OR(c1_1) AND BOOL_OR(NOT c1_1) THEN 'several_states' END AS reason_1,
    CASE WHEN BOOL_OR(c1_2) AND BOOL_OR(NOT c1_2) THEN 'several_states' END AS reason_2,
    CASE WHEN BOOL_OR(c1_3) AND BOOL_OR(NOT c1_3) THEN 'several_states' END AS reason_3,
    CASE WHEN BOOL_OR(c1_4) AND BOOL_OR(NOT c1_4) THEN 'several_states' END AS reason_4,
    CASE WHEN BOOL_OR(c1_5) AND BOOL_OR(NOT c1_5) THEN 'several_states' END AS reason_5,
    CASE WHEN BOOL_OR(c1_6) AND BOOL_OR(NOT c1_6) THEN 'several_states' END AS reason_6,
    CASE WHEN BOOL_OR(c1_7) AND BOOL_OR(NOT c1_7) THEN 'several_states' END AS reason_7,
    CASE WHEN BOOL_OR(c1_8) AND BOOL_OR(NOT c1_8) THEN 'several_states' END AS reason_8
  FROM judged
  GROUP BY
    cluster,
    request_id
)
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  subject,
  STRUCT_EXTRACT(each, 'outcome') AS outcome,
  STRUCT_EXTRACT(each, 'reason') AS reason
FROM (
  SELECT
    cluster,
    subject,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      request_id AS subject,
      [
        {'definition': 'kip_360_new_epoch', 'outcome': CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_1 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_1 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason_1 END,
            init_producer_ids.unknown_reason,
            'not_captured'
          )
        END},
        {'definition': 'kip_360_same_epoch', 'outcome': CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_2 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_2 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason_2 END,
            init_producer_ids.unknown_reason,
            'not_captured'
          )
        END},
        {'definition': 'kip_360_fenced', 'outcome': CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_3 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_3 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason_3 END,
            init_producer_ids.unknown_reason,
            'not_captured'
          )
        END},
        {'definition': 'shipped_new_epoch', 'outcome': CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_4 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_4 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason_4 END,
            init_producer_ids.unknown_reason,
            'not_captured'
          )
        END},
        {'definition': 'shipped_same_epoch', 'outcome': CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_5 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_5 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason_5 END,
            init_producer_ids.unknown_reason,
            'not_captured'
          )
        END},
        {'definition': 'shipped_fenced', 'outcome': CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_6 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_6 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason_6 END,
            init_producer_ids.unknown_reason,
            'not_captured'
          )
        END},
        {'definition': 'shipped_fails', 'outcome': CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_7 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_7 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason_7 END,
            init_producer_ids.unknown_reason,
            'not_captured'
          )
        END},
        {'definition': 'shipped_waits', 'outcome': CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_8 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_8 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason_8 END,
            init_producer_ids.unknown_reason,
            'not_captured'
          )
        END}
      ] AS rows_
    FROM silver.init_producer_ids AS init_producer_ids
    FULL OUTER JOIN agreed
      USING (cluster, request_id)
  ) AS judged_together
) AS fanned
