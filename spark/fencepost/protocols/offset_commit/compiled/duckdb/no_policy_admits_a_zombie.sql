-- generated from spec/offset_commit/OffsetCommitProps.tla:457 by `tlasql compile`; do not edit
--
-- NoPolicyAdmitsAZombie ==
--     \A c \in commits : Decided(c) /\ Zombie(c) =>
--         /\ ~Strict(c)
--         /\ ~MemberRevocation(c)
--         /\ ~PartitionRevocation(c)
--         /\ ~AcceptedByAssignmentEpoch(c)
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
    error AS "c.error",
    owned_at_client_epoch AS "c.ownedAtClientEpoch",
    reassigned_since AS "c.reassignedSince",
    unfenced AS "c.unfenced",
    member_known AS "c.memberKnown",
    client_epoch AS "c.clientEpoch",
    member_epoch AS "c.memberEpoch",
    revocation_epoch AS "c.revocationEpoch",
    partition_revocation_epoch AS "c.partitionRevocationEpoch",
    assignment_epoch AS "c.assignmentEpoch"
  FROM silver.offset_commit_states
), judged AS (
  SELECT
    *,
    NOT (
      "c.error" = 'NOT_COORDINATOR'
      OR "c.error" = 'COORDINATOR_NOT_AVAILABLE'
      OR "c.error" = 'COORDINATOR_LOAD_IN_PROGRESS'
    )
    AND (
      "c.ownedAtClientEpoch" AND "c.reassignedSince"
    ) AS antecedent,
    NOT (
      "c.unfenced" OR (
        "c.memberKnown" AND "c.clientEpoch" = "c.memberEpoch"
      )
    ) AS c1,
    NOT (
      "c.unfenced"
      OR (
        "c.memberKnown" AND "c.revocationEpoch" < "c.clientEpoch" AND "c.clientEpoch" <= "c.memberEpoch"
      )
    ) AS c2,
    NOT (
      "c.unfenced"
      OR (
        "c.memberKnown"
        AND "c.partitionRevocationEpoch" < "c.clientEpoch"
        AND "c.clientEpoch" <= "c.memberEpoch"
      )
    ) AS c3,
    NOT (
      "c.unfenced"
      OR (
        "c.memberKnown"
        AND (
          "c.clientEpoch" = "c.memberEpoch"
          OR (
            "c.clientEpoch" < "c.memberEpoch"
            AND "c.assignmentEpoch" >= 0
            AND "c.assignmentEpoch" <= "c.clientEpoch"
          )
        )
      )
    ) AS c4
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
    "c.error",
    "c.ownedAtClientEpoch",
    "c.reassignedSince",
    "c.unfenced",
    "c.memberKnown",
    "c.clientEpoch",
    "c.memberEpoch",
    "c.revocationEpoch",
    "c.partitionRevocationEpoch",
    "c.assignmentEpoch",
    NOT antecedent OR (
      c1 AND c2 AND c3 AND c4
    ) AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE
      WHEN antecedent AND NOT c1
      THEN '~Strict(c) (OffsetCommitProps:459)'
      WHEN antecedent AND NOT c2
      THEN '~MemberRevocation(c) (OffsetCommitProps:460)'
      WHEN antecedent AND NOT c3
      THEN '~PartitionRevocation(c) (OffsetCommitProps:461)'
      WHEN antecedent AND NOT c4
      THEN '~AcceptedByAssignmentEpoch(c) (OffsetCommitProps:462)'
    END AS failed_conjunct
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
    ARG_MIN(
      {'group_id': group_id, 'life': life, 'failed_conjunct': failed_conjunct, 'c.error': "c.error", 'c.ownedAtClientEpoch': "c.ownedAtClientEpoch", 'c.reassignedSince': "c.reassignedSince", 'c.unfenced': "c.unfenced", 'c.memberKnown': "c.memberKnown", 'c.clientEpoch': "c.clientEpoch", 'c.memberEpoch': "c.memberEpoch", 'c.revocationEpoch': "c.revocationEpoch", 'c.partitionRevocationEpoch': "c.partitionRevocationEpoch", 'c.assignmentEpoch': "c.assignmentEpoch"},
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
  CAST(JSON_OBJECT(
    'group_id',
    COALESCE(STRUCT_EXTRACT(agreed.first_state, 'group_id'), offset_commits.group_id),
    'life',
    STRUCT_EXTRACT(agreed.first_state, 'life')
  ) AS TEXT) AS scope,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END, FALSE)
    )
    THEN CAST(JSON_OBJECT('c', commit_id) AS TEXT)
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, offset_commits.requested_at) AS from_time,
  COALESCE(agreed.to_time, offset_commits.responded_at) AS to_time,
  CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END AS verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed.states = offset_commits.candidates
    THEN CASE WHEN NOT agreed.verdict THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct') END
  END AS failed_conjunct,
  CASE
    WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason END,
      offset_commits.unknown_reason,
      'not_captured'
    )
  END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL
    AND NOT COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END, FALSE)
    THEN CAST(JSON_OBJECT(
      'c.error',
      STRUCT_EXTRACT(agreed.first_state, 'c.error'),
      'c.ownedAtClientEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'c.ownedAtClientEpoch'),
      'c.reassignedSince',
      STRUCT_EXTRACT(agreed.first_state, 'c.reassignedSince'),
      'c.unfenced',
      STRUCT_EXTRACT(agreed.first_state, 'c.unfenced'),
      'c.memberKnown',
      STRUCT_EXTRACT(agreed.first_state, 'c.memberKnown'),
      'c.clientEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'c.clientEpoch'),
      'c.memberEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'c.memberEpoch'),
      'c.revocationEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'c.revocationEpoch'),
      'c.partitionRevocationEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'c.partitionRevocationEpoch'),
      'c.assignmentEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'c.assignmentEpoch')
    ) AS TEXT)
  END AS "values",
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END, FALSE)
    )
    THEN CAST(JSON_OBJECT(
      'commit_id',
      commit_id,
      'request_id',
      offset_commits.request_id,
      'broker_id',
      offset_commits.broker_id,
      'member_id',
      offset_commits.member_id,
      'client_id',
      offset_commits.client_id,
      'topic',
      offset_commits.topic,
      'partition',
      offset_commits."partition",
      'client_epoch',
      offset_commits.client_epoch,
      'committed_offset',
      offset_commits.committed_offset,
      'broker_error',
      offset_commits.broker_error,
      'record_offset',
      offset_commits.record_offset,
      'candidates',
      offset_commits.candidates,
      'unknown_detail',
      offset_commits.unknown_detail,
      'file',
      offset_commits.file,
      'position',
      offset_commits."position"
    ) AS TEXT)
  END AS evidence
FROM silver.offset_commits AS offset_commits
FULL OUTER JOIN agreed
  USING (cluster, commit_id)
