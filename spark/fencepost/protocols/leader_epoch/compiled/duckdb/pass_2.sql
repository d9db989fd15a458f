-- generated from spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
-- one pass for commit_incarnation, shipped_commit_rule
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
    committed_leader_epoch AS "c.leaderEpoch",
    origin_partition_epoch AS "c.offsetPartitionEpoch",
    live_partition_epoch AS "c.livePartitionEpoch",
    by_id AS "c.byId",
    committed_topic_id AS "c.topicId",
    live_topic_id AS "c.liveTopicId"
  FROM silver.committed_offset_states
), judged AS (
  SELECT
    *,
    CASE (
        "c.leaderEpoch" = -1 OR "c.offsetPartitionEpoch" = -1
      )
      WHEN TRUE
      THEN 'NONE'
      WHEN FALSE
      THEN CASE (
          NOT "c.offsetPartitionEpoch" = "c.livePartitionEpoch"
        )
        WHEN TRUE
        THEN 'INVALID_PARTITION_EPOCH'
        WHEN FALSE
        THEN 'NONE'
        ELSE CASE WHEN 'INVALID_PARTITION_EPOCH' = 'NONE' THEN 'INVALID_PARTITION_EPOCH' END
      END
      ELSE CASE
        WHEN 'NONE' = CASE (
            NOT "c.offsetPartitionEpoch" = "c.livePartitionEpoch"
          )
          WHEN TRUE
          THEN 'INVALID_PARTITION_EPOCH'
          WHEN FALSE
          THEN 'NONE'
          ELSE CASE WHEN 'INVALID_PARTITION_EPOCH' = 'NONE' THEN 'INVALID_PARTITION_EPOCH' END
        END
        THEN 'NONE'
      END
    END AS c1_1,
    CASE (
        "c.byId" AND NOT "c.topicId" = "c.liveTopicId"
      )
      WHEN TRUE
      THEN 'UNKNOWN_TOPIC_ID'
      WHEN FALSE
      THEN 'NONE'
      ELSE CASE WHEN 'UNKNOWN_TOPIC_ID' = 'NONE' THEN 'UNKNOWN_TOPIC_ID' END
    END AS c1_2
  FROM frame
), agreed AS (
  SELECT
    cluster,
    commit_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1_1) AND MIN(c1_1) = MAX(c1_1) THEN MIN(c1_1) END AS verdict_1,
    CASE WHEN COUNT(*) = COUNT(c1_2) AND MIN(c1_2) = MAX(c1_2) THEN MIN(c1_2) END AS verdict_2,
    CASE
      WHEN MIN(c1_1) < MAX(c1_1)
      THEN 'several_states'
      ELSE MIN(CASE WHEN c1_1 IS NULL THEN CASE WHEN "c.offsetPartitionEpoch" IS NULL THEN 'client_unknown' END END)
    END AS reason_1,
    CASE WHEN MIN(c1_2) < MAX(c1_2) THEN 'several_states' END AS reason_2
  FROM judged
  GROUP BY
    cluster,
    commit_id
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
      commit_id AS subject,
      [
        {'definition': 'commit_incarnation', 'outcome': CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict_1 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict_1 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.reason_1 END,
            committed_offsets.live_unknown,
            'topic_unknown'
          )
        END},
        {'definition': 'shipped_commit_rule', 'outcome': CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict_2 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict_2 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.reason_2 END,
            committed_offsets.live_unknown,
            'topic_unknown'
          )
        END}
      ] AS rows_
    FROM silver.committed_offsets AS committed_offsets
    FULL OUTER JOIN agreed
      USING (cluster, commit_id)
  ) AS judged_together
) AS fanned
