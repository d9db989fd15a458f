-- generated from NoOffsetOfEarlierIncarnation in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
--
-- NoOffsetOfEarlierIncarnation ==
--     \A f \in fetchPositions :
--         f.error = "NONE" /\ f.divergingEpoch = -1 /\ OfAnIncarnation(f) => f.offsetPartitionEpoch = AnsweredFrom(f)
WITH frame AS (
  SELECT
    cluster,
    log,
    fetch_position_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    error AS "f.error",
    diverging_epoch AS "f.divergingEpoch",
    fetch_offset AS "f.fetchOffset",
    origin_partition_epoch AS "f.offsetPartitionEpoch",
    by_id AS "f.byId",
    asked_partition_epoch AS "f.askedPartitionEpoch",
    live_partition_epoch AS "f.livePartitionEpoch"
  FROM silver.fetch_position_states
), judged AS (
  SELECT
    *,
    (
      "f.error" = 'NONE' AND "f.divergingEpoch" = -1
    )
    AND (
      "f.fetchOffset" > 0 AND NOT "f.offsetPartitionEpoch" = -1
    ) AS antecedent,
    "f.offsetPartitionEpoch" = CASE "f.byId"
      WHEN TRUE
      THEN "f.askedPartitionEpoch"
      WHEN FALSE
      THEN "f.livePartitionEpoch"
      ELSE CASE WHEN "f.askedPartitionEpoch" = "f.livePartitionEpoch" THEN "f.askedPartitionEpoch" END
    END AS c1
  FROM frame
), weighed AS (
  SELECT
    cluster,
    log,
    fetch_position_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    "f.error",
    "f.divergingEpoch",
    "f.fetchOffset",
    "f.offsetPartitionEpoch",
    "f.byId",
    "f.askedPartitionEpoch",
    "f.livePartitionEpoch",
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'f.offsetPartitionEpoch = AnsweredFrom(f)' END AS failed_conjunct
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    fetch_position_id
  FROM silver.fetch_position_states
  GROUP BY
    cluster,
    fetch_position_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    fetch_position_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'log': log, 'failed_conjunct': failed_conjunct, 'f.error': "f.error", 'f.divergingEpoch': "f.divergingEpoch", 'f.fetchOffset': "f.fetchOffset", 'f.offsetPartitionEpoch': "f.offsetPartitionEpoch", 'f.byId': "f.byId", 'f.askedPartitionEpoch': "f.askedPartitionEpoch", 'f.livePartitionEpoch': "f.livePartitionEpoch"} AS first_state,
    CASE WHEN COALESCE(verdict, FALSE) THEN TRUE WHEN COALESCE(NOT verdict, FALSE) THEN FALSE END AS verdict,
    exercised AS exercised,
    CASE
      WHEN verdict AND NOT verdict
      THEN 'several_states'
      ELSE CASE
        WHEN verdict IS NULL
        THEN CASE WHEN "f.fetchOffset" IS NULL OR "f.offsetPartitionEpoch" IS NULL THEN 'client_unknown' END
      END
    END AS reason
  FROM weighed
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.fetch_position_id IS NOT DISTINCT FROM weighed.fetch_position_id
    )
  UNION ALL
  SELECT
    cluster,
    fetch_position_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ARG_MIN(
      {'log': log, 'failed_conjunct': failed_conjunct, 'f.error': "f.error", 'f.divergingEpoch': "f.divergingEpoch", 'f.fetchOffset': "f.fetchOffset", 'f.offsetPartitionEpoch': "f.offsetPartitionEpoch", 'f.byId': "f.byId", 'f.askedPartitionEpoch': "f.askedPartitionEpoch", 'f.livePartitionEpoch': "f.livePartitionEpoch"},
      candidate
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised,
    CASE
      WHEN BOOL_OR(verdict) AND BOOL_OR(NOT verdict)
      THEN 'several_states'
      ELSE MIN(
        CASE
          WHEN verdict IS NULL
          THEN CASE WHEN "f.fetchOffset" IS NULL OR "f.offsetPartitionEpoch" IS NULL THEN 'client_unknown' END
        END
      )
    END AS reason
  FROM weighed
  WHERE
    EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.fetch_position_id IS NOT DISTINCT FROM weighed.fetch_position_id
    )
  GROUP BY
    cluster,
    fetch_position_id
)
SELECT
  cluster,
  CAST(JSON_OBJECT('log', COALESCE(STRUCT_EXTRACT(agreed.first_state, 'log'), fetch_positions.log)) AS TEXT) AS scope,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict END, FALSE)
    )
    THEN CAST(JSON_OBJECT('f', fetch_position_id) AS TEXT)
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, fetch_positions.requested_at) AS from_time,
  COALESCE(agreed.to_time, fetch_positions.responded_at) AS to_time,
  CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict END AS verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed.states = fetch_positions.candidates
    THEN CASE WHEN NOT agreed.verdict THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct') END
  END AS failed_conjunct,
  CASE
    WHEN CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.reason END,
      fetch_positions.live_unknown,
      'topic_unknown'
    )
  END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL
    AND NOT COALESCE(CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict END, FALSE)
    THEN CAST(JSON_OBJECT(
      'f.error',
      STRUCT_EXTRACT(agreed.first_state, 'f.error'),
      'f.divergingEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'f.divergingEpoch'),
      'f.fetchOffset',
      STRUCT_EXTRACT(agreed.first_state, 'f.fetchOffset'),
      'f.offsetPartitionEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'f.offsetPartitionEpoch'),
      'f.byId',
      STRUCT_EXTRACT(agreed.first_state, 'f.byId'),
      'f.askedPartitionEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'f.askedPartitionEpoch'),
      'f.livePartitionEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'f.livePartitionEpoch')
    ) AS TEXT)
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict END, FALSE)
    )
    THEN CAST(JSON_OBJECT(
      'request_id',
      fetch_positions.request_id,
      'broker_id',
      fetch_positions.broker_id,
      'client_id',
      fetch_positions.client_id,
      'client_host',
      fetch_positions.client_host,
      'software_name',
      fetch_positions.software_name,
      'software_version',
      fetch_positions.software_version,
      'topic',
      fetch_positions.topic,
      'partition',
      fetch_positions."partition",
      'origin',
      fetch_positions.origin,
      'origin_topic_id',
      fetch_positions.origin_topic_id,
      'group_id',
      fetch_positions.group_id,
      'file',
      fetch_positions.file,
      'position',
      fetch_positions."position"
    ) AS TEXT)
  END AS evidence
FROM silver.fetch_positions AS fetch_positions
FULL OUTER JOIN agreed
  USING (cluster, fetch_position_id)
