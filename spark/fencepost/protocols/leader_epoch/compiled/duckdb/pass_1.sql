-- generated from spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
-- one pass for outdated_with_max, outdated, shipped_metadata_rule
WITH frame AS (
  SELECT
    cluster,
    log,
    answer_partition_id,
    from_position,
    to_position,
    from_time,
    to_time,
    has_leader_epochs AS "a.hasLeaderEpochs",
    told_max_partition_epoch AS "a.maxPartitionEpoch",
    cached_max_partition_epoch AS "a.cachedMaxPartitionEpoch",
    told AS "a.told",
    cached AS "a.cached",
    cached_gone AS "a.cachedGone",
    told_partition_epoch AS "a.partitionEpoch",
    cached_partition_epoch AS "a.cachedPartitionEpoch",
    told_leader_epoch AS "a.leaderEpoch",
    cached_leader_epoch AS "a.cachedLeaderEpoch",
    same_topic_id AS "a.sameTopicId"
  FROM silver.metadata_answer_partitions
), judged AS (
  SELECT
    *,
    CASE (
        "a.hasLeaderEpochs"
        AND (
          "a.maxPartitionEpoch" < "a.cachedMaxPartitionEpoch"
          OR (
            (
              (
                (
                  "a.hasLeaderEpochs" AND "a.told"
                ) AND "a.cached"
              ) AND NOT "a.cachedGone"
            )
            AND (
              "a.partitionEpoch" < "a.cachedPartitionEpoch"
              OR (
                "a.partitionEpoch" = "a.cachedPartitionEpoch" AND "a.leaderEpoch" < "a.cachedLeaderEpoch"
              )
            )
          )
        )
      )
      WHEN TRUE
      THEN 'OUTDATED'
      WHEN FALSE
      THEN 'NONE'
      ELSE CASE WHEN 'OUTDATED' = 'NONE' THEN 'OUTDATED' END
    END AS c1_1,
    CASE (
        (
          (
            (
              "a.hasLeaderEpochs" AND "a.told"
            ) AND "a.cached"
          ) AND NOT "a.cachedGone"
        )
        AND (
          "a.partitionEpoch" < "a.cachedPartitionEpoch"
          OR (
            "a.partitionEpoch" = "a.cachedPartitionEpoch" AND "a.leaderEpoch" < "a.cachedLeaderEpoch"
          )
        )
      )
      WHEN TRUE
      THEN 'OUTDATED'
      WHEN FALSE
      THEN 'NONE'
      ELSE CASE WHEN 'OUTDATED' = 'NONE' THEN 'OUTDATED' END
    END AS c1_2,
    CASE (
        (
          (
            (
              "a.hasLeaderEpochs" AND "a.told"
            ) AND "a.cached"
          ) AND "a.sameTopicId"
        )
        AND "a.leaderEpoch" < "a.cachedLeaderEpoch"
      )
      WHEN TRUE
      THEN 'OUTDATED'
      WHEN FALSE
      THEN 'NONE'
      ELSE CASE WHEN 'OUTDATED' = 'NONE' THEN 'OUTDATED' END
    END AS c1_3
  FROM frame
), agreed AS (
  SELECT
    cluster,
    answer_partition_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1_1) AND MIN(c1_1) = MAX(c1_1) THEN MIN(c1_1) END AS verdict_1,
    CASE WHEN COUNT(*) = COUNT(c1_2) AND MIN(c1_2) = MAX(c1_2) THEN MIN(c1_2) END AS verdict_2,
    CASE WHEN COUNT(*) = COUNT(c1_3) AND MIN(c1_3) = MAX(c1_3) THEN MIN(c1_3) END AS verdict_3,
    MIN(
      CASE
        WHEN c1_1 IS NULL
        THEN CASE WHEN "a.cachedMaxPartitionEpoch" IS NULL OR "a.cached" IS NULL THEN 'client_unknown' END
      END
    ) AS reason_1,
    MIN(CASE WHEN c1_2 IS NULL THEN CASE WHEN "a.cached" IS NULL THEN 'client_unknown' END END) AS reason_2,
    MIN(CASE WHEN c1_3 IS NULL THEN CASE WHEN "a.cached" IS NULL THEN 'client_unknown' END END) AS reason_3
  FROM judged
  GROUP BY
    cluster,
    answer_partition_id
)
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  subject,
  STRUCT_EXTRACT(each, 'outcome') AS outcome,
  STRUCT_EXTRACT(each, 'reason') AS reason
FROM (
  SELECT
    cluster,
    subject,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      answer_partition_id AS subject,
      [
        {'definition': 'outdated_with_max', 'outcome': agreed.verdict_1, 'reason': CASE WHEN agreed.verdict_1 IS NULL THEN COALESCE(agreed.reason_1, 'topic_unknown') END},
        {'definition': 'outdated', 'outcome': agreed.verdict_2, 'reason': CASE WHEN agreed.verdict_2 IS NULL THEN COALESCE(agreed.reason_2, 'topic_unknown') END},
        {'definition': 'shipped_metadata_rule', 'outcome': agreed.verdict_3, 'reason': CASE WHEN agreed.verdict_3 IS NULL THEN COALESCE(agreed.reason_3, 'topic_unknown') END}
      ] AS rows_
    FROM silver.metadata_answer_partitions AS metadata_answer_partitions
    FULL OUTER JOIN agreed
      USING (cluster, answer_partition_id)
  ) AS judged_together
) AS fanned
