-- generated from Strict in spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
--
-- Strict(c) ==
--     \/ c.unfenced
--     \/ c.memberKnown /\ c.clientEpoch = c.memberEpoch
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
    unfenced AS `c.unfenced`,
    member_known AS `c.memberKnown`,
    client_epoch AS `c.clientEpoch`,
    member_epoch AS `c.memberEpoch`
  FROM silver.offset_commit_states
), judged AS (
  SELECT
    *,
    `c.unfenced` OR (
      `c.memberKnown` AND `c.clientEpoch` = `c.memberEpoch`
    ) AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    commit_id,
    COUNT(*) AS states,
    CASE WHEN BOOL_AND(COALESCE(c1, FALSE)) THEN TRUE WHEN BOOL_AND(COALESCE(NOT c1, FALSE)) THEN FALSE END AS verdict,
    CASE WHEN BOOL_OR(c1) AND BOOL_OR(NOT c1) THEN 'several_states' END AS reason
  FROM judged
  GROUP BY
    cluster,
    commit_id
)
SELECT
  cluster,
  commit_id AS subject,
  CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END AS outcome,
  CASE
    WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason END,
      offset_commits.unknown_reason,
      'not_captured'
    )
  END AS reason
FROM silver.offset_commits AS offset_commits
FULL OUTER JOIN agreed
  USING (cluster, commit_id)
