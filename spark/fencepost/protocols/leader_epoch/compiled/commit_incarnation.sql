-- generated from CommitIncarnation in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
--
-- CommitIncarnation(c) ==
--     IF c.leaderEpoch = -1 \/ c.offsetPartitionEpoch = -1 THEN "NONE"
--     ELSE IF c.offsetPartitionEpoch # c.livePartitionEpoch THEN "INVALID_PARTITION_EPOCH"
--     ELSE "NONE"
WITH frame AS (
  SELECT
    cluster,
    log,
    commit_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    committed_leader_epoch AS `c.leaderEpoch`,
    origin_partition_epoch AS `c.offsetPartitionEpoch`,
    live_partition_epoch AS `c.livePartitionEpoch`
  FROM silver.committed_offset_states
), judged AS (
  SELECT
    *,
    CASE (
        `c.leaderEpoch` = -1 OR `c.offsetPartitionEpoch` = -1
      )
      WHEN TRUE
      THEN 'NONE'
      WHEN FALSE
      THEN CASE (
          NOT `c.offsetPartitionEpoch` = `c.livePartitionEpoch`
        )
        WHEN TRUE
        THEN 'INVALID_PARTITION_EPOCH'
        WHEN FALSE
        THEN 'NONE'
        ELSE CASE WHEN 'INVALID_PARTITION_EPOCH' = 'NONE' THEN 'INVALID_PARTITION_EPOCH' END
      END
      ELSE CASE
        WHEN 'NONE' = CASE (
            NOT `c.offsetPartitionEpoch` = `c.livePartitionEpoch`
          )
          WHEN TRUE
          THEN 'INVALID_PARTITION_EPOCH'
          WHEN FALSE
          THEN 'NONE'
          ELSE CASE WHEN 'INVALID_PARTITION_EPOCH' = 'NONE' THEN 'INVALID_PARTITION_EPOCH' END
        END
        THEN 'NONE'
      END
    END AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    commit_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1) AND MIN(c1) = MAX(c1) THEN MIN(c1) END AS verdict,
    CASE
      WHEN MIN(c1) < MAX(c1)
      THEN 'several_states'
      ELSE MIN(CASE WHEN c1 IS NULL THEN CASE WHEN `c.offsetPartitionEpoch` IS NULL THEN 'client_unknown' END END)
    END AS reason
  FROM judged
  GROUP BY
    cluster,
    commit_id
)
SELECT
  cluster,
  commit_id AS subject,
  CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict END AS outcome,
  CASE
    WHEN CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.reason END,
      committed_offsets.live_unknown,
      'topic_unknown'
    )
  END AS reason
FROM silver.committed_offsets AS committed_offsets
FULL OUTER JOIN agreed
  USING (cluster, commit_id)
