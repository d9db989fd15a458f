-- generated from spec/leader_epoch/LeaderEpochProps.tla:1 by `tlasql compile`; do not edit
-- one pass for batch_leader_epochs_in_order, batch_leader_epoch_known
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
    partition_key AS p,
    leader_epoch AS "appendedLeaderEpoch[p]",
    LEAD(leader_epoch) OVER successive AS "appendedLeaderEpoch'[p]",
    given AS "leaderEpochGiven[p]",
    CAST(JSON_OBJECT(
      'topic',
      topic,
      'partition',
      "partition",
      'last_offset',
      last_offset,
      'broker_id',
      broker_id,
      'file',
      file,
      'byte_position',
      byte_position
    ) AS TEXT) AS evidence
  FROM silver.partition_batches
  WINDOW successive AS (PARTITION BY cluster, log, partition_key ORDER BY from_position NULLS FIRST)
), judged AS (
  SELECT
    *,
    "appendedLeaderEpoch'[p]" = "appendedLeaderEpoch[p]" AS unchanged_1,
    "appendedLeaderEpoch'[p]" >= "appendedLeaderEpoch[p]" AS c1_1,
    "appendedLeaderEpoch[p]" >= 0 AS antecedent_2,
    "leaderEpochGiven[p]" AS c1_2
  FROM frame
), weighed AS (
  SELECT
    *,
    unchanged_1 OR c1_1 AS verdict_1,
    NOT antecedent_2 OR c1_2 AS verdict_2
  FROM judged
)
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  scope,
  STRUCT_EXTRACT(each, 'witness') AS witness,
  STRUCT_EXTRACT(each, 'from_position') AS from_position,
  STRUCT_EXTRACT(each, 'to_position') AS to_position,
  STRUCT_EXTRACT(each, 'from_time') AS from_time,
  STRUCT_EXTRACT(each, 'to_time') AS to_time,
  STRUCT_EXTRACT(each, 'verdict') AS verdict,
  STRUCT_EXTRACT(each, 'exercised') AS exercised,
  STRUCT_EXTRACT(each, 'failed_conjunct') AS failed_conjunct,
  STRUCT_EXTRACT(each, 'values') AS "values",
  STRUCT_EXTRACT(each, 'evidence') AS evidence
FROM (
  SELECT
    cluster,
    CAST(JSON_OBJECT('log', log) AS TEXT) AS scope,
    UNNEST(
      [
        CASE
          WHEN next_from_position = to_position
          THEN {'definition': 'batch_leader_epochs_in_order', 'witness': CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN CAST(JSON_OBJECT('p', p) AS TEXT) END, 'from_position': next_from_position, 'to_position': next_to_position, 'from_time': next_from_time, 'to_time': next_to_time, 'verdict': verdict_1, 'exercised': COALESCE(NOT unchanged_1, FALSE), 'failed_conjunct': CASE
            WHEN NOT verdict_1
            THEN CASE WHEN NOT c1_1 THEN 'appendedLeaderEpoch''[p] >= appendedLeaderEpoch[p] (LeaderEpochProps:300)' END
          END, 'values': CASE
            WHEN NOT COALESCE(verdict_1, FALSE)
            THEN CAST(JSON_OBJECT('appendedLeaderEpoch[p]', "appendedLeaderEpoch[p]", 'appendedLeaderEpoch''[p]', "appendedLeaderEpoch'[p]") AS TEXT)
          END, 'evidence': CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN evidence END}
        END,
        {'definition': 'batch_leader_epoch_known', 'witness': CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN CAST(JSON_OBJECT('p', p) AS TEXT) END, 'from_position': from_position, 'to_position': to_position, 'from_time': from_time, 'to_time': to_time, 'verdict': verdict_2, 'exercised': COALESCE(antecedent_2, FALSE), 'failed_conjunct': CASE
          WHEN NOT verdict_2
          THEN CASE WHEN antecedent_2 AND NOT c1_2 THEN 'leaderEpochGiven[p] (LeaderEpochProps:313)' END
        END, 'values': CASE
          WHEN NOT COALESCE(verdict_2, FALSE)
          THEN CAST(JSON_OBJECT('appendedLeaderEpoch[p]', "appendedLeaderEpoch[p]", 'leaderEpochGiven[p]', "leaderEpochGiven[p]") AS TEXT)
        END, 'evidence': CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN evidence END}
      ]
    ) AS each
  FROM weighed
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
  STRUCT_EXTRACT(each, 'to_position') AS to_position,
  from_time,
  to_time,
  verdict,
  exercised,
  failed_conjunct,
  "values",
  evidence
FROM (
  SELECT
    cluster,
    CAST(JSON_OBJECT('log', log) AS TEXT) AS scope,
    CAST(NULL AS TEXT) AS witness,
    from_position,
    from_time,
    to_time,
    CAST(NULL AS BOOLEAN) AS verdict,
    FALSE AS exercised,
    CAST(NULL AS TEXT) AS failed_conjunct,
    CAST(NULL AS TEXT) AS "values",
    CAST(NULL AS TEXT) AS evidence,
    UNNEST(
      [
        {'definition': 'batch_leader_epochs_in_order', 'to_position': to_position + 1},
        {'definition': 'batch_leader_epoch_known', 'to_position': to_position}
      ]
    ) AS each
  FROM silver.metadata_coverage
  WHERE
    NOT COALESCE(covered, FALSE) AND NOT log = 'AAAAAAAAAAAAAAAAAAAAAQ:__cluster_metadata-0'
) AS fanned
