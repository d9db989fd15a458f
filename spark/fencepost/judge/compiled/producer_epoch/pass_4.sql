-- generated from spec/producer_epoch/ProducerEpochProps.tla:1 by `tlasql compile`; do not edit
-- one pass for every_marker_is_written, marker_of_the_right_type, one_marker_each, marker_coordinator_epoch_in_order
WITH frame AS (
  SELECT
    cluster,
    topic,
    `partition`,
    partition_key,
    marker_id,
    from_position,
    to_position,
    from_time,
    to_time,
    completed AS `m.completed`,
    found AS `m.found`,
    wrong AS `m.wrong`,
    marker_coordinator_epoch AS `m.markerCoordinatorEpoch`,
    coordinator_epoch AS `m.coordinatorEpoch`
  FROM silver.transaction_markers
), judged AS (
  SELECT
    *,
    `m.completed` AS antecedent_1,
    `m.found` >= 1 AS c1_1,
    `m.found` >= 1 OR `m.wrong` >= 1 AS antecedent_2,
    `m.wrong` = 0 AS c1_2,
    `m.found` >= 1 AS antecedent_3,
    `m.found` <= 1 AS c1_3,
    `m.found` >= 1 AS antecedent_4,
    `m.markerCoordinatorEpoch` >= `m.coordinatorEpoch` AS c1_4
  FROM frame
), weighed AS (
  SELECT
    cluster,
    topic,
    `partition`,
    partition_key,
    marker_id,
    from_position,
    to_position,
    from_time,
    to_time,
    NOT antecedent_1 OR c1_1 AS verdict_1,
    COALESCE(antecedent_1, FALSE) AS exercised_1,
    CASE WHEN antecedent_1 AND NOT c1_1 THEN 'm.found >= 1 (ProducerEpochProps:364)' END AS failed_conjunct_1,
    TO_JSON(STRUCT(`m.completed`, `m.found`), MAP('ignoreNullFields', 'false')) AS values_1,
    NOT antecedent_2 OR c1_2 AS verdict_2,
    COALESCE(antecedent_2, FALSE) AS exercised_2,
    CASE WHEN antecedent_2 AND NOT c1_2 THEN 'm.wrong = 0 (ProducerEpochProps:377)' END AS failed_conjunct_2,
    TO_JSON(STRUCT(`m.found`, `m.wrong`), MAP('ignoreNullFields', 'false')) AS values_2,
    NOT antecedent_3 OR c1_3 AS verdict_3,
    COALESCE(antecedent_3, FALSE) AS exercised_3,
    CASE WHEN antecedent_3 AND NOT c1_3 THEN 'm.found <= 1 (ProducerEpochProps:391)' END AS failed_conjunct_3,
    TO_JSON(STRUCT(`m.found`), MAP('ignoreNullFields', 'false')) AS values_3,
    NOT antecedent_4 OR c1_4 AS verdict_4,
    COALESCE(antecedent_4, FALSE) AS exercised_4,
    CASE
      WHEN antecedent_4 AND NOT c1_4
      THEN 'm.markerCoordinatorEpoch >= m.coordinatorEpoch (ProducerEpochProps:404)'
    END AS failed_conjunct_4,
    TO_JSON(STRUCT(`m.found`, `m.markerCoordinatorEpoch`, `m.coordinatorEpoch`), MAP('ignoreNullFields', 'false')) AS values_4
  FROM judged
), agreed AS (
  SELECT
    cluster,
    marker_id,
    MAX(topic) AS topic,
    MAX(`partition`) AS `partition`,
    MAX(partition_key) AS partition_key,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_1, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_1, FALSE))
      THEN FALSE
    END AS verdict_1,
    BOOL_AND(exercised_1) AS exercised_1,
    MAX(failed_conjunct_1) AS failed_conjunct_1,
    MAX(values_1) AS values_1,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_2, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_2, FALSE))
      THEN FALSE
    END AS verdict_2,
    BOOL_AND(exercised_2) AS exercised_2,
    MAX(failed_conjunct_2) AS failed_conjunct_2,
    MAX(values_2) AS values_2,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_3, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_3, FALSE))
      THEN FALSE
    END AS verdict_3,
    BOOL_AND(exercised_3) AS exercised_3,
    MAX(failed_conjunct_3) AS failed_conjunct_3,
    MAX(values_3) AS values_3,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_4, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_4, FALSE))
      THEN FALSE
    END AS verdict_4,
    BOOL_AND(exercised_4) AS exercised_4,
    MAX(failed_conjunct_4) AS failed_conjunct_4,
    MAX(values_4) AS values_4
  FROM weighed
  GROUP BY
    cluster,
    marker_id
)
SELECT
  each.`definition` AS definition,
  cluster,
  scope,
  witness,
  from_position,
  to_position,
  from_time,
  to_time,
  each.`verdict` AS verdict,
  each.`exercised` AS exercised,
  each.`failed_conjunct` AS failed_conjunct,
  each.`values` AS `values`,
  evidence
FROM (
  SELECT
    cluster,
    TO_JSON(
      STRUCT(
        COALESCE(agreed.topic, transaction_markers.topic) AS topic,
        COALESCE(agreed.`partition`, transaction_markers.`partition`) AS `partition`,
        COALESCE(agreed.partition_key, transaction_markers.partition_key) AS partition_key
      ),
      MAP('ignoreNullFields', 'false')
    ) AS scope,
    TO_JSON(STRUCT(marker_id AS m), MAP('ignoreNullFields', 'false')) AS witness,
    agreed.from_position,
    agreed.to_position,
    COALESCE(agreed.from_time, transaction_markers.from_time) AS from_time,
    COALESCE(agreed.to_time, transaction_markers.to_time) AS to_time,
    TO_JSON(
      STRUCT(
        transaction_markers.transactional_id,
        transaction_markers.producer_id,
        transaction_markers.producer_epoch,
        transaction_markers.transaction_partition,
        transaction_markers.due_type,
        transaction_markers.marker_position,
        transaction_markers.marker_at
      ),
      MAP('ignoreNullFields', 'false')
    ) AS evidence,
    EXPLODE(
      ARRAY(
        NAMED_STRUCT(
          'definition',
          'every_marker_is_written',
          'verdict',
          agreed.verdict_1,
          'exercised',
          COALESCE(agreed.exercised_1, FALSE),
          'failed_conjunct',
          CASE WHEN NOT agreed.verdict_1 THEN agreed.failed_conjunct_1 END,
          'values',
          agreed.values_1
        ),
        NAMED_STRUCT(
          'definition',
          'marker_of_the_right_type',
          'verdict',
          agreed.verdict_2,
          'exercised',
          COALESCE(agreed.exercised_2, FALSE),
          'failed_conjunct',
          CASE WHEN NOT agreed.verdict_2 THEN agreed.failed_conjunct_2 END,
          'values',
          agreed.values_2
        ),
        NAMED_STRUCT(
          'definition',
          'one_marker_each',
          'verdict',
          agreed.verdict_3,
          'exercised',
          COALESCE(agreed.exercised_3, FALSE),
          'failed_conjunct',
          CASE WHEN NOT agreed.verdict_3 THEN agreed.failed_conjunct_3 END,
          'values',
          agreed.values_3
        ),
        NAMED_STRUCT(
          'definition',
          'marker_coordinator_epoch_in_order',
          'verdict',
          agreed.verdict_4,
          'exercised',
          COALESCE(agreed.exercised_4, FALSE),
          'failed_conjunct',
          CASE WHEN NOT agreed.verdict_4 THEN agreed.failed_conjunct_4 END,
          'values',
          agreed.values_4
        )
      )
    ) AS each
  FROM silver.transaction_markers AS transaction_markers
  FULL OUTER JOIN agreed
    USING (cluster, marker_id)
) AS fanned
