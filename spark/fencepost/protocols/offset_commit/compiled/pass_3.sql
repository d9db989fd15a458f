-- generated from spec/offset_commit/OffsetCommitProps.tla:1 by `tlasql compile`; do not edit
-- one pass for epoch_order, member_epoch_never_falls
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
    member_id AS m,
    revocation_epoch AS `revocationEpoch[m]`,
    member_epoch AS `memberEpoch[m]`,
    target_assignment_epoch AS `targetAssignmentEpoch`,
    group_epoch AS `groupEpoch`,
    LEAD(member_epoch) OVER successive AS `memberEpoch'[m]`,
    TO_JSON(STRUCT(coordinator_partition, client_id, instance_id, `state`), MAP('ignoreNullFields', 'false')) AS evidence
  FROM silver.group_members
  WINDOW successive AS (PARTITION BY cluster, group_id, life, member_id ORDER BY from_position)
), judged AS (
  SELECT
    *,
    `memberEpoch'[m]` = `memberEpoch[m]` AS unchanged_2,
    `revocationEpoch[m]` < `memberEpoch[m]` AS c1_1,
    `memberEpoch[m]` <= `targetAssignmentEpoch` AS c2_1,
    `targetAssignmentEpoch` <= `groupEpoch` AS c3_1,
    `memberEpoch'[m]` >= `memberEpoch[m]` AS c1_2
  FROM frame
), weighed AS (
  SELECT
    *,
    c1_1 AND c2_1 AND c3_1 AS verdict_1,
    unchanged_2 OR c1_2 AS verdict_2
  FROM judged
)
SELECT
  each.`definition` AS definition,
  cluster,
  scope,
  each.`witness` AS witness,
  each.`from_position` AS from_position,
  each.`to_position` AS to_position,
  each.`from_time` AS from_time,
  each.`to_time` AS to_time,
  each.`verdict` AS verdict,
  each.`exercised` AS exercised,
  each.`failed_conjunct` AS failed_conjunct,
  each.`values` AS `values`,
  each.`evidence` AS evidence
FROM (
  SELECT
    cluster,
    TO_JSON(STRUCT(group_id, life), MAP('ignoreNullFields', 'false')) AS scope,
    EXPLODE(
      ARRAY(
        NAMED_STRUCT(
          'definition',
          'epoch_order',
          'witness',
          CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN TO_JSON(STRUCT(m), MAP('ignoreNullFields', 'false')) END,
          'from_position',
          from_position,
          'to_position',
          to_position,
          'from_time',
          from_time,
          'to_time',
          to_time,
          'verdict',
          verdict_1,
          'exercised',
          TRUE,
          'failed_conjunct',
          CASE
            WHEN NOT verdict_1
            THEN CASE
              WHEN NOT c1_1
              THEN 'revocationEpoch[m] < memberEpoch[m] (OffsetCommitProps:236)'
              WHEN NOT c2_1
              THEN 'memberEpoch[m] <= targetAssignmentEpoch (OffsetCommitProps:237)'
              WHEN NOT c3_1
              THEN 'targetAssignmentEpoch <= groupEpoch (OffsetCommitProps:238)'
            END
          END,
          'values',
          CASE
            WHEN NOT COALESCE(verdict_1, FALSE)
            THEN TO_JSON(
              STRUCT(`revocationEpoch[m]`, `memberEpoch[m]`, `targetAssignmentEpoch`, `groupEpoch`),
              MAP('ignoreNullFields', 'false')
            )
          END,
          'evidence',
          CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN evidence END
        ),
        CASE
          WHEN next_from_position = to_position
          THEN NAMED_STRUCT(
            'definition',
            'member_epoch_never_falls',
            'witness',
            CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN TO_JSON(STRUCT(m), MAP('ignoreNullFields', 'false')) END,
            'from_position',
            next_from_position,
            'to_position',
            next_to_position,
            'from_time',
            next_from_time,
            'to_time',
            next_to_time,
            'verdict',
            verdict_2,
            'exercised',
            COALESCE(NOT unchanged_2, FALSE),
            'failed_conjunct',
            CASE
              WHEN NOT verdict_2
              THEN CASE WHEN NOT c1_2 THEN 'memberEpoch\'[m] >= memberEpoch[m] (OffsetCommitProps:338)' END
            END,
            'values',
            CASE
              WHEN NOT COALESCE(verdict_2, FALSE)
              THEN TO_JSON(STRUCT(`memberEpoch[m]`, `memberEpoch'[m]`), MAP('ignoreNullFields', 'false'))
            END,
            'evidence',
            CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN evidence END
          )
        END
      )
    ) AS each
  FROM weighed
) AS fanned
WHERE
  NOT each IS NULL
UNION ALL
SELECT
  each.`definition` AS definition,
  cluster,
  scope,
  witness,
  from_position,
  each.`to_position` AS to_position,
  from_time,
  to_time,
  verdict,
  exercised,
  failed_conjunct,
  `values`,
  evidence
FROM (
  SELECT
    cluster,
    TO_JSON(STRUCT(group_id, life), MAP('ignoreNullFields', 'false')) AS scope,
    CAST(NULL AS STRING) AS witness,
    from_position,
    from_time,
    to_time,
    CAST(NULL AS BOOLEAN) AS verdict,
    FALSE AS exercised,
    CAST(NULL AS STRING) AS failed_conjunct,
    CAST(NULL AS STRING) AS `values`,
    CAST(NULL AS STRING) AS evidence,
    EXPLODE(
      ARRAY(
        NAMED_STRUCT('definition', 'epoch_order', 'to_position', to_position),
        NAMED_STRUCT('definition', 'member_epoch_never_falls', 'to_position', to_position + 1)
      )
    ) AS each
  FROM silver.coverage
  WHERE
    NOT COALESCE(covered, FALSE)
) AS fanned
