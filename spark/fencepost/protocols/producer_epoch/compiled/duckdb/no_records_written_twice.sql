-- generated from NoRecordsWrittenTwice in spec/producer_epoch/IdempotentProducerRules.tla by `tlasql compile`; do not edit
--
-- NoRecordsWrittenTwice == \A b \in localBumps : b.batches >= 1 => ~b.writtenTwice
WITH frame AS (
  SELECT
    cluster,
    topic,
    "partition",
    partition_key,
    local_bump_id,
    from_position,
    to_position,
    from_time,
    to_time,
    batches AS "b.batches",
    written_twice AS "b.writtenTwice"
  FROM silver.local_bumps
), judged AS (
  SELECT
    *,
    "b.batches" >= 1 AS antecedent,
    NOT "b.writtenTwice" AS c1
  FROM frame
), weighed AS (
  SELECT
    cluster,
    topic,
    "partition",
    partition_key,
    local_bump_id,
    from_position,
    to_position,
    from_time,
    to_time,
    "b.batches",
    "b.writtenTwice",
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN '~b.writtenTwice' END AS failed_conjunct
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    local_bump_id
  FROM silver.local_bumps
  GROUP BY
    cluster,
    local_bump_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    local_bump_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'topic': topic, 'partition': "partition", 'partition_key': partition_key, 'failed_conjunct': failed_conjunct, 'b.batches': "b.batches", 'b.writtenTwice': "b.writtenTwice"} AS first_state,
    CASE WHEN COALESCE(verdict, FALSE) THEN TRUE WHEN COALESCE(NOT verdict, FALSE) THEN FALSE END AS verdict,
    exercised AS exercised
  FROM weighed
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.local_bump_id IS NOT DISTINCT FROM weighed.local_bump_id
    )
  UNION ALL
  SELECT
    cluster,
    local_bump_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE(
      {'topic': topic, 'partition': "partition", 'partition_key': partition_key, 'failed_conjunct': failed_conjunct, 'b.batches': "b.batches", 'b.writtenTwice': "b.writtenTwice"}
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised
  FROM weighed
  WHERE
    EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.local_bump_id IS NOT DISTINCT FROM weighed.local_bump_id
    )
  GROUP BY
    cluster,
    local_bump_id
)
SELECT
  cluster,
  CAST(JSON_OBJECT(
    'topic',
    COALESCE(STRUCT_EXTRACT(agreed.first_state, 'topic'), local_bumps.topic),
    'partition',
    COALESCE(STRUCT_EXTRACT(agreed.first_state, 'partition'), local_bumps."partition"),
    'partition_key',
    COALESCE(STRUCT_EXTRACT(agreed.first_state, 'partition_key'), local_bumps.partition_key)
  ) AS TEXT) AS scope,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN CAST(JSON_OBJECT('b', local_bump_id) AS TEXT)
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, local_bumps.from_time) AS from_time,
  COALESCE(agreed.to_time, local_bumps.to_time) AS to_time,
  agreed.verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE WHEN NOT agreed.verdict THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct') END AS failed_conjunct,
  CASE WHEN agreed.verdict IS NULL THEN 'not_captured' END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict, FALSE)
    THEN CAST(JSON_OBJECT(
      'b.batches',
      STRUCT_EXTRACT(agreed.first_state, 'b.batches'),
      'b.writtenTwice',
      STRUCT_EXTRACT(agreed.first_state, 'b.writtenTwice')
    ) AS TEXT)
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN CAST(JSON_OBJECT(
      'producer_id',
      local_bumps.producer_id,
      'producer_epoch',
      local_bumps.producer_epoch,
      'previous_epoch',
      local_bumps.previous_epoch,
      'first_offset',
      local_bumps.first_offset,
      'last_offset',
      local_bumps.last_offset,
      'batches_again',
      local_bumps.batches_again,
      'records_again',
      local_bumps.records_again,
      'again_offset',
      local_bumps.again_offset,
      'original_offset',
      local_bumps.original_offset
    ) AS TEXT)
  END AS evidence
FROM silver.local_bumps AS local_bumps
FULL OUTER JOIN agreed
  USING (cluster, local_bump_id)
