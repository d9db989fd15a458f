-- generated from spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
-- one pass for strict, member_revocation, partition_revocation, assignment_epoch, broker_rule
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
    offset_commit_states.unfenced AS "c.unfenced",
    offset_commit_states.member_known AS "c.memberKnown",
    offset_commit_states.client_epoch AS "c.clientEpoch",
    offset_commit_states.member_epoch AS "c.memberEpoch",
    offset_commit_states.revocation_epoch AS "c.revocationEpoch",
    offset_commit_states.partition_revocation_epoch AS "c.partitionRevocationEpoch",
    offset_commit_states.assignment_epoch AS "c.assignmentEpoch",
    offset_commit_states."rule" AS "c.rule",
    offset_commit_states.transactional AS "c.transactional",
    offset_commit_states.rebalancing AS "c.rebalancing",
    quantified_1.holds AS "\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))"
  FROM silver.offset_commit_states AS offset_commit_states
  LEFT JOIN quantified_1
    ON offset_commit_states.cluster = quantified_1.cluster
    AND offset_commit_states.request_id = quantified_1.request_id
    AND offset_commit_states.candidate = quantified_1.candidate
), given_1 AS (
  SELECT
    *,
    "c.unfenced"
    OR (
      "c.memberKnown"
      AND "c.clientEpoch" = "c.memberEpoch"
      AND (
        "c.transactional" OR NOT "c.rebalancing"
      )
    ) AS "given.1",
    "c.unfenced" OR (
      "c.memberKnown" AND "c.clientEpoch" = "c.memberEpoch"
    ) AS "given.2",
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
    END AS "given.3"
  FROM frame
), given_2 AS (
  SELECT
    *,
    CASE (
        "c.rule" = 'strict'
      )
      WHEN TRUE
      THEN "given.2"
      WHEN FALSE
      THEN "given.3"
      ELSE CASE WHEN "given.2" = "given.3" THEN "given.2" END
    END AS "given.4"
  FROM given_1
), judged AS (
  SELECT
    *,
    "c.unfenced" OR (
      "c.memberKnown" AND "c.clientEpoch" = "c.memberEpoch"
    ) AS c1_1,
    "c.unfenced"
    OR (
      "c.memberKnown" AND "c.revocationEpoch" < "c.clientEpoch" AND "c.clientEpoch" <= "c.memberEpoch"
    ) AS c1_2,
    "c.unfenced"
    OR (
      "c.memberKnown"
      AND "c.partitionRevocationEpoch" < "c.clientEpoch"
      AND "c.clientEpoch" <= "c.memberEpoch"
    ) AS c1_3,
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
    AND "\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))" AS c1_4,
    CASE (
        "c.rule" = 'generation'
      )
      WHEN TRUE
      THEN "given.1"
      WHEN FALSE
      THEN "given.4"
      ELSE CASE WHEN "given.1" = "given.4" THEN "given.1" END
    END AS c1_5
  FROM given_2
), agreed AS (
  SELECT
    cluster,
    commit_id,
    COUNT(*) AS states,
    CASE
      WHEN BOOL_AND(COALESCE(c1_1, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT c1_1, FALSE))
      THEN FALSE
    END AS verdict_1,
    CASE
      WHEN BOOL_AND(COALESCE(c1_2, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT c1_2, FALSE))
      THEN FALSE
    END AS verdict_2,
    CASE
      WHEN BOOL_AND(COALESCE(c1_3, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT c1_3, FALSE))
      THEN FALSE
    END AS verdict_3,
    CASE
      WHEN BOOL_AND(COALESCE(c1_4, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT c1_4, FALSE))
      THEN FALSE
    END AS verdict_4,
    CASE
      WHEN BOOL_AND(COALESCE(c1_5, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT c1_5, FALSE))
      THEN FALSE
    END AS verdict_5,
    CASE WHEN BOOL_OR(c1_1) AND BOOL_OR(NOT c1_1) THEN 'several_states' END AS reason_1,
    CASE WHEN BOOL_OR(c1_2) AND BOOL_OR(NOT c1_2) THEN 'several_states' END AS reason_2,
    CASE WHEN BOOL_OR(c1_3) AND BOOL_OR(NOT c1_3) THEN 'several_states' END AS reason_3,
    CASE WHEN BOOL_OR(c1_4) AND BOOL_OR(NOT c1_4) THEN 'several_states' END AS reason_4,
    CASE
      WHEN BOOL_OR(c1_5) AND BOOL_OR(NOT c1_5)
      THEN 'several_states'
      ELSE MIN(
        CASE
          WHEN c1_5 IS NULL
          THEN CASE
            WHEN NOT "c.rule" IS NULL
            AND NOT "c.unfenced" IS NULL
            AND NOT "c.memberKnown" IS NULL
            AND NOT "c.clientEpoch" IS NULL
            AND NOT "c.memberEpoch" IS NULL
            AND NOT "c.transactional" IS NULL
            AND NOT "c.rebalancing" IS NULL
            AND NOT "c.assignmentEpoch" IS NULL
            AND NOT "\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))" IS NULL
            THEN 'no_value'
          END
        END
      )
    END AS reason_5
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
        {'definition': 'strict', 'outcome': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_1 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_1 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_1 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END},
        {'definition': 'member_revocation', 'outcome': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_2 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_2 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_2 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END},
        {'definition': 'partition_revocation', 'outcome': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_3 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_3 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_3 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END},
        {'definition': 'assignment_epoch', 'outcome': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_4 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_4 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_4 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END},
        {'definition': 'broker_rule', 'outcome': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_5 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_5 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_5 END,
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
