-- generated from CommitToLiveIncarnation in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
--
-- CommitToLiveIncarnation ==
--     \A c \in committedOffsets : c.error = "NONE" /\ c.byId => c.topicId = c.liveTopicId
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
    error AS `c.error`,
    by_id AS `c.byId`,
    committed_topic_id AS `c.topicId`,
    live_topic_id AS `c.liveTopicId`
  FROM silver.committed_offset_states
), judged AS (
  SELECT
    *,
    `c.error` = 'NONE' AND `c.byId` AS antecedent,
    `c.topicId` = `c.liveTopicId` AS c1
  FROM frame
), weighed AS (
  SELECT
    cluster,
    log,
    commit_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    `c.error`,
    `c.byId`,
    `c.topicId`,
    `c.liveTopicId`,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'c.topicId = c.liveTopicId' END AS failed_conjunct
  FROM judged
), agreed AS (
  SELECT
    cluster,
    commit_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    MIN_BY(
      NAMED_STRUCT(
        'log',
        log,
        'failed_conjunct',
        failed_conjunct,
        'c.error',
        `c.error`,
        'c.byId',
        `c.byId`,
        'c.topicId',
        `c.topicId`,
        'c.liveTopicId',
        `c.liveTopicId`
      ),
      candidate
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised,
    CASE WHEN BOOL_OR(verdict) AND BOOL_OR(NOT verdict) THEN 'several_states' END AS reason
  FROM weighed
  GROUP BY
    cluster,
    commit_id
)
SELECT
  cluster,
  TO_JSON(
    STRUCT(COALESCE(agreed.first_state.`log`, committed_offsets.log) AS log),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(STRUCT(commit_id AS c), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, committed_offsets.from_time) AS from_time,
  COALESCE(agreed.to_time, committed_offsets.to_time) AS to_time,
  CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict END AS verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed.states = committed_offsets.candidates
    THEN CASE WHEN NOT agreed.verdict THEN agreed.first_state.`failed_conjunct` END
  END AS failed_conjunct,
  CASE
    WHEN CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.reason END,
      committed_offsets.live_unknown,
      'topic_unknown'
    )
  END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL
    AND NOT COALESCE(CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict END, FALSE)
    THEN TO_JSON(
      STRUCT(
        agreed.first_state.`c.error` AS `c.error`,
        agreed.first_state.`c.byId` AS `c.byId`,
        agreed.first_state.`c.topicId` AS `c.topicId`,
        agreed.first_state.`c.liveTopicId` AS `c.liveTopicId`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(
      STRUCT(
        committed_offsets.group_id,
        committed_offsets.topic,
        committed_offsets.`partition`,
        committed_offsets.origin,
        committed_offsets.origin_topic_id,
        committed_offsets.commit_partition,
        committed_offsets.record_offset,
        committed_offsets.request_id,
        committed_offsets.client_id,
        committed_offsets.client_host,
        committed_offsets.software_name,
        committed_offsets.software_version,
        committed_offsets.file,
        committed_offsets.`position`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS evidence
FROM silver.committed_offsets AS committed_offsets
FULL OUTER JOIN agreed
  USING (cluster, commit_id)
