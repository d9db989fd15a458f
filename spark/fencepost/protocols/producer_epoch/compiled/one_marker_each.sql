-- generated from OneMarkerEach in spec/producer_epoch/MarkerRules.tla by `tlasql compile`; do not edit
--
-- OneMarkerEach == \A m \in transactionMarkers : m.found >= 1 => m.found <= m.writers
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
    writers AS `m.writers`
  FROM silver.transaction_markers
), judged AS (
  SELECT
    *,
    `m.found` >= 1 AS antecedent,
    `m.found` <= `m.writers` AS c1
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
    `m.found`,
    `m.writers`,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'm.found <= m.writers' END AS failed_conjunct
  FROM judged
), agreed AS (
  SELECT
    cluster,
    marker_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE(
      NAMED_STRUCT(
        'topic',
        topic,
        'partition',
        `partition`,
        'partition_key',
        partition_key,
        'failed_conjunct',
        failed_conjunct,
        'm.found',
        `m.found`,
        'm.writers',
        `m.writers`
      )
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised
  FROM weighed
  GROUP BY
    cluster,
    marker_id
)
SELECT
  cluster,
  TO_JSON(
    STRUCT(
      COALESCE(agreed.first_state.`topic`, transaction_markers.topic) AS topic,
      COALESCE(agreed.first_state.`partition`, transaction_markers.`partition`) AS `partition`,
      COALESCE(agreed.first_state.`partition_key`, transaction_markers.partition_key) AS partition_key
    ),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN TO_JSON(STRUCT(marker_id AS m), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, transaction_markers.from_time) AS from_time,
  COALESCE(agreed.to_time, transaction_markers.to_time) AS to_time,
  agreed.verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE WHEN NOT agreed.verdict THEN agreed.first_state.`failed_conjunct` END AS failed_conjunct,
  CASE WHEN agreed.verdict IS NULL THEN COALESCE(transaction_markers.unknown_reason, 'not_captured') END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict, FALSE)
    THEN TO_JSON(
      STRUCT(agreed.first_state.`m.found` AS `m.found`, agreed.first_state.`m.writers` AS `m.writers`),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN TO_JSON(
      STRUCT(
        transaction_markers.transactional_id,
        transaction_markers.producer_id,
        transaction_markers.producer_epoch,
        transaction_markers.transaction_partition,
        transaction_markers.due_type,
        transaction_markers.marker_position,
        transaction_markers.marker_at,
        transaction_markers.wrong_type,
        transaction_markers.wrong_position,
        transaction_markers.wrong_at,
        transaction_markers.wrong_by_operator,
        transaction_markers.wrong_client_id,
        transaction_markers.wrong_connection,
        transaction_markers.wrong_first_offset,
        transaction_markers.wrong_last_offset,
        transaction_markers.wrong_records
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS evidence
FROM silver.transaction_markers AS transaction_markers
FULL OUTER JOIN agreed
  USING (cluster, marker_id)
