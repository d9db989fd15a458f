-- generated from PartitionEpochGrows in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
--
-- PartitionEpochGrows ==
--     \A t \in DOMAIN newestTopicId \cap DOMAIN newestTopicId' :
--         newestTopicId'[t] # newestTopicId[t] => newestPartitionEpoch'[t] > newestPartitionEpoch[t]
WITH frame AS (
  SELECT
    cluster,
    log,
    from_position,
    to_position,
    from_time,
    to_time,
    LEAD(from_position) OVER successive AS next_from_position,
    LEAD(to_position) OVER successive AS next_to_position,
    LEAD(from_time) OVER successive AS next_from_time,
    LEAD(to_time) OVER successive AS next_to_time,
    topic AS t,
    topic_id AS `newestTopicId[t]`,
    LEAD(topic_id) OVER successive AS `newestTopicId'[t]`,
    first_partition_epoch AS `newestPartitionEpoch[t]`,
    LEAD(first_partition_epoch) OVER successive AS `newestPartitionEpoch'[t]`,
    TO_JSON(
      STRUCT(topic_id, previous_topic_id, created_by, created_by_client_id),
      MAP('ignoreNullFields', 'false')
    ) AS evidence
  FROM silver.topic_incarnations
  WINDOW successive AS (PARTITION BY cluster, log, topic ORDER BY from_position)
), judged AS (
  SELECT
    *,
    `newestTopicId'[t]` = `newestTopicId[t]` AND `newestPartitionEpoch'[t]` = `newestPartitionEpoch[t]` AS unchanged,
    NOT `newestTopicId'[t]` = `newestTopicId[t]` AS antecedent,
    `newestPartitionEpoch'[t]` > `newestPartitionEpoch[t]` AS c1
  FROM frame
  WHERE
    next_from_position = to_position AND NOT cluster IS NULL AND NOT log IS NULL AND NOT t IS NULL
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
  TO_JSON(STRUCT(log), MAP('ignoreNullFields', 'false')) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN TO_JSON(STRUCT(t), MAP('ignoreNullFields', 'false')) END AS witness,
  next_from_position AS from_position,
  next_to_position AS to_position,
  next_from_time AS from_time,
  next_to_time AS to_time,
  verdict,
  COALESCE(antecedent AND NOT unchanged, FALSE) AS exercised,
  CASE
    WHEN NOT verdict
    THEN CASE WHEN antecedent AND NOT c1 THEN 'newestPartitionEpoch\'[t] > newestPartitionEpoch[t]' END
  END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_captured' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(
      STRUCT(`newestTopicId[t]`, `newestTopicId'[t]`, `newestPartitionEpoch[t]`, `newestPartitionEpoch'[t]`),
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
  TO_JSON(STRUCT(log), MAP('ignoreNullFields', 'false')) AS scope,
  CAST(NULL AS STRING) AS witness,
  from_position,
  to_position + 1 AS to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS STRING) AS failed_conjunct,
  COALESCE(why_uncovered, 'not_captured') AS reason,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence
FROM silver.metadata_coverage
WHERE
  (
    NOT COALESCE(covered, FALSE) OR from_position IS NULL OR cluster IS NULL OR log IS NULL
  )
  AND (
    log = 'AAAAAAAAAAAAAAAAAAAAAQ:__cluster_metadata-0' OR log IS NULL
  )
UNION ALL
SELECT
  cluster,
  TO_JSON(STRUCT(log), MAP('ignoreNullFields', 'false')) AS scope,
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
FROM silver.topic_incarnations
WHERE
  from_position IS NULL OR topic IS NULL OR cluster IS NULL OR log IS NULL
