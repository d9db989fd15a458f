-- generated from spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
-- one pass for group_epoch_never_falls, target_assignment_epoch_never_falls
WITH frame AS (
  SELECT
    cluster,
    group_id,
    life,
    from_position,
    to_position,
    from_time,
    to_time,
    LEAD(from_position) OVER successive AS next_from_position,
    LEAD(to_position) OVER successive AS next_to_position,
    LEAD(from_time) OVER successive AS next_from_time,
    LEAD(to_time) OVER successive AS next_to_time,
    group_epoch AS "groupEpoch",
    LEAD(group_epoch) OVER successive AS "groupEpoch'",
    target_assignment_epoch AS "targetAssignmentEpoch",
    LEAD(target_assignment_epoch) OVER successive AS "targetAssignmentEpoch'",
    CAST(JSON_OBJECT('coordinator_partition', coordinator_partition) AS TEXT) AS evidence
  FROM silver.consumer_groups
  WINDOW successive AS (PARTITION BY cluster, group_id, life ORDER BY from_position NULLS FIRST)
), judged AS (
  SELECT
    *,
    "groupEpoch'" = "groupEpoch" AS unchanged_1,
    "targetAssignmentEpoch'" = "targetAssignmentEpoch" AS unchanged_2,
    "groupEpoch'" >= "groupEpoch" AS c1_1,
    "targetAssignmentEpoch'" >= "targetAssignmentEpoch" AS c1_2
  FROM frame
), weighed AS (
  SELECT
    *,
    unchanged_1 OR c1_1 AS verdict_1,
    unchanged_2 OR c1_2 AS verdict_2
  FROM judged
)
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  scope,
  STRUCT_EXTRACT(each, 'witness') AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  STRUCT_EXTRACT(each, 'verdict') AS verdict,
  STRUCT_EXTRACT(each, 'exercised') AS exercised,
  STRUCT_EXTRACT(each, 'failed_conjunct') AS failed_conjunct,
  STRUCT_EXTRACT(each, 'reason') AS reason,
  STRUCT_EXTRACT(each, 'observed') AS observed,
  STRUCT_EXTRACT(each, 'evidence') AS evidence
FROM (
  SELECT
    cluster,
    scope,
    from_position,
    to_position,
    from_time,
    to_time,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      CAST(JSON_OBJECT('group_id', group_id, 'life', life) AS TEXT) AS scope,
      next_from_position AS from_position,
      next_to_position AS to_position,
      next_from_time AS from_time,
      next_to_time AS to_time,
      [
        CASE
          WHEN next_from_position = to_position AND NOT cluster IS NULL AND NOT group_id IS NULL AND NOT life IS NULL
          THEN {'definition': 'group_epoch_never_falls', 'witness': CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN '{}' END, 'verdict': verdict_1, 'exercised': COALESCE(NOT unchanged_1, FALSE), 'failed_conjunct': CASE WHEN NOT verdict_1 THEN CASE WHEN NOT c1_1 THEN 'groupEpoch'' >= groupEpoch' END END, 'reason': CASE WHEN verdict_1 IS NULL THEN 'not_captured' END, 'observed': CASE
            WHEN NOT COALESCE(verdict_1, FALSE)
            THEN CAST(JSON_OBJECT('groupEpoch', "groupEpoch", 'groupEpoch''', "groupEpoch'") AS TEXT)
          END, 'evidence': CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN evidence END}
        END,
        CASE
          WHEN next_from_position = to_position AND NOT cluster IS NULL AND NOT group_id IS NULL AND NOT life IS NULL
          THEN {'definition': 'target_assignment_epoch_never_falls', 'witness': CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN '{}' END, 'verdict': verdict_2, 'exercised': COALESCE(NOT unchanged_2, FALSE), 'failed_conjunct': CASE
            WHEN NOT verdict_2
            THEN CASE WHEN NOT c1_2 THEN 'targetAssignmentEpoch'' >= targetAssignmentEpoch' END
          END, 'reason': CASE WHEN verdict_2 IS NULL THEN 'not_captured' END, 'observed': CASE
            WHEN NOT COALESCE(verdict_2, FALSE)
            THEN CAST(JSON_OBJECT('targetAssignmentEpoch', "targetAssignmentEpoch", 'targetAssignmentEpoch''', "targetAssignmentEpoch'") AS TEXT)
          END, 'evidence': CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN evidence END}
        END
      ] AS rows_
    FROM weighed
    WHERE
      NOT from_position IS NULL
  ) AS judged_together
) AS fanned
WHERE
  NOT each IS NULL
UNION ALL
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  scope,
  witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  exercised,
  failed_conjunct,
  reason,
  observed,
  evidence
FROM (
  SELECT
    cluster,
    scope,
    witness,
    from_position,
    to_position,
    from_time,
    to_time,
    verdict,
    exercised,
    failed_conjunct,
    reason,
    observed,
    evidence,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      CAST(JSON_OBJECT('group_id', group_id, 'life', life) AS TEXT) AS scope,
      CAST(NULL AS TEXT) AS witness,
      from_position,
      to_position + 1 AS to_position,
      from_time,
      to_time,
      CAST(NULL AS BOOLEAN) AS verdict,
      FALSE AS exercised,
      CAST(NULL AS TEXT) AS failed_conjunct,
      'not_captured' AS reason,
      CAST(NULL AS TEXT) AS observed,
      CAST(NULL AS TEXT) AS evidence,
      [{'definition': 'group_epoch_never_falls'}, {'definition': 'target_assignment_epoch_never_falls'}] AS rows_
    FROM silver.coverage
    WHERE
      NOT COALESCE(covered, FALSE)
      OR from_position IS NULL
      OR cluster IS NULL
      OR group_id IS NULL
      OR life IS NULL
  ) AS judged_together
) AS fanned
UNION ALL
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  scope,
  witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  exercised,
  failed_conjunct,
  reason,
  observed,
  evidence
FROM (
  SELECT
    cluster,
    scope,
    witness,
    from_position,
    to_position,
    from_time,
    to_time,
    verdict,
    exercised,
    failed_conjunct,
    reason,
    observed,
    evidence,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      CAST(JSON_OBJECT('group_id', group_id, 'life', life) AS TEXT) AS scope,
      CAST(NULL AS TEXT) AS witness,
      from_position,
      to_position + 1 AS to_position,
      from_time,
      to_time,
      CAST(NULL AS BOOLEAN) AS verdict,
      FALSE AS exercised,
      CAST(NULL AS TEXT) AS failed_conjunct,
      'not_captured' AS reason,
      CAST(NULL AS TEXT) AS observed,
      CAST(NULL AS TEXT) AS evidence,
      [{'definition': 'group_epoch_never_falls'}, {'definition': 'target_assignment_epoch_never_falls'}] AS rows_
    FROM silver.consumer_groups
    WHERE
      from_position IS NULL OR cluster IS NULL OR group_id IS NULL OR life IS NULL
  ) AS judged_together
) AS fanned
