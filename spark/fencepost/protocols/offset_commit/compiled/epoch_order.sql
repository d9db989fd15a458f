-- generated from EpochOrder in spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
--
-- EpochOrder ==
--     \A m \in DOMAIN memberEpoch :
--         /\ revocationEpoch[m] < memberEpoch[m]
--         /\ memberEpoch[m] <= targetAssignmentEpoch
--         /\ targetAssignmentEpoch <= groupEpoch
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
    revocation_epoch AS `revocationEpoch[m]`,
    member_epoch AS `memberEpoch[m]`,
    target_assignment_epoch AS `targetAssignmentEpoch`,
    group_epoch AS `groupEpoch`,
    TO_JSON(
      STRUCT(coordinator_partition, member_id, client_id, instance_id, `state`),
      MAP('ignoreNullFields', 'false')
    ) AS evidence
  FROM silver.group_members
), judged AS (
  SELECT
    *,
    `revocationEpoch[m]` < `memberEpoch[m]` AS c1,
    `memberEpoch[m]` <= `targetAssignmentEpoch` AS c2,
    `targetAssignmentEpoch` <= `groupEpoch` AS c3
  FROM frame
), weighed AS (
  SELECT
    *,
    c1 AND c2 AND c3 AS verdict
  FROM judged
)
SELECT
  cluster,
  TO_JSON(STRUCT(group_id, life), MAP('ignoreNullFields', 'false')) AS scope,
  CASE WHEN NOT COALESCE(verdict, FALSE) THEN TO_JSON(STRUCT(m), MAP('ignoreNullFields', 'false')) END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  TRUE AS exercised,
  CASE
    WHEN NOT verdict
    THEN CASE
      WHEN NOT c1
      THEN 'revocationEpoch[m] < memberEpoch[m]'
      WHEN NOT c2
      THEN 'memberEpoch[m] <= targetAssignmentEpoch'
      WHEN NOT c3
      THEN 'targetAssignmentEpoch <= groupEpoch'
    END
  END AS failed_conjunct,
  CASE WHEN verdict IS NULL THEN 'cleaned_away' END AS reason,
  CASE
    WHEN NOT COALESCE(verdict, FALSE)
    THEN TO_JSON(
      STRUCT(`revocationEpoch[m]`, `memberEpoch[m]`, `targetAssignmentEpoch`, `groupEpoch`),
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
  'cleaned_away' AS reason,
  CAST(NULL AS STRING) AS observed,
  CAST(NULL AS STRING) AS evidence
FROM silver.group_members
WHERE
  from_position IS NULL
