-- generated from spec/producer_epoch/ProducerEpochProps.tla by `tlasql compile`; do not edit
-- one pass for broker_keeps_its_init_rule, stale_epoch_never_bumped, no_stale_epoch_granted, retry_returns_the_same_epoch, no_retry_fenced, no_stale_abort
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
    granted AS "r.granted",
    fenced AS "r.fenced",
    busy AS "r.busy",
    provided_id AS "r.providedId",
    producer_epoch AS "r.producerEpoch",
    producer_id AS "r.producerId",
    previous_id_held AS "r.previousIdHeld",
    provided_epoch AS "r.providedEpoch",
    status AS "r.status",
    last_epoch_held AS "r.lastEpochHeld",
    known AS "r.known",
    previous_id AS "r.previousId",
    last_epoch AS "r.lastEpoch",
    returned_id AS "r.returnedId",
    returned_epoch AS "r.returnedEpoch",
    failed AS "r.failed"
  FROM silver.init_producer_id_states
), judged AS (
  SELECT
    *,
    (
      "r.granted" OR "r.fenced"
    ) OR "r.busy" AS antecedent_1,
    NOT "r.granted"
    OR (
      (
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
        )
      )
      OR (
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
        AND "r.providedEpoch" = "r.lastEpochHeld"
      )
    ) AS c1_1,
    NOT "r.fenced"
    OR (
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
      )
    ) AS c2_1,
    (
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
      )
    )
    AND "r.granted" AS antecedent_2,
    "r.returnedId" = "r.producerId" AS c1_2,
    "r.returnedEpoch" = "r.producerEpoch" AS c2_2,
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
    ) AS antecedent_3,
    NOT "r.granted" AS c1_3,
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
    AND "r.granted" AS antecedent_4,
    "r.returnedId" = "r.producerId" AS c1_4,
    "r.returnedEpoch" = "r.producerEpoch" AS c2_4,
    "r.known"
    AND NOT "r.providedId" = -1
    AND (
      "r.providedId" = "r.producerId"
      OR (
        "r.providedId" = "r.previousId" AND "r.providedEpoch" >= 32766
      )
    )
    AND NOT "r.providedEpoch" = "r.producerEpoch"
    AND "r.providedEpoch" = "r.lastEpoch" AS antecedent_5,
    NOT "r.fenced" AS c1_5,
    NOT "r.failed" AS c2_5,
    (
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
      )
    )
    AND "r.status" = 'Ongoing' AS antecedent_6,
    NOT "r.busy" AS c1_6
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
    "r.granted",
    "r.fenced",
    "r.busy",
    "r.providedId",
    "r.producerEpoch",
    "r.producerId",
    "r.previousIdHeld",
    "r.providedEpoch",
    "r.status",
    "r.lastEpochHeld",
    "r.known",
    "r.previousId",
    "r.lastEpoch",
    "r.returnedId",
    "r.returnedEpoch",
    "r.failed",
    NOT antecedent_1 OR (
      c1_1 AND c2_1
    ) AS verdict_1,
    COALESCE(antecedent_1, FALSE) AS exercised_1,
    CASE
      WHEN antecedent_1 AND NOT c1_1
      THEN 'r.granted => ShippedNewEpoch(r) \/ ShippedSameEpoch(r)'
      WHEN antecedent_1 AND NOT c2_1
      THEN 'r.fenced => ShippedFenced(r)'
    END AS failed_conjunct_1,
    NOT antecedent_2 OR (
      c1_2 AND c2_2
    ) AS verdict_2,
    COALESCE(antecedent_2, FALSE) AS exercised_2,
    CASE
      WHEN antecedent_2 AND NOT c1_2
      THEN 'r.returnedId = r.producerId'
      WHEN antecedent_2 AND NOT c2_2
      THEN 'r.returnedEpoch = r.producerEpoch'
    END AS failed_conjunct_2,
    NOT antecedent_3 OR c1_3 AS verdict_3,
    COALESCE(antecedent_3, FALSE) AS exercised_3,
    CASE WHEN antecedent_3 AND NOT c1_3 THEN '~r.granted' END AS failed_conjunct_3,
    NOT antecedent_4 OR (
      c1_4 AND c2_4
    ) AS verdict_4,
    COALESCE(antecedent_4, FALSE) AS exercised_4,
    CASE
      WHEN antecedent_4 AND NOT c1_4
      THEN 'r.returnedId = r.producerId'
      WHEN antecedent_4 AND NOT c2_4
      THEN 'r.returnedEpoch = r.producerEpoch'
    END AS failed_conjunct_4,
    NOT antecedent_5 OR (
      c1_5 AND c2_5
    ) AS verdict_5,
    COALESCE(antecedent_5, FALSE) AS exercised_5,
    CASE WHEN antecedent_5 AND NOT c1_5 THEN '~r.fenced' WHEN antecedent_5 AND NOT c2_5 THEN '~r.failed' END AS failed_conjunct_5,
    NOT antecedent_6 OR c1_6 AS verdict_6,
    COALESCE(antecedent_6, FALSE) AS exercised_6,
    CASE WHEN antecedent_6 AND NOT c1_6 THEN '~r.busy' END AS failed_conjunct_6
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    request_id
  FROM silver.init_producer_id_states
  GROUP BY
    cluster,
    request_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    request_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'topic': topic, 'partition': "partition", 'partition_key': partition_key, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'failed_conjunct_3': failed_conjunct_3, 'failed_conjunct_4': failed_conjunct_4, 'failed_conjunct_5': failed_conjunct_5, 'failed_conjunct_6': failed_conjunct_6, 'r.granted': "r.granted", 'r.fenced': "r.fenced", 'r.busy': "r.busy", 'r.providedId': "r.providedId", 'r.producerEpoch': "r.producerEpoch", 'r.producerId': "r.producerId", 'r.previousIdHeld': "r.previousIdHeld", 'r.providedEpoch': "r.providedEpoch", 'r.status': "r.status", 'r.lastEpochHeld': "r.lastEpochHeld", 'r.known': "r.known", 'r.previousId': "r.previousId", 'r.lastEpoch': "r.lastEpoch", 'r.returnedId': "r.returnedId", 'r.returnedEpoch': "r.returnedEpoch", 'r.failed': "r.failed"} AS first_state,
    CASE WHEN COALESCE(verdict_1, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_1, FALSE) THEN FALSE END AS verdict_1,
    exercised_1 AS exercised_1,
    CASE WHEN verdict_1 AND NOT verdict_1 THEN 'several_states' END AS reason_1,
    CASE WHEN COALESCE(verdict_2, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_2, FALSE) THEN FALSE END AS verdict_2,
    exercised_2 AS exercised_2,
    CASE WHEN verdict_2 AND NOT verdict_2 THEN 'several_states' END AS reason_2,
    CASE WHEN COALESCE(verdict_3, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_3, FALSE) THEN FALSE END AS verdict_3,
    exercised_3 AS exercised_3,
    CASE WHEN verdict_3 AND NOT verdict_3 THEN 'several_states' END AS reason_3,
    CASE WHEN COALESCE(verdict_4, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_4, FALSE) THEN FALSE END AS verdict_4,
    exercised_4 AS exercised_4,
    CASE WHEN verdict_4 AND NOT verdict_4 THEN 'several_states' END AS reason_4,
    CASE WHEN COALESCE(verdict_5, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_5, FALSE) THEN FALSE END AS verdict_5,
    exercised_5 AS exercised_5,
    CASE WHEN verdict_5 AND NOT verdict_5 THEN 'several_states' END AS reason_5,
    CASE WHEN COALESCE(verdict_6, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_6, FALSE) THEN FALSE END AS verdict_6,
    exercised_6 AS exercised_6,
    CASE WHEN verdict_6 AND NOT verdict_6 THEN 'several_states' END AS reason_6
  FROM weighed
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.request_id IS NOT DISTINCT FROM weighed.request_id
    )
  UNION ALL
  SELECT
    cluster,
    request_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ARG_MIN(
      {'topic': topic, 'partition': "partition", 'partition_key': partition_key, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'failed_conjunct_3': failed_conjunct_3, 'failed_conjunct_4': failed_conjunct_4, 'failed_conjunct_5': failed_conjunct_5, 'failed_conjunct_6': failed_conjunct_6, 'r.granted': "r.granted", 'r.fenced': "r.fenced", 'r.busy': "r.busy", 'r.providedId': "r.providedId", 'r.producerEpoch': "r.producerEpoch", 'r.producerId': "r.producerId", 'r.previousIdHeld': "r.previousIdHeld", 'r.providedEpoch': "r.providedEpoch", 'r.status': "r.status", 'r.lastEpochHeld': "r.lastEpochHeld", 'r.known': "r.known", 'r.previousId': "r.previousId", 'r.lastEpoch': "r.lastEpoch", 'r.returnedId': "r.returnedId", 'r.returnedEpoch': "r.returnedEpoch", 'r.failed': "r.failed"},
      candidate
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_1, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_1, FALSE))
      THEN FALSE
    END AS verdict_1,
    BOOL_AND(exercised_1) AS exercised_1,
    CASE WHEN BOOL_OR(verdict_1) AND BOOL_OR(NOT verdict_1) THEN 'several_states' END AS reason_1,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_2, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_2, FALSE))
      THEN FALSE
    END AS verdict_2,
    BOOL_AND(exercised_2) AS exercised_2,
    CASE WHEN BOOL_OR(verdict_2) AND BOOL_OR(NOT verdict_2) THEN 'several_states' END AS reason_2,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_3, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_3, FALSE))
      THEN FALSE
    END AS verdict_3,
    BOOL_AND(exercised_3) AS exercised_3,
    CASE WHEN BOOL_OR(verdict_3) AND BOOL_OR(NOT verdict_3) THEN 'several_states' END AS reason_3,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_4, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_4, FALSE))
      THEN FALSE
    END AS verdict_4,
    BOOL_AND(exercised_4) AS exercised_4,
    CASE WHEN BOOL_OR(verdict_4) AND BOOL_OR(NOT verdict_4) THEN 'several_states' END AS reason_4,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_5, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_5, FALSE))
      THEN FALSE
    END AS verdict_5,
    BOOL_AND(exercised_5) AS exercised_5,
    CASE WHEN BOOL_OR(verdict_5) AND BOOL_OR(NOT verdict_5) THEN 'several_states' END AS reason_5,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_6, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_6, FALSE))
      THEN FALSE
    END AS verdict_6,
    BOOL_AND(exercised_6) AS exercised_6,
    CASE WHEN BOOL_OR(verdict_6) AND BOOL_OR(NOT verdict_6) THEN 'several_states' END AS reason_6
  FROM weighed
  WHERE
    EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.request_id IS NOT DISTINCT FROM weighed.request_id
    )
  GROUP BY
    cluster,
    request_id
)
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  scope,
  CASE WHEN NOT COALESCE(STRUCT_EXTRACT(each, 'verdict'), FALSE) THEN witness END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  STRUCT_EXTRACT(each, 'verdict') AS verdict,
  STRUCT_EXTRACT(each, 'exercised') AS exercised,
  STRUCT_EXTRACT(each, 'failed_conjunct') AS failed_conjunct,
  STRUCT_EXTRACT(each, 'reason') AS reason,
  STRUCT_EXTRACT(each, 'observed') AS observed,
  CASE WHEN NOT COALESCE(STRUCT_EXTRACT(each, 'verdict'), FALSE) THEN evidence END AS evidence
FROM (
  SELECT
    cluster,
    scope,
    witness,
    from_position,
    to_position,
    from_time,
    to_time,
    evidence,
    UNNEST(rows_) AS each
  FROM (
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
          COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_1 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_2 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_3 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_4 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_5 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_6 END, FALSE)
        )
        THEN CAST(JSON_OBJECT('r', request_id) AS TEXT)
      END AS witness,
      agreed.from_position,
      agreed.to_position,
      COALESCE(agreed.from_time, init_producer_ids.requested_at) AS from_time,
      COALESCE(agreed.to_time, init_producer_ids.responded_at) AS to_time,
      CASE
        WHEN NOT (
          COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_1 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_2 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_3 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_4 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_5 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_6 END, FALSE)
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
      END AS evidence,
      [
        {'definition': 'broker_keeps_its_init_rule', 'verdict': CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_1 END, 'exercised': COALESCE(agreed.exercised_1, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = init_producer_ids.candidates
          THEN CASE WHEN NOT agreed.verdict_1 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_1') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_1 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason_1 END,
            init_producer_ids.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_1 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'r.granted',
            STRUCT_EXTRACT(agreed.first_state, 'r.granted'),
            'r.fenced',
            STRUCT_EXTRACT(agreed.first_state, 'r.fenced'),
            'r.busy',
            STRUCT_EXTRACT(agreed.first_state, 'r.busy'),
            'r.providedId',
            STRUCT_EXTRACT(agreed.first_state, 'r.providedId'),
            'r.producerEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'r.producerEpoch'),
            'r.producerId',
            STRUCT_EXTRACT(agreed.first_state, 'r.producerId'),
            'r.previousIdHeld',
            STRUCT_EXTRACT(agreed.first_state, 'r.previousIdHeld'),
            'r.providedEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'r.providedEpoch'),
            'r.status',
            STRUCT_EXTRACT(agreed.first_state, 'r.status'),
            'r.lastEpochHeld',
            STRUCT_EXTRACT(agreed.first_state, 'r.lastEpochHeld')
          ) AS TEXT)
        END},
        {'definition': 'stale_epoch_never_bumped', 'verdict': CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_2 END, 'exercised': COALESCE(agreed.exercised_2, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = init_producer_ids.candidates
          THEN CASE WHEN NOT agreed.verdict_2 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_2') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_2 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason_2 END,
            init_producer_ids.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_2 END, FALSE)
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
        END},
        {'definition': 'no_stale_epoch_granted', 'verdict': CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_3 END, 'exercised': COALESCE(agreed.exercised_3, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = init_producer_ids.candidates
          THEN CASE WHEN NOT agreed.verdict_3 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_3') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_3 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason_3 END,
            init_producer_ids.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_3 END, FALSE)
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
            STRUCT_EXTRACT(agreed.first_state, 'r.granted')
          ) AS TEXT)
        END},
        {'definition': 'retry_returns_the_same_epoch', 'verdict': CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_4 END, 'exercised': COALESCE(agreed.exercised_4, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = init_producer_ids.candidates
          THEN CASE WHEN NOT agreed.verdict_4 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_4') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_4 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason_4 END,
            init_producer_ids.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_4 END, FALSE)
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
        END},
        {'definition': 'no_retry_fenced', 'verdict': CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_5 END, 'exercised': COALESCE(agreed.exercised_5, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = init_producer_ids.candidates
          THEN CASE WHEN NOT agreed.verdict_5 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_5') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_5 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason_5 END,
            init_producer_ids.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_5 END, FALSE)
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
            'r.fenced',
            STRUCT_EXTRACT(agreed.first_state, 'r.fenced'),
            'r.failed',
            STRUCT_EXTRACT(agreed.first_state, 'r.failed')
          ) AS TEXT)
        END},
        {'definition': 'no_stale_abort', 'verdict': CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_6 END, 'exercised': COALESCE(agreed.exercised_6, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = init_producer_ids.candidates
          THEN CASE WHEN NOT agreed.verdict_6 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_6') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_6 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.reason_6 END,
            init_producer_ids.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = init_producer_ids.candidates THEN agreed.verdict_6 END, FALSE)
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
            'r.status',
            STRUCT_EXTRACT(agreed.first_state, 'r.status'),
            'r.busy',
            STRUCT_EXTRACT(agreed.first_state, 'r.busy')
          ) AS TEXT)
        END}
      ] AS rows_
    FROM silver.init_producer_ids AS init_producer_ids
    FULL OUTER JOIN agreed
      USING (cluster, request_id)
  ) AS judged_together
) AS fanned
