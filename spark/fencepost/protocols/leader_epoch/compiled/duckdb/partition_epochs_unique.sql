-- generated from PartitionEpochsUnique in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
--
-- PartitionEpochsUnique ==
--     \A epoch \in DOMAIN partitionsWith : \A p \in partitionsWith[epoch] : \A q \in partitionsWith[epoch] : p = q
WITH frame AS (
  SELECT
    partitions.cluster,
    partitions.log,
    GREATEST(partitions.from_position, partitions_2.from_position) AS from_position,
    LEAST(partitions.to_position, partitions_2.to_position) AS to_position,
    CASE GREATEST(partitions.from_position, partitions_2.from_position)
      WHEN partitions.from_position
      THEN partitions.from_time
      WHEN partitions_2.from_position
      THEN partitions_2.from_time
    END AS from_time,
    CASE LEAST(partitions.to_position, partitions_2.to_position)
      WHEN partitions.to_position
      THEN partitions.to_time
      WHEN partitions_2.to_position
      THEN partitions_2.to_time
    END AS to_time,
    partitions.partition_epoch AS epoch,
    partitions.partition_key AS p,
    partitions_2.partition_key AS q,
    CAST(JSON_OBJECT(
      'topic',
      partitions.topic,
      'topic_id',
      partitions.topic_id,
      'partition',
      partitions."partition",
      'leader',
      partitions.leader,
      'leader_epoch',
      partitions.leader_epoch,
      'kraft_partition_epoch',
      partitions.kraft_partition_epoch
    ) AS TEXT) AS evidence
  FROM silver.partitions AS partitions
  JOIN silver.partitions AS partitions_2
    ON partitions.cluster = partitions_2.cluster
    AND partitions.log = partitions_2.log
    AND partitions.partition_epoch = partitions_2.partition_epoch
    AND partitions.partition_key <= partitions_2.partition_key
    AND (
      partitions_2.to_position IS NULL OR partitions.from_position < partitions_2.to_position
    )
    AND (
      partitions.to_position IS NULL OR partitions_2.from_position < partitions.to_position
    )
  WHERE
    NOT partitions.from_position IS NULL AND NOT partitions_2.from_position IS NULL
), judged AS (
  SELECT
    *,
    p = q AS c1
  FROM frame
), weighed AS (
  SELECT
    *,
    c1 AS verdict
  FROM judged
)
SELECT
  cluster,
  CAST(JSON_OBJECT('log', log) AS TEXT) AS scope,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN CAST(JSON_OBJECT('epoch', epoch, 'p', p, 'q', q) AS TEXT)
  END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  TRUE AS exercised,
  CASE WHEN NOT verdict THEN CASE WHEN NOT c1 THEN 'p = q' END END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_captured' END AS reason,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN '{}' END AS observed,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN evidence END AS evidence
FROM weighed
WHERE
  NOT from_position IS NULL
UNION ALL
SELECT
  cluster,
  CAST(JSON_OBJECT('log', log) AS TEXT) AS scope,
  CAST(NULL AS TEXT) AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS TEXT) AS failed_conjunct,
  COALESCE(why_uncovered, 'not_captured') AS reason,
  CAST(NULL AS TEXT) AS observed,
  CAST(NULL AS TEXT) AS evidence
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
  CAST(JSON_OBJECT('log', log) AS TEXT) AS scope,
  CAST(NULL AS TEXT) AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS TEXT) AS failed_conjunct,
  'not_captured' AS reason,
  CAST(NULL AS TEXT) AS observed,
  CAST(NULL AS TEXT) AS evidence
FROM silver.partitions
WHERE
  from_position IS NULL
  OR partition_epoch IS NULL
  OR partition_key IS NULL
  OR cluster IS NULL
  OR log IS NULL
