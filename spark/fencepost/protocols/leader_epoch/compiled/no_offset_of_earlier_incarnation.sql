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
    error AS `f.error`,
    diverging_epoch AS `f.divergingEpoch`,
    fetch_offset AS `f.fetchOffset`,
    origin_partition_epoch AS `f.offsetPartitionEpoch`,
    by_id AS `f.byId`,
    asked_partition_epoch AS `f.askedPartitionEpoch`,
    live_partition_epoch AS `f.livePartitionEpoch`
  FROM silver.fetch_position_states
), judged AS (
  SELECT
    *,
    (
      `f.error` = 'NONE' AND `f.divergingEpoch` = -1
    )
    AND (
      `f.fetchOffset` > 0 AND NOT `f.offsetPartitionEpoch` = -1
    ) AS antecedent,
    `f.offsetPartitionEpoch` = CASE `f.byId`
      WHEN TRUE
      THEN `f.askedPartitionEpoch`
      WHEN FALSE
      THEN `f.livePartitionEpoch`
      ELSE CASE WHEN `f.askedPartitionEpoch` = `f.livePartitionEpoch` THEN `f.askedPartitionEpoch` END
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
    `f.error`,
    `f.divergingEpoch`,
    `f.fetchOffset`,
    `f.offsetPartitionEpoch`,
    `f.byId`,
    `f.askedPartitionEpoch`,
    `f.livePartitionEpoch`,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'f.offsetPartitionEpoch = AnsweredFrom(f)' END AS failed_conjunct
  FROM judged
), agreed AS (
  SELECT
    cluster,
    fetch_position_id,
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
        'f.error',
        `f.error`,
        'f.divergingEpoch',
        `f.divergingEpoch`,
        'f.fetchOffset',
        `f.fetchOffset`,
        'f.offsetPartitionEpoch',
        `f.offsetPartitionEpoch`,
        'f.byId',
        `f.byId`,
        'f.askedPartitionEpoch',
        `f.askedPartitionEpoch`,
        'f.livePartitionEpoch',
        `f.livePartitionEpoch`
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
    CASE
      WHEN BOOL_OR(verdict) AND BOOL_OR(NOT verdict)
      THEN 'several_states'
      ELSE MIN(
        CASE
          WHEN verdict IS NULL
          THEN CASE WHEN `f.fetchOffset` IS NULL OR `f.offsetPartitionEpoch` IS NULL THEN 'client_unknown' END
        END
      )
    END AS reason
  FROM weighed
  GROUP BY
    cluster,
    fetch_position_id
)
SELECT
  cluster,
  TO_JSON(
    STRUCT(COALESCE(agreed.first_state.`log`, fetch_positions.log) AS log),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(STRUCT(fetch_position_id AS f), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, fetch_positions.requested_at) AS from_time,
  COALESCE(agreed.to_time, fetch_positions.responded_at) AS to_time,
  CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict END AS verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed.states = fetch_positions.candidates
    THEN CASE WHEN NOT agreed.verdict THEN agreed.first_state.`failed_conjunct` END
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
    THEN TO_JSON(
      STRUCT(
        agreed.first_state.`f.error` AS `f.error`,
        agreed.first_state.`f.divergingEpoch` AS `f.divergingEpoch`,
        agreed.first_state.`f.fetchOffset` AS `f.fetchOffset`,
        agreed.first_state.`f.offsetPartitionEpoch` AS `f.offsetPartitionEpoch`,
        agreed.first_state.`f.byId` AS `f.byId`,
        agreed.first_state.`f.askedPartitionEpoch` AS `f.askedPartitionEpoch`,
        agreed.first_state.`f.livePartitionEpoch` AS `f.livePartitionEpoch`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(
      STRUCT(
        fetch_positions.request_id,
        fetch_positions.broker_id,
        fetch_positions.client_id,
        fetch_positions.client_host,
        fetch_positions.software_name,
        fetch_positions.software_version,
        fetch_positions.topic,
        fetch_positions.`partition`,
        fetch_positions.origin,
        fetch_positions.origin_topic_id,
        fetch_positions.group_id,
        fetch_positions.file,
        fetch_positions.`position`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS evidence
FROM silver.fetch_positions AS fetch_positions
FULL OUTER JOIN agreed
  USING (cluster, fetch_position_id)
