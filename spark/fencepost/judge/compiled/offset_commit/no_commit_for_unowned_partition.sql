-- generated from spec/offset_commit/OffsetCommitProps.tla:393 by `tlasql compile`; do not edit
--
-- NoCommitForUnownedPartition ==
--     \A c \in commits : c.accepted /\ ~c.unfenced => c.ownedBySelf \/ c.ownedByAnother
WITH frame AS (
  SELECT
    cluster,
    group_id,
    life,
    commit_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    accepted AS `c.accepted`,
    unfenced AS `c.unfenced`,
    owned_by_self AS `c.ownedBySelf`,
    owned_by_another AS `c.ownedByAnother`
  FROM silver.offset_commit_states
), judged AS (
  SELECT
    *,
    `c.accepted` AND NOT `c.unfenced` AS antecedent,
    `c.ownedBySelf` OR `c.ownedByAnother` AS c1
  FROM frame
), weighed AS (
  SELECT
    cluster,
    group_id,
    life,
    commit_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'c.ownedBySelf \\/ c.ownedByAnother (OffsetCommitProps:394)' END AS failed_conjunct,
    TO_JSON(
      STRUCT(`c.accepted`, `c.unfenced`, `c.ownedBySelf`, `c.ownedByAnother`),
      MAP('ignoreNullFields', 'false')
    ) AS `values`
  FROM judged
), agreed AS (
  SELECT
    cluster,
    commit_id,
    MIN_BY(group_id, candidate) AS group_id,
    MIN_BY(life, candidate) AS life,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised,
    MIN_BY(failed_conjunct, candidate) AS failed_conjunct,
    MIN_BY(`values`, candidate) AS `values`
  FROM weighed
  GROUP BY
    cluster,
    commit_id
)
SELECT
  cluster,
  TO_JSON(
    STRUCT(COALESCE(agreed.group_id, offset_commits.group_id) AS group_id, agreed.life),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  TO_JSON(STRUCT(commit_id AS c), MAP('ignoreNullFields', 'false')) AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, offset_commits.requested_at) AS from_time,
  COALESCE(agreed.to_time, offset_commits.responded_at) AS to_time,
  CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END AS verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed.states = offset_commits.candidates
    THEN CASE WHEN NOT agreed.verdict THEN agreed.failed_conjunct END
  END AS failed_conjunct,
  agreed.`values`,
  TO_JSON(
    STRUCT(
      commit_id,
      offset_commits.request_id,
      offset_commits.broker_id,
      offset_commits.member_id,
      offset_commits.client_id,
      offset_commits.topic,
      offset_commits.`partition`,
      offset_commits.client_epoch,
      offset_commits.committed_offset,
      offset_commits.broker_error,
      offset_commits.record_offset,
      offset_commits.candidates,
      offset_commits.unknown_reason,
      offset_commits.file,
      offset_commits.`position`
    ),
    MAP('ignoreNullFields', 'false')
  ) AS evidence
FROM silver.offset_commits AS offset_commits
FULL OUTER JOIN agreed
  USING (cluster, commit_id)
