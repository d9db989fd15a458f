-- generated from spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
-- one pass for shipped_error, proposed_error, truth
WITH quantified_1_rows AS (
  SELECT
    cluster,
    request_id,
    candidate,
    accepted AS "d.accepted",
    fenced AS "d.fenced",
    unfenced AS "d.unfenced",
    member_known AS "d.memberKnown",
    client_epoch AS "d.clientEpoch",
    member_epoch AS "d.memberEpoch",
    assignment_epoch AS "d.assignmentEpoch"
  FROM silver.offset_commit_states
), quantified_1_judged AS (
  SELECT
    cluster,
    request_id,
    candidate,
    (
      NOT "d.accepted" AND NOT "d.fenced"
    )
    OR (
      "d.unfenced"
      OR (
        "d.memberKnown"
        AND (
          "d.clientEpoch" = "d.memberEpoch"
          OR (
            "d.clientEpoch" < "d.memberEpoch"
            AND "d.assignmentEpoch" >= 0
            AND "d.assignmentEpoch" <= "d.clientEpoch"
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
    offset_commit_states."rule" AS "c.rule",
    offset_commit_states.unfenced AS "c.unfenced",
    offset_commit_states.member_known AS "c.memberKnown",
    offset_commit_states.client_epoch AS "c.clientEpoch",
    offset_commit_states.member_epoch AS "c.memberEpoch",
    offset_commit_states.transactional AS "c.transactional",
    offset_commit_states.rebalancing AS "c.rebalancing",
    offset_commit_states.assignment_epoch AS "c.assignmentEpoch",
    offset_commit_states.classic_member AS "c.classicMember",
    offset_commit_states.api_version AS "c.apiVersion",
    offset_commit_states.group_known AS "c.groupKnown",
    offset_commit_states.instance_fenced AS "c.instanceFenced",
    offset_commit_states.revocation_epoch AS "c.revocationEpoch",
    offset_commit_states.owned_at_client_epoch AS "c.ownedAtClientEpoch",
    offset_commit_states.reassigned_since AS "c.reassignedSince",
    offset_commit_states.uninterrupted AS "c.uninterrupted",
    quantified_1.holds AS "\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))"
  FROM silver.offset_commit_states AS offset_commit_states
  LEFT JOIN quantified_1
    ON offset_commit_states.cluster = quantified_1.cluster
    AND offset_commit_states.request_id = quantified_1.request_id
    AND offset_commit_states.candidate = quantified_1.candidate
), given_1 AS (
  SELECT
    *,
    CASE (
        "c.apiVersion" >= CASE "c.transactional" WHEN TRUE THEN 6 WHEN FALSE THEN 9 ELSE CASE WHEN 6 = 9 THEN 6 END END
      )
      WHEN TRUE
      THEN 'GROUP_ID_NOT_FOUND'
      WHEN FALSE
      THEN 'ILLEGAL_GENERATION'
      ELSE CASE WHEN 'GROUP_ID_NOT_FOUND' = 'ILLEGAL_GENERATION' THEN 'GROUP_ID_NOT_FOUND' END
    END AS "given.1",
    CASE (
        NOT "c.unfenced"
        AND NOT "c.rule" = 'generation'
        AND NOT "c.transactional"
        AND NOT "c.classicMember"
        AND "c.apiVersion" < 9
      )
      WHEN TRUE
      THEN 'UNSUPPORTED_VERSION'
      WHEN FALSE
      THEN CASE (
          "c.rule" = 'generation' AND "c.clientEpoch" = "c.memberEpoch"
        )
        WHEN TRUE
        THEN 'REBALANCE_IN_PROGRESS'
        WHEN FALSE
        THEN CASE (
            (
              "c.rule" = 'generation' OR "c.classicMember"
            ) OR (
              "c.transactional" AND "c.apiVersion" < 6
            )
          )
          WHEN TRUE
          THEN 'ILLEGAL_GENERATION'
          WHEN FALSE
          THEN 'STALE_MEMBER_EPOCH'
          ELSE CASE WHEN 'ILLEGAL_GENERATION' = 'STALE_MEMBER_EPOCH' THEN 'ILLEGAL_GENERATION' END
        END
        ELSE CASE
          WHEN 'REBALANCE_IN_PROGRESS' = CASE (
              (
                "c.rule" = 'generation' OR "c.classicMember"
              ) OR (
                "c.transactional" AND "c.apiVersion" < 6
              )
            )
            WHEN TRUE
            THEN 'ILLEGAL_GENERATION'
            WHEN FALSE
            THEN 'STALE_MEMBER_EPOCH'
            ELSE CASE WHEN 'ILLEGAL_GENERATION' = 'STALE_MEMBER_EPOCH' THEN 'ILLEGAL_GENERATION' END
          END
          THEN 'REBALANCE_IN_PROGRESS'
        END
      END
      ELSE CASE
        WHEN 'UNSUPPORTED_VERSION' = CASE (
            "c.rule" = 'generation' AND "c.clientEpoch" = "c.memberEpoch"
          )
          WHEN TRUE
          THEN 'REBALANCE_IN_PROGRESS'
          WHEN FALSE
          THEN CASE (
              (
                "c.rule" = 'generation' OR "c.classicMember"
              ) OR (
                "c.transactional" AND "c.apiVersion" < 6
              )
            )
            WHEN TRUE
            THEN 'ILLEGAL_GENERATION'
            WHEN FALSE
            THEN 'STALE_MEMBER_EPOCH'
            ELSE CASE WHEN 'ILLEGAL_GENERATION' = 'STALE_MEMBER_EPOCH' THEN 'ILLEGAL_GENERATION' END
          END
          ELSE CASE
            WHEN 'REBALANCE_IN_PROGRESS' = CASE (
                (
                  "c.rule" = 'generation' OR "c.classicMember"
                ) OR (
                  "c.transactional" AND "c.apiVersion" < 6
                )
              )
              WHEN TRUE
              THEN 'ILLEGAL_GENERATION'
              WHEN FALSE
              THEN 'STALE_MEMBER_EPOCH'
              ELSE CASE WHEN 'ILLEGAL_GENERATION' = 'STALE_MEMBER_EPOCH' THEN 'ILLEGAL_GENERATION' END
            END
            THEN 'REBALANCE_IN_PROGRESS'
          END
        END
        THEN 'UNSUPPORTED_VERSION'
      END
    END AS "given.2",
    "c.unfenced"
    OR (
      "c.memberKnown"
      AND "c.clientEpoch" = "c.memberEpoch"
      AND (
        "c.transactional" OR NOT "c.rebalancing"
      )
    ) AS "given.7",
    "c.unfenced" OR (
      "c.memberKnown" AND "c.clientEpoch" = "c.memberEpoch"
    ) AS "given.8",
    CASE (
        "c.rule" = 'assignment_epoch'
      )
      WHEN TRUE
      THEN (
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
      )
      AND "\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))"
      WHEN FALSE
      THEN CASE (
        "c.rule" = 'none_accepted'
      ) WHEN TRUE THEN FALSE WHEN FALSE THEN CAST(NULL AS BOOLEAN) END
      ELSE CASE
        WHEN (
          (
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
          )
          AND "\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))"
        ) = CASE (
          "c.rule" = 'none_accepted'
        ) WHEN TRUE THEN FALSE WHEN FALSE THEN CAST(NULL AS BOOLEAN) END
        THEN (
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
        )
        AND "\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))"
      END
    END AS "given.9"
  FROM frame
), given_2 AS (
  SELECT
    *,
    CASE (
        NOT "c.memberKnown"
      )
      WHEN TRUE
      THEN 'UNKNOWN_MEMBER_ID'
      WHEN FALSE
      THEN "given.2"
      ELSE CASE WHEN 'UNKNOWN_MEMBER_ID' = "given.2" THEN 'UNKNOWN_MEMBER_ID' END
    END AS "given.3",
    CASE (
        "c.rule" = 'strict'
      )
      WHEN TRUE
      THEN "given.8"
      WHEN FALSE
      THEN "given.9"
      ELSE CASE WHEN "given.8" = "given.9" THEN "given.8" END
    END AS "given.10"
  FROM given_1
), given_3 AS (
  SELECT
    *,
    CASE (
        "c.rule" = 'generation' AND "c.instanceFenced"
      )
      WHEN TRUE
      THEN 'FENCED_INSTANCE_ID'
      WHEN FALSE
      THEN "given.3"
      ELSE CASE WHEN 'FENCED_INSTANCE_ID' = "given.3" THEN 'FENCED_INSTANCE_ID' END
    END AS "given.4"
  FROM given_2
), given_4 AS (
  SELECT
    *,
    CASE (
        NOT "c.groupKnown"
      )
      WHEN TRUE
      THEN "given.1"
      WHEN FALSE
      THEN "given.4"
      ELSE CASE WHEN "given.1" = "given.4" THEN "given.1" END
    END AS "given.5"
  FROM given_3
), given_5 AS (
  SELECT
    *,
    CASE (
        "c.rule" = 'none_accepted'
      )
      WHEN TRUE
      THEN 'GROUP_ID_NOT_FOUND'
      WHEN FALSE
      THEN "given.5"
      ELSE CASE WHEN 'GROUP_ID_NOT_FOUND' = "given.5" THEN 'GROUP_ID_NOT_FOUND' END
    END AS "given.6"
  FROM given_4
), judged AS (
  SELECT
    *,
    CASE (
        CASE (
            "c.rule" = 'generation'
          )
          WHEN TRUE
          THEN "given.7"
          WHEN FALSE
          THEN "given.10"
          ELSE CASE WHEN "given.7" = "given.10" THEN "given.7" END
        END
        AND NOT (
          NOT "c.unfenced"
          AND NOT "c.rule" = 'generation'
          AND NOT "c.transactional"
          AND NOT "c.classicMember"
          AND "c.apiVersion" < 9
        )
      )
      WHEN TRUE
      THEN 'NONE'
      WHEN FALSE
      THEN "given.6"
      ELSE CASE WHEN 'NONE' = "given.6" THEN 'NONE' END
    END AS c1_1,
    "c.rule" = 'generation'
    OR (
      "c.rule" = 'strict'
      OR (
        "c.rule" = 'assignment_epoch' OR (
          "c.rule" = 'none_accepted' OR FALSE
        )
      )
    ) AS evaluates_1,
    CASE (
        (
          "c.unfenced"
          OR (
            "c.memberKnown" AND "c.revocationEpoch" < "c.clientEpoch" AND "c.clientEpoch" <= "c.memberEpoch"
          )
        )
        AND NOT (
          NOT "c.unfenced"
          AND NOT "c.rule" = 'generation'
          AND NOT "c.transactional"
          AND NOT "c.classicMember"
          AND "c.apiVersion" < 9
        )
      )
      WHEN TRUE
      THEN 'NONE'
      WHEN FALSE
      THEN "given.6"
      ELSE CASE WHEN 'NONE' = "given.6" THEN 'NONE' END
    END AS c1_2,
    CASE (
        "c.ownedAtClientEpoch" AND "c.reassignedSince"
      )
      WHEN TRUE
      THEN 'zombie'
      WHEN FALSE
      THEN CASE (
          "c.ownedAtClientEpoch" AND "c.uninterrupted"
        )
        WHEN TRUE
        THEN 'owner'
        WHEN FALSE
        THEN 'not_owner'
        ELSE CASE WHEN 'owner' = 'not_owner' THEN 'owner' END
      END
      ELSE CASE
        WHEN 'zombie' = CASE (
            "c.ownedAtClientEpoch" AND "c.uninterrupted"
          )
          WHEN TRUE
          THEN 'owner'
          WHEN FALSE
          THEN 'not_owner'
          ELSE CASE WHEN 'owner' = 'not_owner' THEN 'owner' END
        END
        THEN 'zombie'
      END
    END AS c1_3
  FROM given_5
), agreed AS (
  SELECT
    cluster,
    commit_id,
    COUNT(*) AS states,
    CASE
      WHEN COUNT(*) = COUNT(CASE WHEN evaluates_1 THEN c1_1 END)
      AND MIN(CASE WHEN evaluates_1 THEN c1_1 END) = MAX(CASE WHEN evaluates_1 THEN c1_1 END)
      THEN MIN(CASE WHEN evaluates_1 THEN c1_1 END)
    END AS verdict_1,
    CASE WHEN COUNT(*) = COUNT(c1_2) AND MIN(c1_2) = MAX(c1_2) THEN MIN(c1_2) END AS verdict_2,
    CASE WHEN COUNT(*) = COUNT(c1_3) AND MIN(c1_3) = MAX(c1_3) THEN MIN(c1_3) END AS verdict_3,
    CASE
      WHEN MIN(CASE WHEN evaluates_1 THEN c1_1 END) < MAX(CASE WHEN evaluates_1 THEN c1_1 END)
      THEN 'several_states'
      ELSE MIN(
        CASE
          WHEN CASE WHEN evaluates_1 THEN c1_1 END IS NULL
          THEN CASE WHEN NOT evaluates_1 THEN 'no_value' WHEN "c.groupKnown" IS NULL THEN 'not_logged' END
        END
      )
    END AS reason_1,
    CASE
      WHEN MIN(c1_2) < MAX(c1_2)
      THEN 'several_states'
      ELSE MIN(CASE WHEN c1_2 IS NULL THEN CASE WHEN "c.groupKnown" IS NULL THEN 'not_logged' END END)
    END AS reason_2,
    CASE WHEN MIN(c1_3) < MAX(c1_3) THEN 'several_states' END AS reason_3
  FROM judged
  GROUP BY
    cluster,
    commit_id
)
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  subject,
  STRUCT_EXTRACT(each, 'outcome') AS outcome,
  STRUCT_EXTRACT(each, 'reason') AS reason
FROM (
  SELECT
    cluster,
    subject,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      commit_id AS subject,
      [
        {'definition': 'shipped_error', 'outcome': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_1 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_1 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_1 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END},
        {'definition': 'proposed_error', 'outcome': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_2 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_2 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_2 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END},
        {'definition': 'truth', 'outcome': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_3 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_3 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_3 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END}
      ] AS rows_
    FROM silver.offset_commits AS offset_commits
    FULL OUTER JOIN agreed
      USING (cluster, commit_id)
  ) AS judged_together
) AS fanned
