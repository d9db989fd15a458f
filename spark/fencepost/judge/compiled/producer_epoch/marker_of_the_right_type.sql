-- generated from spec/producer_epoch/ProducerEpochProps.tla:377 by `tlasql compile`; do not edit
--
-- MarkerOfTheRightType == \A m \in transactionMarkers : m.found >= 1 \/ m.wrong >= 1 => m.wrong = 0
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
    found AS `m.found`,
    wrong AS `m.wrong`
  FROM silver.transaction_markers
), judged AS (
  SELECT
    *,
    `m.found` >= 1 OR `m.wrong` >= 1 AS antecedent,
    `m.wrong` = 0 AS c1
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
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'm.wrong = 0 (ProducerEpochProps:377)' END AS failed_conjunct,
    TO_JSON(STRUCT(`m.found`, `m.wrong`), MAP('ignoreNullFields', 'false')) AS `values`
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
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised,
    MAX(failed_conjunct) AS failed_conjunct,
    MAX(`values`) AS `values`
  FROM weighed
  GROUP BY
    cluster,
    marker_id
)
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
  agreed.verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE WHEN NOT agreed.verdict THEN agreed.failed_conjunct END AS failed_conjunct,
  agreed.`values`,
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
  ) AS evidence
FROM silver.transaction_markers AS transaction_markers
FULL OUTER JOIN agreed
  USING (cluster, marker_id)
