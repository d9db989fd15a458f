-- generated from CheckpointAgrees in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
--
-- CheckpointAgrees == \A e \in checkpointEntries : e.agrees
WITH frame AS (
  SELECT
    cluster,
    log,
    entry_id,
    from_position,
    to_position,
    from_time,
    to_time,
    agrees AS "e.agrees"
  FROM silver.leader_epoch_entries
), judged AS (
  SELECT
    *,
    "e.agrees" AS c1
  FROM frame
), weighed AS (
  SELECT
    cluster,
    log,
    entry_id,
    from_position,
    to_position,
    from_time,
    to_time,
    "e.agrees",
    c1 AS verdict,
    TRUE AS exercised,
    CASE WHEN NOT c1 THEN 'e.agrees' END AS failed_conjunct
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    entry_id
  FROM silver.leader_epoch_entries
  GROUP BY
    cluster,
    entry_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    entry_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'log': log, 'failed_conjunct': failed_conjunct, 'e.agrees': "e.agrees"} AS first_state,
    CASE WHEN COALESCE(verdict, FALSE) THEN TRUE WHEN COALESCE(NOT verdict, FALSE) THEN FALSE END AS verdict,
    exercised AS exercised
  FROM weighed
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.entry_id IS NOT DISTINCT FROM weighed.entry_id
    )
  UNION ALL
  SELECT
    cluster,
    entry_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE({'log': log, 'failed_conjunct': failed_conjunct, 'e.agrees': "e.agrees"}) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised
  FROM weighed
  WHERE
    EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.entry_id IS NOT DISTINCT FROM weighed.entry_id
    )
  GROUP BY
    cluster,
    entry_id
)
SELECT
  cluster,
  CAST(JSON_OBJECT('log', COALESCE(STRUCT_EXTRACT(agreed.first_state, 'log'), leader_epoch_entries.log)) AS TEXT) AS scope,
  CASE WHEN NOT (
    COALESCE(agreed.verdict, FALSE)
  ) THEN CAST(JSON_OBJECT('e', entry_id) AS TEXT) END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, leader_epoch_entries.from_time) AS from_time,
  COALESCE(agreed.to_time, leader_epoch_entries.to_time) AS to_time,
  agreed.verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE WHEN NOT agreed.verdict THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct') END AS failed_conjunct,
  CASE WHEN agreed.verdict IS NULL THEN 'not_captured' END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict, FALSE)
    THEN CAST(JSON_OBJECT('e.agrees', STRUCT_EXTRACT(agreed.first_state, 'e.agrees')) AS TEXT)
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN CAST(JSON_OBJECT(
      'topic',
      leader_epoch_entries.topic,
      'partition',
      leader_epoch_entries."partition",
      'broker_id',
      leader_epoch_entries.broker_id,
      'log_state',
      leader_epoch_entries.log_state,
      'batches_start_offset',
      leader_epoch_entries.batches_start_offset,
      'file',
      leader_epoch_entries.file
    ) AS TEXT)
  END AS evidence
FROM silver.leader_epoch_entries AS leader_epoch_entries
FULL OUTER JOIN agreed
  USING (cluster, entry_id)
