-- generated from spec/ownership_claim/OwnershipClaimProps.tla:103 by `tlasql compile`; do not edit
--
-- NoHandoverBeforeRevocation == \A c \in claims : c.held /\ Valid(c) => ~c.assignedToAnother
WITH frame AS (
  SELECT
    cluster,
    group_id,
    life,
    claim_id,
    from_position,
    to_position,
    from_time,
    to_time,
    is_held AS "c.held",
    claimed_generation AS "c.claimedGeneration",
    greatest_claim_of_others AS "c.greatestClaimOfOthers",
    assigned_to_another AS "c.assignedToAnother"
  FROM silver.ownership_claims
), judged AS (
  SELECT
    *,
    "c.held" AND "c.claimedGeneration" > "c.greatestClaimOfOthers" AS antecedent,
    NOT "c.assignedToAnother" AS c1
  FROM frame
), weighed AS (
  SELECT
    cluster,
    group_id,
    life,
    claim_id,
    from_position,
    to_position,
    from_time,
    to_time,
    "c.held",
    "c.claimedGeneration",
    "c.greatestClaimOfOthers",
    "c.assignedToAnother",
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN '~c.assignedToAnother (OwnershipClaimProps:103)' END AS failed_conjunct
  FROM judged
), agreed AS (
  SELECT
    cluster,
    claim_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE(
      {'group_id': group_id, 'life': life, 'failed_conjunct': failed_conjunct, 'c.held': "c.held", 'c.claimedGeneration': "c.claimedGeneration", 'c.greatestClaimOfOthers': "c.greatestClaimOfOthers", 'c.assignedToAnother': "c.assignedToAnother"}
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised
  FROM weighed
  GROUP BY
    cluster,
    claim_id
)
SELECT
  cluster,
  CAST(JSON_OBJECT(
    'group_id',
    COALESCE(STRUCT_EXTRACT(agreed.first_state, 'group_id'), ownership_claims.group_id),
    'life',
    COALESCE(STRUCT_EXTRACT(agreed.first_state, 'life'), ownership_claims.life)
  ) AS TEXT) AS scope,
  CASE WHEN NOT (
    COALESCE(agreed.verdict, FALSE)
  ) THEN CAST(JSON_OBJECT('c', claim_id) AS TEXT) END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, ownership_claims.from_time) AS from_time,
  COALESCE(agreed.to_time, ownership_claims.to_time) AS to_time,
  agreed.verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE WHEN NOT agreed.verdict THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct') END AS failed_conjunct,
  CASE WHEN agreed.verdict IS NULL THEN 'unread' END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict, FALSE)
    THEN CAST(JSON_OBJECT(
      'c.held',
      STRUCT_EXTRACT(agreed.first_state, 'c.held'),
      'c.claimedGeneration',
      STRUCT_EXTRACT(agreed.first_state, 'c.claimedGeneration'),
      'c.greatestClaimOfOthers',
      STRUCT_EXTRACT(agreed.first_state, 'c.greatestClaimOfOthers'),
      'c.assignedToAnother',
      STRUCT_EXTRACT(agreed.first_state, 'c.assignedToAnother')
    ) AS TEXT)
  END AS "values",
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN CAST(JSON_OBJECT(
      'coordinator_partition',
      ownership_claims.coordinator_partition,
      'generation',
      ownership_claims.generation,
      'member_id',
      ownership_claims.member_id,
      'client_id',
      ownership_claims.client_id,
      'instance_id',
      ownership_claims.instance_id,
      'topic',
      ownership_claims.topic,
      'partition',
      ownership_claims."partition",
      'claim_source',
      ownership_claims.claim_source,
      'contradicted_by',
      ownership_claims.contradicted_by,
      'assigned_to',
      ownership_claims.assigned_to,
      'record_offset',
      ownership_claims.record_offset,
      'unread_reason',
      ownership_claims.unread_reason
    ) AS TEXT)
  END AS evidence
FROM silver.ownership_claims AS ownership_claims
FULL OUTER JOIN agreed
  USING (cluster, claim_id)
