-- generated from CommitOfCurrentGeneration in spec/ownership_claim/OwnershipClaimProps.tla by `tlasql compile`; do not edit
--
-- CommitOfCurrentGeneration ==
--     \A c \in commits : c.protocol = "classic" /\ c.accepted /\ ~c.unfenced => c.generation = c.currentGeneration
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
    protocol AS "c.protocol",
    accepted AS "c.accepted",
    unfenced AS "c.unfenced",
    client_epoch AS "c.generation",
    member_epoch AS "c.currentGeneration"
  FROM silver.offset_commit_states
), judged AS (
  SELECT
    *,
    (
      "c.protocol" = 'classic' AND "c.accepted"
    ) AND NOT "c.unfenced" AS antecedent,
    "c.generation" = "c.currentGeneration" AS c1
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
    "c.protocol",
    "c.accepted",
    "c.unfenced",
    "c.generation",
    "c.currentGeneration",
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'c.generation = c.currentGeneration' END AS failed_conjunct
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    commit_id
  FROM silver.offset_commit_states
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
    {'group_id': group_id, 'life': life, 'failed_conjunct': failed_conjunct, 'c.protocol': "c.protocol", 'c.accepted': "c.accepted", 'c.unfenced': "c.unfenced", 'c.generation': "c.generation", 'c.currentGeneration': "c.currentGeneration"} AS first_state,
    CASE WHEN COALESCE(verdict, FALSE) THEN TRUE WHEN COALESCE(NOT verdict, FALSE) THEN FALSE END AS verdict,
    exercised AS exercised,
    CASE WHEN verdict AND NOT verdict THEN 'several_states' END AS reason
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
      {'group_id': group_id, 'life': life, 'failed_conjunct': failed_conjunct, 'c.protocol': "c.protocol", 'c.accepted': "c.accepted", 'c.unfenced': "c.unfenced", 'c.generation': "c.generation", 'c.currentGeneration': "c.currentGeneration"},
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
      'c.protocol',
      STRUCT_EXTRACT(agreed.first_state, 'c.protocol'),
      'c.accepted',
      STRUCT_EXTRACT(agreed.first_state, 'c.accepted'),
      'c.unfenced',
      STRUCT_EXTRACT(agreed.first_state, 'c.unfenced'),
      'c.generation',
      STRUCT_EXTRACT(agreed.first_state, 'c.generation'),
      'c.currentGeneration',
      STRUCT_EXTRACT(agreed.first_state, 'c.currentGeneration')
    ) AS TEXT)
  END AS observed,
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
      'committed_offset',
      offset_commits.committed_offset,
      'broker_error',
      offset_commits.broker_error,
      'record_offset',
      offset_commits.record_offset,
      'file',
      offset_commits.file,
      'position',
      offset_commits."position"
    ) AS TEXT)
  END AS evidence
FROM silver.offset_commits AS offset_commits
FULL OUTER JOIN agreed
  USING (cluster, commit_id)
