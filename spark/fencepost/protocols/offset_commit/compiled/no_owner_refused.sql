-- generated from NoOwnerRefused in spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
--
-- NoOwnerRefused == \A c \in commits : Owner(c) => ~c.fenced
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
    owned_at_client_epoch AS `c.ownedAtClientEpoch`,
    uninterrupted AS `c.uninterrupted`,
    fenced AS `c.fenced`
  FROM silver.offset_commit_states
), judged AS (
  SELECT
    *,
    `c.ownedAtClientEpoch` AND `c.uninterrupted` AS antecedent,
    NOT `c.fenced` AS c1
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
    `c.ownedAtClientEpoch`,
    `c.uninterrupted`,
    `c.fenced`,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN '~c.fenced' END AS failed_conjunct
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
        'group_id',
        group_id,
        'life',
        life,
        'failed_conjunct',
        failed_conjunct,
        'c.ownedAtClientEpoch',
        `c.ownedAtClientEpoch`,
        'c.uninterrupted',
        `c.uninterrupted`,
        'c.fenced',
        `c.fenced`
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
    STRUCT(
      COALESCE(agreed.first_state.`group_id`, offset_commits.group_id) AS group_id,
      agreed.first_state.`life` AS life
    ),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(STRUCT(commit_id AS c), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, offset_commits.requested_at) AS from_time,
  COALESCE(agreed.to_time, offset_commits.responded_at) AS to_time,
  CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END AS verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed.states = offset_commits.candidates
    THEN CASE WHEN NOT agreed.verdict THEN agreed.first_state.`failed_conjunct` END
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
    THEN TO_JSON(
      STRUCT(
        agreed.first_state.`c.ownedAtClientEpoch` AS `c.ownedAtClientEpoch`,
        agreed.first_state.`c.uninterrupted` AS `c.uninterrupted`,
        agreed.first_state.`c.fenced` AS `c.fenced`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(
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
        offset_commits.unknown_detail,
        offset_commits.file,
        offset_commits.`position`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS evidence
FROM silver.offset_commits AS offset_commits
FULL OUTER JOIN agreed
  USING (cluster, commit_id)
