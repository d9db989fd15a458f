-- generated from spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
-- one pass for committed_leader_epoch_bound, commit_to_live_incarnation
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
    error AS "c.error",
    committed_leader_epoch AS "c.leaderEpoch",
    live_leader_epoch AS "c.liveLeaderEpoch",
    by_id AS "c.byId",
    committed_topic_id AS "c.topicId",
    live_topic_id AS "c.liveTopicId"
  FROM silver.committed_offset_states
), judged AS (
  SELECT
    *,
    "c.error" = 'NONE' AND "c.leaderEpoch" >= 0 AS antecedent_1,
    "c.leaderEpoch" <= "c.liveLeaderEpoch" AS c1_1,
    "c.error" = 'NONE' AND "c.byId" AS antecedent_2,
    "c.topicId" = "c.liveTopicId" AS c1_2
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
    "c.error",
    "c.leaderEpoch",
    "c.liveLeaderEpoch",
    "c.byId",
    "c.topicId",
    "c.liveTopicId",
    NOT antecedent_1 OR c1_1 AS verdict_1,
    COALESCE(antecedent_1, FALSE) AS exercised_1,
    CASE WHEN antecedent_1 AND NOT c1_1 THEN 'c.leaderEpoch <= c.liveLeaderEpoch' END AS failed_conjunct_1,
    NOT antecedent_2 OR c1_2 AS verdict_2,
    COALESCE(antecedent_2, FALSE) AS exercised_2,
    CASE WHEN antecedent_2 AND NOT c1_2 THEN 'c.topicId = c.liveTopicId' END AS failed_conjunct_2
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    commit_id
  FROM silver.committed_offset_states
  GROUP BY
    cluster,
    commit_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    commit_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'log': log, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'c.error': "c.error", 'c.leaderEpoch': "c.leaderEpoch", 'c.liveLeaderEpoch': "c.liveLeaderEpoch", 'c.byId': "c.byId", 'c.topicId': "c.topicId", 'c.liveTopicId': "c.liveTopicId"} AS first_state,
    CASE WHEN COALESCE(verdict_1, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_1, FALSE) THEN FALSE END AS verdict_1,
    exercised_1 AS exercised_1,
    CASE WHEN verdict_1 AND NOT verdict_1 THEN 'several_states' END AS reason_1,
    CASE WHEN COALESCE(verdict_2, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_2, FALSE) THEN FALSE END AS verdict_2,
    exercised_2 AS exercised_2,
    CASE WHEN verdict_2 AND NOT verdict_2 THEN 'several_states' END AS reason_2
  FROM weighed
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.commit_id IS NOT DISTINCT FROM weighed.commit_id
    )
  UNION ALL
  SELECT
    cluster,
    commit_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ARG_MIN(
      {'log': log, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'c.error': "c.error", 'c.leaderEpoch': "c.leaderEpoch", 'c.liveLeaderEpoch': "c.liveLeaderEpoch", 'c.byId': "c.byId", 'c.topicId': "c.topicId", 'c.liveTopicId': "c.liveTopicId"},
      candidate
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_1, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_1, FALSE))
      THEN FALSE
    END AS verdict_1,
    BOOL_AND(exercised_1) AS exercised_1,
    CASE WHEN BOOL_OR(verdict_1) AND BOOL_OR(NOT verdict_1) THEN 'several_states' END AS reason_1,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_2, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_2, FALSE))
      THEN FALSE
    END AS verdict_2,
    BOOL_AND(exercised_2) AS exercised_2,
    CASE WHEN BOOL_OR(verdict_2) AND BOOL_OR(NOT verdict_2) THEN 'several_states' END AS reason_2
  FROM weighed
  WHERE
    EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.commit_id IS NOT DISTINCT FROM weighed.commit_id
    )
  GROUP BY
    cluster,
    commit_id
)
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  scope,
  CASE WHEN NOT COALESCE(STRUCT_EXTRACT(each, 'verdict'), FALSE) THEN witness END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  STRUCT_EXTRACT(each, 'verdict') AS verdict,
  STRUCT_EXTRACT(each, 'exercised') AS exercised,
  STRUCT_EXTRACT(each, 'failed_conjunct') AS failed_conjunct,
  STRUCT_EXTRACT(each, 'reason') AS reason,
  STRUCT_EXTRACT(each, 'observed') AS observed,
  CASE WHEN NOT COALESCE(STRUCT_EXTRACT(each, 'verdict'), FALSE) THEN evidence END AS evidence
FROM (
  SELECT
    cluster,
    scope,
    witness,
    from_position,
    to_position,
    from_time,
    to_time,
    evidence,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      CAST(JSON_OBJECT('log', COALESCE(STRUCT_EXTRACT(agreed.first_state, 'log'), committed_offsets.log)) AS TEXT) AS scope,
      CASE
        WHEN NOT (
          COALESCE(CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict_1 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict_2 END, FALSE)
        )
        THEN CAST(JSON_OBJECT('c', commit_id) AS TEXT)
      END AS witness,
      agreed.from_position,
      agreed.to_position,
      COALESCE(agreed.from_time, committed_offsets.from_time) AS from_time,
      COALESCE(agreed.to_time, committed_offsets.to_time) AS to_time,
      CASE
        WHEN NOT (
          COALESCE(CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict_1 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict_2 END, FALSE)
        )
        THEN CAST(JSON_OBJECT(
          'group_id',
          committed_offsets.group_id,
          'topic',
          committed_offsets.topic,
          'partition',
          committed_offsets."partition",
          'origin',
          committed_offsets.origin,
          'origin_topic_id',
          committed_offsets.origin_topic_id,
          'commit_partition',
          committed_offsets.commit_partition,
          'record_offset',
          committed_offsets.record_offset,
          'request_id',
          committed_offsets.request_id,
          'client_id',
          committed_offsets.client_id,
          'client_host',
          committed_offsets.client_host,
          'software_name',
          committed_offsets.software_name,
          'software_version',
          committed_offsets.software_version,
          'file',
          committed_offsets.file,
          'position',
          committed_offsets."position"
        ) AS TEXT)
      END AS evidence,
      [
        {'definition': 'committed_leader_epoch_bound', 'verdict': CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict_1 END, 'exercised': COALESCE(agreed.exercised_1, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = committed_offsets.candidates
          THEN CASE WHEN NOT agreed.verdict_1 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_1') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict_1 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.reason_1 END,
            committed_offsets.live_unknown,
            'topic_unknown'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict_1 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'c.error',
            STRUCT_EXTRACT(agreed.first_state, 'c.error'),
            'c.leaderEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.leaderEpoch'),
            'c.liveLeaderEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.liveLeaderEpoch')
          ) AS TEXT)
        END},
        {'definition': 'commit_to_live_incarnation', 'verdict': CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict_2 END, 'exercised': COALESCE(agreed.exercised_2, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = committed_offsets.candidates
          THEN CASE WHEN NOT agreed.verdict_2 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_2') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict_2 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.reason_2 END,
            committed_offsets.live_unknown,
            'topic_unknown'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = committed_offsets.candidates THEN agreed.verdict_2 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'c.error',
            STRUCT_EXTRACT(agreed.first_state, 'c.error'),
            'c.byId',
            STRUCT_EXTRACT(agreed.first_state, 'c.byId'),
            'c.topicId',
            STRUCT_EXTRACT(agreed.first_state, 'c.topicId'),
            'c.liveTopicId',
            STRUCT_EXTRACT(agreed.first_state, 'c.liveTopicId')
          ) AS TEXT)
        END}
      ] AS rows_
    FROM silver.committed_offsets AS committed_offsets
    FULL OUTER JOIN agreed
      USING (cluster, commit_id)
  ) AS judged_together
) AS fanned
