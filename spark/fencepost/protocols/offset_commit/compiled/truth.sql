-- generated from Truth in spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
--
-- Truth(c) == IF Zombie(c) THEN "zombie" ELSE IF Owner(c) THEN "owner" ELSE "not_owner"
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
    reassigned_since AS `c.reassignedSince`,
    uninterrupted AS `c.uninterrupted`
  FROM silver.offset_commit_states
), judged AS (
  SELECT
    *,
    CASE (
        `c.ownedAtClientEpoch` AND `c.reassignedSince`
      )
      WHEN TRUE
      THEN 'zombie'
      WHEN FALSE
      THEN CASE (
          `c.ownedAtClientEpoch` AND `c.uninterrupted`
        )
        WHEN TRUE
        THEN 'owner'
        WHEN FALSE
        THEN 'not_owner'
        ELSE CASE WHEN 'owner' = 'not_owner' THEN 'owner' END
      END
      ELSE CASE
        WHEN 'zombie' = CASE (
            `c.ownedAtClientEpoch` AND `c.uninterrupted`
          )
          WHEN TRUE
          THEN 'owner'
          WHEN FALSE
          THEN 'not_owner'
          ELSE CASE WHEN 'owner' = 'not_owner' THEN 'owner' END
        END
        THEN 'zombie'
      END
    END AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    commit_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1) AND MIN(c1) = MAX(c1) THEN MIN(c1) END AS verdict,
    CASE WHEN MIN(c1) < MAX(c1) THEN 'several_states' END AS reason
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
