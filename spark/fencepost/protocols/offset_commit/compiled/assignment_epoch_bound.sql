-- generated from AssignmentEpochBound in spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
--
-- AssignmentEpochBound ==
--     \A m \in DOMAIN owned : \A p \in owned[m] :
--         assignmentEpoch[m][p] <= memberEpoch[m]
WITH frame AS (
  SELECT
    cluster,
    group_id,
    life,
    from_position,
    to_position,
    from_time,
    to_time,
    member_id AS m,
    partition_key AS p,
    assignment_epoch AS `assignmentEpoch[m][p]`,
    member_epoch AS `memberEpoch[m]`,
    TO_JSON(
      STRUCT(coordinator_partition, member_id, topic, `partition`, pending_revocation),
      MAP('ignoreNullFields', 'false')
    ) AS evidence
  FROM silver.owned_partitions
), judged AS (
  SELECT
    *,
    `assignmentEpoch[m][p]` <= `memberEpoch[m]` AS c1
  FROM frame
), weighed AS (
  SELECT
    *,
    c1 AS verdict
  FROM judged
)
SELECT
  cluster,
  TO_JSON(STRUCT(group_id, life), MAP('ignoreNullFields', 'false')) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN TO_JSON(STRUCT(m, p), MAP('ignoreNullFields', 'false')) END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  TRUE AS exercised,
  CASE WHEN NOT verdict THEN CASE WHEN NOT c1 THEN 'assignmentEpoch[m][p] <= memberEpoch[m]' END END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'not_captured' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(STRUCT(`assignmentEpoch[m][p]`, `memberEpoch[m]`), MAP('ignoreNullFields', 'false'))
  END AS observed,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN evidence END AS evidence
FROM weighed
WHERE
  NOT from_position IS NULL
UNION ALL
SELECT
  cluster,
  TO_JSON(STRUCT(group_id, life), MAP('ignoreNullFields', 'false')) AS scope,
  CAST(NULL AS STRING) AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS STRING) AS failed_conjunct,
  'not_captured' AS reason,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence
FROM silver.coverage
WHERE
  NOT COALESCE(covered, FALSE)
  OR from_position IS NULL
  OR cluster IS NULL
  OR group_id IS NULL
  OR life IS NULL
UNION ALL
SELECT
  cluster,
  TO_JSON(STRUCT(group_id, life), MAP('ignoreNullFields', 'false')) AS scope,
  CAST(NULL AS STRING) AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  CAST(NULL AS BOOLEAN) AS verdict,
  FALSE AS exercised,
  CAST(NULL AS STRING) AS failed_conjunct,
  'not_captured' AS reason,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence
FROM silver.owned_partitions
WHERE
  from_position IS NULL
