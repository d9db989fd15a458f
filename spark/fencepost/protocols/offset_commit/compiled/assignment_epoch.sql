-- generated from AssignmentEpoch in spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
--
-- AssignmentEpoch(c) ==
--     /\ AcceptedByAssignmentEpoch(c)
--     /\ \A d \in commits : d.request = c.request => LeftOut(d) \/ AcceptedByAssignmentEpoch(d)
WITH quantified_1_rows AS (
  SELECT
    cluster,
    request_id,
    candidate,
    accepted AS `d.accepted`,
    fenced AS `d.fenced`,
    unfenced AS `d.unfenced`,
    member_known AS `d.memberKnown`,
    client_epoch AS `d.clientEpoch`,
    member_epoch AS `d.memberEpoch`,
    assignment_epoch AS `d.assignmentEpoch`
  FROM silver.offset_commit_states
), quantified_1_judged AS (
  SELECT
    cluster,
    request_id,
    candidate,
    (
      NOT `d.accepted` AND NOT `d.fenced`
    )
    OR (
      `d.unfenced`
      OR (
        `d.memberKnown`
        AND (
          `d.clientEpoch` = `d.memberEpoch`
          OR (
            `d.clientEpoch` < `d.memberEpoch`
            AND `d.assignmentEpoch` >= 0
            AND `d.assignmentEpoch` <= `d.clientEpoch`
          )
        )
      )
    ) AS predicate
  FROM quantified_1_rows
), quantified_1_lost AS (
  SELECT DISTINCT
    cluster,
    TRUE AS lost
  FROM silver.offset_commits
  WHERE
    cluster IS NULL OR request_id IS NULL
), quantified_1_expected AS (
  SELECT
    offset_commits.cluster,
    offset_commits.request_id,
    COUNT(*) AS expected
  FROM silver.offset_commits AS offset_commits
  LEFT JOIN quantified_1_lost
    ON quantified_1_lost.cluster IS NULL OR offset_commits.cluster = quantified_1_lost.cluster
  WHERE
    quantified_1_lost.lost IS NULL
  GROUP BY
    offset_commits.cluster,
    offset_commits.request_id
), quantified_1 AS (
  SELECT
    quantified_1_judged.cluster,
    quantified_1_judged.request_id,
    quantified_1_judged.candidate,
    CASE
      WHEN BOOL_OR(NOT quantified_1_judged.predicate)
      THEN FALSE
      WHEN COUNT(*) = MAX(quantified_1_expected.expected)
      AND BOOL_AND(NOT quantified_1_judged.predicate IS NULL)
      THEN TRUE
    END AS holds
  FROM quantified_1_judged
  LEFT JOIN quantified_1_expected
    ON quantified_1_judged.cluster = quantified_1_expected.cluster
    AND quantified_1_judged.request_id = quantified_1_expected.request_id
  GROUP BY
    quantified_1_judged.cluster,
    quantified_1_judged.request_id,
    quantified_1_judged.candidate
), frame AS (
  SELECT
    offset_commit_states.cluster,
    offset_commit_states.group_id,
    offset_commit_states.life,
    offset_commit_states.commit_id,
    offset_commit_states.candidate,
    offset_commit_states.from_position,
    offset_commit_states.to_position,
    offset_commit_states.from_time,
    offset_commit_states.to_time,
    offset_commit_states.unfenced AS `c.unfenced`,
    offset_commit_states.member_known AS `c.memberKnown`,
    offset_commit_states.client_epoch AS `c.clientEpoch`,
    offset_commit_states.member_epoch AS `c.memberEpoch`,
    offset_commit_states.assignment_epoch AS `c.assignmentEpoch`,
    quantified_1.holds AS `\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))`
  FROM silver.offset_commit_states AS offset_commit_states
  LEFT JOIN quantified_1
    ON offset_commit_states.cluster = quantified_1.cluster
    AND offset_commit_states.request_id = quantified_1.request_id
    AND offset_commit_states.candidate = quantified_1.candidate
), judged AS (
  SELECT
    *,
    (
      `c.unfenced`
      OR (
        `c.memberKnown`
        AND (
          `c.clientEpoch` = `c.memberEpoch`
          OR (
            `c.clientEpoch` < `c.memberEpoch`
            AND `c.assignmentEpoch` >= 0
            AND `c.assignmentEpoch` <= `c.clientEpoch`
          )
        )
      )
    )
    AND `\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))` AS c1
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
