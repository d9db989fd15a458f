-- generated from ShippedCommitRule in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
--
-- ShippedCommitRule(c) ==
--     IF c.byId /\ c.topicId # c.liveTopicId THEN "UNKNOWN_TOPIC_ID" ELSE "NONE"
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
    by_id AS `c.byId`,
    committed_topic_id AS `c.topicId`,
    live_topic_id AS `c.liveTopicId`
  FROM silver.committed_offset_states
), judged AS (
  SELECT
    *,
    CASE (
        `c.byId` AND NOT `c.topicId` = `c.liveTopicId`
      )
      WHEN TRUE
      THEN 'UNKNOWN_TOPIC_ID'
      WHEN FALSE
      THEN 'NONE'
      ELSE CASE WHEN 'UNKNOWN_TOPIC_ID' = 'NONE' THEN 'UNKNOWN_TOPIC_ID' END
    END AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    commit_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1) AND MIN(c1) = MAX(c1) THEN MIN(c1) END AS verdict,
    CASE WHEN MIN(c1) < MAX(c1) THEN 'several_states' END AS reason
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
