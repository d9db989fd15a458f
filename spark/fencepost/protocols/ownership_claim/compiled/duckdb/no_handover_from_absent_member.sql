-- generated from NoHandoverFromAbsentMember in spec/ownership_claim/OwnershipClaimProps.tla by `tlasql compile`; do not edit
--
-- NoHandoverFromAbsentMember == \A a \in handovers : a.previousOwnerStays => a.previousOwnerJoined
WITH frame AS (
  SELECT
    cluster,
    group_id,
    life,
    assignment_id,
    from_position,
    to_position,
    from_time,
    to_time,
    previous_owner_stays AS "a.previousOwnerStays",
    previous_owner_joined AS "a.previousOwnerJoined"
  FROM silver.classic_assignments
), judged AS (
  SELECT
    *,
    "a.previousOwnerStays" AS antecedent,
    "a.previousOwnerJoined" AS c1
  FROM frame
), weighed AS (
  SELECT
    cluster,
    group_id,
    life,
    assignment_id,
    from_position,
    to_position,
    from_time,
    to_time,
    "a.previousOwnerStays",
    "a.previousOwnerJoined",
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'a.previousOwnerJoined' END AS failed_conjunct
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    assignment_id
  FROM silver.classic_assignments
  GROUP BY
    cluster,
    assignment_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    assignment_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'group_id': group_id, 'life': life, 'failed_conjunct': failed_conjunct, 'a.previousOwnerStays': "a.previousOwnerStays", 'a.previousOwnerJoined': "a.previousOwnerJoined"} AS first_state,
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
        AND several_agreed.assignment_id IS NOT DISTINCT FROM weighed.assignment_id
    )
  UNION ALL
  SELECT
    cluster,
    assignment_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE(
      {'group_id': group_id, 'life': life, 'failed_conjunct': failed_conjunct, 'a.previousOwnerStays': "a.previousOwnerStays", 'a.previousOwnerJoined': "a.previousOwnerJoined"}
    ) AS first_state,
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
        AND several_agreed.assignment_id IS NOT DISTINCT FROM weighed.assignment_id
    )
  GROUP BY
    cluster,
    assignment_id
)
SELECT
  cluster,
  CAST(JSON_OBJECT(
    'group_id',
    COALESCE(STRUCT_EXTRACT(agreed.first_state, 'group_id'), classic_assignments.group_id),
    'life',
    COALESCE(STRUCT_EXTRACT(agreed.first_state, 'life'), classic_assignments.life)
  ) AS TEXT) AS scope,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN CAST(JSON_OBJECT('a', assignment_id) AS TEXT)
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, classic_assignments.from_time) AS from_time,
  COALESCE(agreed.to_time, classic_assignments.to_time) AS to_time,
  agreed.verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE WHEN NOT agreed.verdict THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct') END AS failed_conjunct,
  CASE WHEN agreed.verdict IS NULL THEN COALESCE(classic_assignments.unknown_reason, 'not_captured') END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict, FALSE)
    THEN CAST(JSON_OBJECT(
      'a.previousOwnerStays',
      STRUCT_EXTRACT(agreed.first_state, 'a.previousOwnerStays'),
      'a.previousOwnerJoined',
      STRUCT_EXTRACT(agreed.first_state, 'a.previousOwnerJoined')
    ) AS TEXT)
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN CAST(JSON_OBJECT(
      'coordinator_partition',
      classic_assignments.coordinator_partition,
      'generation',
      classic_assignments.generation,
      'member_id',
      classic_assignments.member_id,
      'client_id',
      classic_assignments.client_id,
      'instance_id',
      classic_assignments.instance_id,
      'topic',
      classic_assignments.topic,
      'partition',
      classic_assignments."partition",
      'previous_owner',
      classic_assignments.previous_owner,
      'record_offset',
      classic_assignments.record_offset
    ) AS TEXT)
  END AS evidence
FROM silver.classic_assignments AS classic_assignments
FULL OUTER JOIN agreed
  USING (cluster, assignment_id)
