-- generated from spec/producer_epoch/ProducerEpochProps.tla by `tlasql compile`; do not edit
-- one pass for every_marker_is_written, marker_of_the_right_type, one_marker_each, marker_coordinator_epoch_in_order
WITH frame AS (
  SELECT
    cluster,
    topic,
    "partition",
    partition_key,
    marker_id,
    from_position,
    to_position,
    from_time,
    to_time,
    completed AS "m.completed",
    found AS "m.found",
    wrong AS "m.wrong",
    writers AS "m.writers",
    marker_coordinator_epoch AS "m.markerCoordinatorEpoch",
    coordinator_epoch AS "m.coordinatorEpoch"
  FROM silver.transaction_markers
), judged AS (
  SELECT
    *,
    "m.completed" AS antecedent_1,
    "m.found" >= 1 AS c1_1,
    "m.found" >= 1 OR "m.wrong" >= 1 AS antecedent_2,
    "m.wrong" = 0 AS c1_2,
    "m.found" >= 1 AS antecedent_3,
    "m.found" <= "m.writers" AS c1_3,
    "m.found" >= 1 AND NOT "m.markerCoordinatorEpoch" = -1 AS antecedent_4,
    "m.markerCoordinatorEpoch" >= "m.coordinatorEpoch" AS c1_4
  FROM frame
), weighed AS (
  SELECT
    cluster,
    topic,
    "partition",
    partition_key,
    marker_id,
    from_position,
    to_position,
    from_time,
    to_time,
    "m.completed",
    "m.found",
    "m.wrong",
    "m.writers",
    "m.markerCoordinatorEpoch",
    "m.coordinatorEpoch",
    NOT antecedent_1 OR c1_1 AS verdict_1,
    COALESCE(antecedent_1, FALSE) AS exercised_1,
    CASE WHEN antecedent_1 AND NOT c1_1 THEN 'm.found >= 1' END AS failed_conjunct_1,
    NOT antecedent_2 OR c1_2 AS verdict_2,
    COALESCE(antecedent_2, FALSE) AS exercised_2,
    CASE WHEN antecedent_2 AND NOT c1_2 THEN 'm.wrong = 0' END AS failed_conjunct_2,
    NOT antecedent_3 OR c1_3 AS verdict_3,
    COALESCE(antecedent_3, FALSE) AS exercised_3,
    CASE WHEN antecedent_3 AND NOT c1_3 THEN 'm.found <= m.writers' END AS failed_conjunct_3,
    NOT antecedent_4 OR c1_4 AS verdict_4,
    COALESCE(antecedent_4, FALSE) AS exercised_4,
    CASE WHEN antecedent_4 AND NOT c1_4 THEN 'm.markerCoordinatorEpoch >= m.coordinatorEpoch' END AS failed_conjunct_4
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    marker_id
  FROM silver.transaction_markers
  GROUP BY
    cluster,
    marker_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    marker_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'topic': topic, 'partition': "partition", 'partition_key': partition_key, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'failed_conjunct_3': failed_conjunct_3, 'failed_conjunct_4': failed_conjunct_4, 'm.completed': "m.completed", 'm.found': "m.found", 'm.wrong': "m.wrong", 'm.writers': "m.writers", 'm.markerCoordinatorEpoch': "m.markerCoordinatorEpoch", 'm.coordinatorEpoch': "m.coordinatorEpoch"} AS first_state,
    CASE WHEN COALESCE(verdict_1, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_1, FALSE) THEN FALSE END AS verdict_1,
    exercised_1 AS exercised_1,
    CASE WHEN COALESCE(verdict_2, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_2, FALSE) THEN FALSE END AS verdict_2,
    exercised_2 AS exercised_2,
    CASE WHEN COALESCE(verdict_3, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_3, FALSE) THEN FALSE END AS verdict_3,
    exercised_3 AS exercised_3,
    CASE WHEN COALESCE(verdict_4, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_4, FALSE) THEN FALSE END AS verdict_4,
    exercised_4 AS exercised_4
  FROM weighed
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.marker_id IS NOT DISTINCT FROM weighed.marker_id
    )
  UNION ALL
  SELECT
    cluster,
    marker_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE(
      {'topic': topic, 'partition': "partition", 'partition_key': partition_key, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'failed_conjunct_3': failed_conjunct_3, 'failed_conjunct_4': failed_conjunct_4, 'm.completed': "m.completed", 'm.found': "m.found", 'm.wrong': "m.wrong", 'm.writers': "m.writers", 'm.markerCoordinatorEpoch': "m.markerCoordinatorEpoch", 'm.coordinatorEpoch': "m.coordinatorEpoch"}
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_1, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_1, FALSE))
      THEN FALSE
    END AS verdict_1,
    BOOL_AND(exercised_1) AS exercised_1,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_2, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_2, FALSE))
      THEN FALSE
    END AS verdict_2,
    BOOL_AND(exercised_2) AS exercised_2,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_3, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_3, FALSE))
      THEN FALSE
    END AS verdict_3,
    BOOL_AND(exercised_3) AS exercised_3,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_4, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_4, FALSE))
      THEN FALSE
    END AS verdict_4,
    BOOL_AND(exercised_4) AS exercised_4
  FROM weighed
  WHERE
    EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.marker_id IS NOT DISTINCT FROM weighed.marker_id
    )
  GROUP BY
    cluster,
    marker_id
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
        COALESCE(STRUCT_EXTRACT(agreed.first_state, 'topic'), transaction_markers.topic),
        'partition',
        COALESCE(STRUCT_EXTRACT(agreed.first_state, 'partition'), transaction_markers."partition"),
        'partition_key',
        COALESCE(STRUCT_EXTRACT(agreed.first_state, 'partition_key'), transaction_markers.partition_key)
      ) AS TEXT) AS scope,
      CASE
        WHEN NOT (
          COALESCE(agreed.verdict_1, FALSE)
          AND COALESCE(agreed.verdict_2, FALSE)
          AND COALESCE(agreed.verdict_3, FALSE)
          AND COALESCE(agreed.verdict_4, FALSE)
        )
        THEN CAST(JSON_OBJECT('m', marker_id) AS TEXT)
      END AS witness,
      agreed.from_position,
      agreed.to_position,
      COALESCE(agreed.from_time, transaction_markers.from_time) AS from_time,
      COALESCE(agreed.to_time, transaction_markers.to_time) AS to_time,
      CASE
        WHEN NOT (
          COALESCE(agreed.verdict_1, FALSE)
          AND COALESCE(agreed.verdict_2, FALSE)
          AND COALESCE(agreed.verdict_3, FALSE)
          AND COALESCE(agreed.verdict_4, FALSE)
        )
        THEN CAST(JSON_OBJECT(
          'transactional_id',
          transaction_markers.transactional_id,
          'producer_id',
          transaction_markers.producer_id,
          'producer_epoch',
          transaction_markers.producer_epoch,
          'transaction_partition',
          transaction_markers.transaction_partition,
          'due_type',
          transaction_markers.due_type,
          'marker_position',
          transaction_markers.marker_position,
          'marker_at',
          STRFTIME(transaction_markers.marker_at, '%Y-%m-%dT%H:%M:%S.%gZ'),
          'wrong_type',
          transaction_markers.wrong_type,
          'wrong_position',
          transaction_markers.wrong_position,
          'wrong_at',
          STRFTIME(transaction_markers.wrong_at, '%Y-%m-%dT%H:%M:%S.%gZ'),
          'wrong_by_operator',
          transaction_markers.wrong_by_operator,
          'wrong_client_id',
          transaction_markers.wrong_client_id,
          'wrong_connection',
          transaction_markers.wrong_connection,
          'wrong_first_offset',
          transaction_markers.wrong_first_offset,
          'wrong_last_offset',
          transaction_markers.wrong_last_offset,
          'wrong_records',
          transaction_markers.wrong_records
        ) AS TEXT)
      END AS evidence,
      [
        {'definition': 'every_marker_is_written', 'verdict': agreed.verdict_1, 'exercised': COALESCE(agreed.exercised_1, FALSE), 'failed_conjunct': CASE WHEN NOT agreed.verdict_1 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_1') END, 'reason': CASE
          WHEN agreed.verdict_1 IS NULL
          THEN COALESCE(transaction_markers.unknown_reason, 'not_captured')
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_1, FALSE)
          THEN CAST(JSON_OBJECT(
            'm.completed',
            STRUCT_EXTRACT(agreed.first_state, 'm.completed'),
            'm.found',
            STRUCT_EXTRACT(agreed.first_state, 'm.found')
          ) AS TEXT)
        END},
        {'definition': 'marker_of_the_right_type', 'verdict': agreed.verdict_2, 'exercised': COALESCE(agreed.exercised_2, FALSE), 'failed_conjunct': CASE WHEN NOT agreed.verdict_2 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_2') END, 'reason': CASE
          WHEN agreed.verdict_2 IS NULL
          THEN COALESCE(transaction_markers.unknown_reason, 'not_captured')
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_2, FALSE)
          THEN CAST(JSON_OBJECT(
            'm.found',
            STRUCT_EXTRACT(agreed.first_state, 'm.found'),
            'm.wrong',
            STRUCT_EXTRACT(agreed.first_state, 'm.wrong')
          ) AS TEXT)
        END},
        {'definition': 'one_marker_each', 'verdict': agreed.verdict_3, 'exercised': COALESCE(agreed.exercised_3, FALSE), 'failed_conjunct': CASE WHEN NOT agreed.verdict_3 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_3') END, 'reason': CASE
          WHEN agreed.verdict_3 IS NULL
          THEN COALESCE(transaction_markers.unknown_reason, 'not_captured')
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_3, FALSE)
          THEN CAST(JSON_OBJECT(
            'm.found',
            STRUCT_EXTRACT(agreed.first_state, 'm.found'),
            'm.writers',
            STRUCT_EXTRACT(agreed.first_state, 'm.writers')
          ) AS TEXT)
        END},
        {'definition': 'marker_coordinator_epoch_in_order', 'verdict': agreed.verdict_4, 'exercised': COALESCE(agreed.exercised_4, FALSE), 'failed_conjunct': CASE WHEN NOT agreed.verdict_4 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_4') END, 'reason': CASE
          WHEN agreed.verdict_4 IS NULL
          THEN COALESCE(transaction_markers.unknown_reason, 'not_captured')
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_4, FALSE)
          THEN CAST(JSON_OBJECT(
            'm.found',
            STRUCT_EXTRACT(agreed.first_state, 'm.found'),
            'm.markerCoordinatorEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'm.markerCoordinatorEpoch'),
            'm.coordinatorEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'm.coordinatorEpoch')
          ) AS TEXT)
        END}
      ] AS rows_
    FROM silver.transaction_markers AS transaction_markers
    FULL OUTER JOIN agreed
      USING (cluster, marker_id)
  ) AS judged_together
) AS fanned
