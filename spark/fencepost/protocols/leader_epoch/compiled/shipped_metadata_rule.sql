-- generated from ShippedMetadataRule in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
--
-- ShippedMetadataRule(a) ==
--     IF a.hasLeaderEpochs /\ a.told /\ a.cached /\ a.sameTopicId /\ a.leaderEpoch < a.cachedLeaderEpoch
--     THEN "OUTDATED" ELSE "NONE"
WITH frame AS (
  SELECT
    cluster,
    log,
    answer_partition_id,
    from_position,
    to_position,
    from_time,
    to_time,
    has_leader_epochs AS `a.hasLeaderEpochs`,
    told AS `a.told`,
    cached AS `a.cached`,
    same_topic_id AS `a.sameTopicId`,
    told_leader_epoch AS `a.leaderEpoch`,
    cached_leader_epoch AS `a.cachedLeaderEpoch`
  FROM silver.metadata_answer_partitions
), judged AS (
  SELECT
    *,
    CASE (
        (
          (
            (
              `a.hasLeaderEpochs` AND `a.told`
            ) AND `a.cached`
          ) AND `a.sameTopicId`
        )
        AND `a.leaderEpoch` < `a.cachedLeaderEpoch`
      )
      WHEN TRUE
      THEN 'OUTDATED'
      WHEN FALSE
      THEN 'NONE'
      ELSE CASE WHEN 'OUTDATED' = 'NONE' THEN 'OUTDATED' END
    END AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    answer_partition_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1) AND MIN(c1) = MAX(c1) THEN MIN(c1) END AS verdict,
    MIN(CASE WHEN c1 IS NULL THEN CASE WHEN `a.cached` IS NULL THEN 'client_unknown' END END) AS reason
  FROM judged
  GROUP BY
    cluster,
    answer_partition_id
)
SELECT
  cluster,
  answer_partition_id AS subject,
  agreed.verdict AS outcome,
  CASE WHEN agreed.verdict IS NULL THEN COALESCE(agreed.reason, 'topic_unknown') END AS reason
FROM silver.metadata_answer_partitions AS metadata_answer_partitions
FULL OUTER JOIN agreed
  USING (cluster, answer_partition_id)
