-- generated from ProducerStateIsKept in spec/producer_epoch/PartitionRules.tla by `tlasql compile`; do not edit
--
-- ProducerStateIsKept == \A s \in producerSnapshots : s.due => s.present /\ s.agrees
WITH frame AS (
  SELECT
    cluster,
    topic,
    `partition`,
    partition_key,
    snapshot_id,
    from_position,
    to_position,
    from_time,
    to_time,
    due AS `s.due`,
    present AS `s.present`,
    agrees AS `s.agrees`
  FROM silver.producer_snapshots
), judged AS (
  SELECT
    *,
    `s.due` AS antecedent,
    `s.present` AS c1,
    `s.agrees` AS c2
  FROM frame
), weighed AS (
  SELECT
    cluster,
    topic,
    `partition`,
    partition_key,
    snapshot_id,
    from_position,
    to_position,
    from_time,
    to_time,
    `s.due`,
    `s.present`,
    `s.agrees`,
    NOT antecedent OR (
      c1 AND c2
    ) AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 's.present' WHEN antecedent AND NOT c2 THEN 's.agrees' END AS failed_conjunct
  FROM judged
), agreed AS (
  SELECT
    cluster,
    snapshot_id,
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
        's.due',
        `s.due`,
        's.present',
        `s.present`,
        's.agrees',
        `s.agrees`
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
    snapshot_id
)
SELECT
  cluster,
  TO_JSON(
    STRUCT(
      COALESCE(agreed.first_state.`topic`, producer_snapshots.topic) AS topic,
      COALESCE(agreed.first_state.`partition`, producer_snapshots.`partition`) AS `partition`,
      COALESCE(agreed.first_state.`partition_key`, producer_snapshots.partition_key) AS partition_key
    ),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN TO_JSON(STRUCT(snapshot_id AS s), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, producer_snapshots.from_time) AS from_time,
  COALESCE(agreed.to_time, producer_snapshots.to_time) AS to_time,
  agreed.verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE WHEN NOT agreed.verdict THEN agreed.first_state.`failed_conjunct` END AS failed_conjunct,
  CASE WHEN agreed.verdict IS NULL THEN COALESCE(producer_snapshots.unknown_reason, 'not_captured') END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict, FALSE)
    THEN TO_JSON(
      STRUCT(
        agreed.first_state.`s.due` AS `s.due`,
        agreed.first_state.`s.present` AS `s.present`,
        agreed.first_state.`s.agrees` AS `s.agrees`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN TO_JSON(
      STRUCT(producer_snapshots.producer_id, producer_snapshots.snapshot_offset, producer_snapshots.file),
      MAP('ignoreNullFields', 'false')
    )
  END AS evidence
FROM silver.producer_snapshots AS producer_snapshots
FULL OUTER JOIN agreed
  USING (cluster, snapshot_id)
