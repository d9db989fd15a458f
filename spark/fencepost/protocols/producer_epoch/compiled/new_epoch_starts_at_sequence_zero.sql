-- generated from NewEpochStartsAtSequenceZero in spec/producer_epoch/BatchRules.tla by `tlasql compile`; do not edit
--
-- NewEpochStartsAtSequenceZero ==
--     \A p \in DOMAIN appendedEpoch : \A k \in DOMAIN appendedEpoch[p] \cap DOMAIN appendedEpoch'[p] :
--         /\ Appends(p, k)
--         /\ appendedEpoch'[p][k] > appendedEpoch[p][k] \/ lastSequence[p][k] = -1
--         => firstSequence'[p][k] = 0
WITH frame AS (
  SELECT
    cluster,
    topic,
    `partition`,
    partition_key,
    from_position,
    to_position,
    from_time,
    to_time,
    LEAD(from_position) OVER successive AS next_from_position,
    LEAD(to_position) OVER successive AS next_to_position,
    LEAD(from_time) OVER successive AS next_from_time,
    LEAD(to_time) OVER successive AS next_to_time,
    partition_key AS p,
    producer_id AS k,
    last_offset AS `lastOffset[p][k]`,
    LEAD(last_offset) OVER successive AS `lastOffset'[p][k]`,
    marker AS `newestIsMarker[p][k]`,
    LEAD(marker) OVER successive AS `newestIsMarker'[p][k]`,
    producer_epoch AS `appendedEpoch[p][k]`,
    LEAD(producer_epoch) OVER successive AS `appendedEpoch'[p][k]`,
    last_sequence AS `lastSequence[p][k]`,
    LEAD(last_sequence) OVER successive AS `lastSequence'[p][k]`,
    first_sequence AS `firstSequence[p][k]`,
    LEAD(first_sequence) OVER successive AS `firstSequence'[p][k]`,
    TO_JSON(
      STRUCT(producer_id, last_offset, transactional, marker, silent_ms, cause),
      MAP('ignoreNullFields', 'false')
    ) AS evidence
  FROM silver.producer_states
  WINDOW successive AS (
    PARTITION BY cluster, topic, `partition`, partition_key, partition_key, producer_id
    ORDER BY from_position
  )
), judged AS (
  SELECT
    *,
    `lastOffset'[p][k]` = `lastOffset[p][k]`
    AND `newestIsMarker'[p][k]` = `newestIsMarker[p][k]`
    AND `appendedEpoch'[p][k]` = `appendedEpoch[p][k]`
    AND `lastSequence'[p][k]` = `lastSequence[p][k]`
    AND `firstSequence'[p][k]` = `firstSequence[p][k]` AS unchanged,
    (
      `lastOffset'[p][k]` > `lastOffset[p][k]` AND NOT `newestIsMarker'[p][k]`
    )
    AND (
      `appendedEpoch'[p][k]` > `appendedEpoch[p][k]` OR `lastSequence[p][k]` = -1
    ) AS antecedent,
    `firstSequence'[p][k]` = 0 AS c1
  FROM frame
  WHERE
    next_from_position = to_position
    AND NOT cluster IS NULL
    AND NOT topic IS NULL
    AND NOT `partition` IS NULL
    AND NOT partition_key IS NULL
    AND NOT p IS NULL
    AND NOT k IS NULL
), weighed AS (
  SELECT
    *,
    unchanged OR (
      NOT antecedent OR c1
    ) AS verdict
  FROM judged
)
SELECT
  cluster,
  TO_JSON(STRUCT(topic, `partition`, partition_key), MAP('ignoreNullFields', 'false')) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN TO_JSON(STRUCT(p, k), MAP('ignoreNullFields', 'false')) END AS witness,
  next_from_position AS from_position,
  next_to_position AS to_position,
  next_from_time AS from_time,
  next_to_time AS to_time,
  verdict,
  COALESCE(antecedent AND NOT unchanged, FALSE) AS exercised,
  CASE WHEN NOT verdict THEN CASE WHEN antecedent AND NOT c1 THEN 'firstSequence\'[p][k] = 0' END END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_captured' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(
      STRUCT(
        `lastOffset[p][k]`,
        `lastOffset'[p][k]`,
        `newestIsMarker[p][k]`,
        `newestIsMarker'[p][k]`,
        `appendedEpoch[p][k]`,
        `appendedEpoch'[p][k]`,
        `lastSequence[p][k]`,
        `lastSequence'[p][k]`,
        `firstSequence[p][k]`,
        `firstSequence'[p][k]`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN evidence END AS evidence
FROM weighed
WHERE
  NOT from_position IS NULL
UNION ALL
SELECT
  cluster,
  TO_JSON(STRUCT(topic, `partition`, partition_key), MAP('ignoreNullFields', 'false')) AS scope,
  CAST(NULL AS STRING) AS witness,
  from_position,
  to_position + 1 AS to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS STRING) AS failed_conjunct,
  'not_captured' AS reason,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence
FROM silver.log_coverage
WHERE
  (
    NOT COALESCE(covered, FALSE)
    OR from_position IS NULL
    OR cluster IS NULL
    OR topic IS NULL
    OR `partition` IS NULL
    OR partition_key IS NULL
  )
  AND (
    NOT topic = '__transaction_state' OR topic IS NULL
  )
UNION ALL
SELECT
  cluster,
  TO_JSON(STRUCT(topic, `partition`, partition_key), MAP('ignoreNullFields', 'false')) AS scope,
  CAST(NULL AS STRING) AS witness,
  from_position,
  to_position + 1 AS to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS STRING) AS failed_conjunct,
  'not_captured' AS reason,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence
FROM silver.producer_states
WHERE
  from_position IS NULL
  OR partition_key IS NULL
  OR producer_id IS NULL
  OR cluster IS NULL
  OR topic IS NULL
  OR `partition` IS NULL
