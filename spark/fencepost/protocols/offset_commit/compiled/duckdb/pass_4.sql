-- generated from spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
-- one pass for no_zombie_accepted, no_owner_refused, broker_keeps_its_rule, broker_names_its_error, policies_relax_in_order, no_policy_admits_a_zombie, no_commit_for_anothers_partition, no_commit_for_unowned_partition, no_memberless_commit_for_owned_partition, no_commit_after_revocation
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
    offset_commit_states.owned_at_client_epoch AS "c.ownedAtClientEpoch",
    offset_commit_states.reassigned_since AS "c.reassignedSince",
    offset_commit_states.accepted AS "c.accepted",
    offset_commit_states.uninterrupted AS "c.uninterrupted",
    offset_commit_states.fenced AS "c.fenced",
    offset_commit_states."rule" AS "c.rule",
    offset_commit_states.unfenced AS "c.unfenced",
    offset_commit_states.member_known AS "c.memberKnown",
    offset_commit_states.client_epoch AS "c.clientEpoch",
    offset_commit_states.member_epoch AS "c.memberEpoch",
    offset_commit_states.transactional AS "c.transactional",
    offset_commit_states.rebalancing AS "c.rebalancing",
    offset_commit_states.assignment_epoch AS "c.assignmentEpoch",
    offset_commit_states.error AS "c.error",
    offset_commit_states.classic_member AS "c.classicMember",
    offset_commit_states.api_version AS "c.apiVersion",
    offset_commit_states.group_known AS "c.groupKnown",
    offset_commit_states.instance_fenced AS "c.instanceFenced",
    offset_commit_states.partition_revocation_epoch AS "c.partitionRevocationEpoch",
    offset_commit_states.revocation_epoch AS "c.revocationEpoch",
    offset_commit_states.owned_by_another AS "c.ownedByAnother",
    offset_commit_states.owned_by_self AS "c.ownedBySelf",
    offset_commit_states.protocol AS "c.protocol",
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
    END AS "given.3",
    CASE (
        "c.apiVersion" >= CASE "c.transactional" WHEN TRUE THEN 6 WHEN FALSE THEN 9 ELSE CASE WHEN 6 = 9 THEN 6 END END
      )
      WHEN TRUE
      THEN 'GROUP_ID_NOT_FOUND'
      WHEN FALSE
      THEN 'ILLEGAL_GENERATION'
      ELSE CASE WHEN 'GROUP_ID_NOT_FOUND' = 'ILLEGAL_GENERATION' THEN 'GROUP_ID_NOT_FOUND' END
    END AS "given.5",
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
    END AS "given.6"
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
    END AS "given.4",
    CASE (
        NOT "c.memberKnown"
      )
      WHEN TRUE
      THEN 'UNKNOWN_MEMBER_ID'
      WHEN FALSE
      THEN "given.6"
      ELSE CASE WHEN 'UNKNOWN_MEMBER_ID' = "given.6" THEN 'UNKNOWN_MEMBER_ID' END
    END AS "given.7"
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
      THEN "given.7"
      ELSE CASE WHEN 'FENCED_INSTANCE_ID' = "given.7" THEN 'FENCED_INSTANCE_ID' END
    END AS "given.8"
  FROM given_2
), given_4 AS (
  SELECT
    *,
    CASE (
        NOT "c.groupKnown"
      )
      WHEN TRUE
      THEN "given.5"
      WHEN FALSE
      THEN "given.8"
      ELSE CASE WHEN "given.5" = "given.8" THEN "given.5" END
    END AS "given.9"
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
      THEN "given.9"
      ELSE CASE WHEN 'GROUP_ID_NOT_FOUND' = "given.9" THEN 'GROUP_ID_NOT_FOUND' END
    END AS "given.10"
  FROM given_4
), judged AS (
  SELECT
    *,
    "c.ownedAtClientEpoch" AND "c.reassignedSince" AS antecedent_1,
    NOT "c.accepted" AS c1_1,
    "c.ownedAtClientEpoch" AND "c.uninterrupted" AS antecedent_2,
    NOT "c.fenced" AS c1_2,
    "c.accepted" OR "c.fenced" AS antecedent_3,
    "c.accepted" = CASE (
        "c.rule" = 'generation'
      )
      WHEN TRUE
      THEN "given.1"
      WHEN FALSE
      THEN "given.4"
      ELSE CASE WHEN "given.1" = "given.4" THEN "given.1" END
    END AS c1_3,
    "c.fenced" OR (
      "c.error" = 'UNSUPPORTED_VERSION' AND NOT "c.transactional"
    ) AS antecedent_4,
    "c.error" = CASE (
        CASE (
            "c.rule" = 'generation'
          )
          WHEN TRUE
          THEN "given.1"
          WHEN FALSE
          THEN "given.4"
          ELSE CASE WHEN "given.1" = "given.4" THEN "given.1" END
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
      THEN "given.10"
      ELSE CASE WHEN 'NONE' = "given.10" THEN 'NONE' END
    END AS c1_4,
    NOT (
      "c.fenced" OR (
        "c.error" = 'UNSUPPORTED_VERSION' AND NOT "c.transactional"
      )
    )
    OR (
      "c.rule" = 'generation'
      OR (
        "c.rule" = 'strict'
        OR (
          "c.rule" = 'assignment_epoch' OR (
            "c.rule" = 'none_accepted' OR FALSE
          )
        )
      )
    ) AS evaluates_4,
    (
      NOT (
        "c.error" = 'NOT_COORDINATOR'
        OR "c.error" = 'COORDINATOR_NOT_AVAILABLE'
        OR "c.error" = 'COORDINATOR_LOAD_IN_PROGRESS'
      )
      AND (
        "c.ownedAtClientEpoch" AND "c.uninterrupted"
      )
    )
    AND NOT (
      "c.memberKnown" AND "c.partitionRevocationEpoch" = "c.memberEpoch"
    ) AS antecedent_5,
    NOT (
      "c.unfenced" OR (
        "c.memberKnown" AND "c.clientEpoch" = "c.memberEpoch"
      )
    )
    OR (
      "c.unfenced"
      OR (
        "c.memberKnown" AND "c.revocationEpoch" < "c.clientEpoch" AND "c.clientEpoch" <= "c.memberEpoch"
      )
    ) AS c1_5,
    NOT (
      "c.unfenced"
      OR (
        "c.memberKnown" AND "c.revocationEpoch" < "c.clientEpoch" AND "c.clientEpoch" <= "c.memberEpoch"
      )
    )
    OR (
      "c.unfenced"
      OR (
        "c.memberKnown"
        AND "c.partitionRevocationEpoch" < "c.clientEpoch"
        AND "c.clientEpoch" <= "c.memberEpoch"
      )
    ) AS c2_5,
    NOT (
      "c.unfenced"
      OR (
        "c.memberKnown"
        AND "c.partitionRevocationEpoch" < "c.clientEpoch"
        AND "c.clientEpoch" <= "c.memberEpoch"
      )
    )
    OR (
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
    ) AS c3_5,
    NOT (
      "c.error" = 'NOT_COORDINATOR'
      OR "c.error" = 'COORDINATOR_NOT_AVAILABLE'
      OR "c.error" = 'COORDINATOR_LOAD_IN_PROGRESS'
    )
    AND (
      "c.ownedAtClientEpoch" AND "c.reassignedSince"
    ) AS antecedent_6,
    NOT (
      "c.unfenced" OR (
        "c.memberKnown" AND "c.clientEpoch" = "c.memberEpoch"
      )
    ) AS c1_6,
    NOT (
      "c.unfenced"
      OR (
        "c.memberKnown" AND "c.revocationEpoch" < "c.clientEpoch" AND "c.clientEpoch" <= "c.memberEpoch"
      )
    ) AS c2_6,
    NOT (
      "c.unfenced"
      OR (
        "c.memberKnown"
        AND "c.partitionRevocationEpoch" < "c.clientEpoch"
        AND "c.clientEpoch" <= "c.memberEpoch"
      )
    ) AS c3_6,
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
    ) AS c4_6,
    "c.accepted" AND NOT "c.unfenced" AS antecedent_7,
    NOT "c.ownedByAnother" AS c1_7,
    "c.accepted" AND NOT "c.unfenced" AS antecedent_8,
    "c.ownedBySelf" OR "c.ownedByAnother" AS c1_8,
    (
      "c.accepted" AND "c.unfenced"
    ) AND "c.transactional" AS antecedent_9,
    NOT "c.ownedByAnother" AS c1_9,
    (
      (
        NOT (
          "c.error" = 'NOT_COORDINATOR'
          OR "c.error" = 'COORDINATOR_NOT_AVAILABLE'
          OR "c.error" = 'COORDINATOR_LOAD_IN_PROGRESS'
        )
        AND "c.protocol" = 'streams'
      )
      AND "c.memberKnown"
    )
    AND "c.clientEpoch" > 0 AS antecedent_10,
    "c.revocationEpoch" < "c.clientEpoch" AS c1_10
  FROM given_5
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
    "c.ownedAtClientEpoch",
    "c.reassignedSince",
    "c.accepted",
    "c.uninterrupted",
    "c.fenced",
    "c.rule",
    "c.unfenced",
    "c.memberKnown",
    "c.clientEpoch",
    "c.memberEpoch",
    "c.transactional",
    "c.rebalancing",
    "c.assignmentEpoch",
    "c.error",
    "c.classicMember",
    "c.apiVersion",
    "c.groupKnown",
    "c.instanceFenced",
    "c.partitionRevocationEpoch",
    "c.revocationEpoch",
    "c.ownedByAnother",
    "c.ownedBySelf",
    "c.protocol",
    "\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))",
    NOT antecedent_1 OR c1_1 AS verdict_1,
    COALESCE(antecedent_1, FALSE) AS exercised_1,
    CASE WHEN antecedent_1 AND NOT c1_1 THEN '~c.accepted' END AS failed_conjunct_1,
    NOT antecedent_2 OR c1_2 AS verdict_2,
    COALESCE(antecedent_2, FALSE) AS exercised_2,
    CASE WHEN antecedent_2 AND NOT c1_2 THEN '~c.fenced' END AS failed_conjunct_2,
    NOT antecedent_3 OR c1_3 AS verdict_3,
    COALESCE(antecedent_3, FALSE) AS exercised_3,
    CASE WHEN antecedent_3 AND NOT c1_3 THEN 'c.accepted <=> BrokerRule(c)' END AS failed_conjunct_3,
    evaluates_4,
    CASE WHEN evaluates_4 THEN NOT antecedent_4 OR c1_4 END AS verdict_4,
    COALESCE(antecedent_4, FALSE) AS exercised_4,
    CASE WHEN antecedent_4 AND NOT c1_4 THEN 'c.error = ShippedError(c)' END AS failed_conjunct_4,
    NOT antecedent_5 OR (
      c1_5 AND c2_5 AND c3_5
    ) AS verdict_5,
    COALESCE(antecedent_5, FALSE) AS exercised_5,
    CASE
      WHEN antecedent_5 AND NOT c1_5
      THEN 'Strict(c) => MemberRevocation(c)'
      WHEN antecedent_5 AND NOT c2_5
      THEN 'MemberRevocation(c) => PartitionRevocation(c)'
      WHEN antecedent_5 AND NOT c3_5
      THEN 'PartitionRevocation(c) => AcceptedByAssignmentEpoch(c)'
    END AS failed_conjunct_5,
    NOT antecedent_6 OR (
      c1_6 AND c2_6 AND c3_6 AND c4_6
    ) AS verdict_6,
    COALESCE(antecedent_6, FALSE) AS exercised_6,
    CASE
      WHEN antecedent_6 AND NOT c1_6
      THEN '~Strict(c)'
      WHEN antecedent_6 AND NOT c2_6
      THEN '~MemberRevocation(c)'
      WHEN antecedent_6 AND NOT c3_6
      THEN '~PartitionRevocation(c)'
      WHEN antecedent_6 AND NOT c4_6
      THEN '~AcceptedByAssignmentEpoch(c)'
    END AS failed_conjunct_6,
    NOT antecedent_7 OR c1_7 AS verdict_7,
    COALESCE(antecedent_7, FALSE) AS exercised_7,
    CASE WHEN antecedent_7 AND NOT c1_7 THEN '~c.ownedByAnother' END AS failed_conjunct_7,
    NOT antecedent_8 OR c1_8 AS verdict_8,
    COALESCE(antecedent_8, FALSE) AS exercised_8,
    CASE WHEN antecedent_8 AND NOT c1_8 THEN 'c.ownedBySelf \/ c.ownedByAnother' END AS failed_conjunct_8,
    NOT antecedent_9 OR c1_9 AS verdict_9,
    COALESCE(antecedent_9, FALSE) AS exercised_9,
    CASE WHEN antecedent_9 AND NOT c1_9 THEN '~c.ownedByAnother' END AS failed_conjunct_9,
    NOT antecedent_10 OR c1_10 AS verdict_10,
    COALESCE(antecedent_10, FALSE) AS exercised_10,
    CASE WHEN antecedent_10 AND NOT c1_10 THEN 'c.revocationEpoch < c.clientEpoch' END AS failed_conjunct_10
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
    {'group_id': group_id, 'life': life, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'failed_conjunct_3': failed_conjunct_3, 'failed_conjunct_4': failed_conjunct_4, 'failed_conjunct_5': failed_conjunct_5, 'failed_conjunct_6': failed_conjunct_6, 'failed_conjunct_7': failed_conjunct_7, 'failed_conjunct_8': failed_conjunct_8, 'failed_conjunct_9': failed_conjunct_9, 'failed_conjunct_10': failed_conjunct_10, 'c.ownedAtClientEpoch': "c.ownedAtClientEpoch", 'c.reassignedSince': "c.reassignedSince", 'c.accepted': "c.accepted", 'c.uninterrupted': "c.uninterrupted", 'c.fenced': "c.fenced", 'c.rule': "c.rule", 'c.unfenced': "c.unfenced", 'c.memberKnown': "c.memberKnown", 'c.clientEpoch': "c.clientEpoch", 'c.memberEpoch': "c.memberEpoch", 'c.transactional': "c.transactional", 'c.rebalancing': "c.rebalancing", 'c.assignmentEpoch': "c.assignmentEpoch", 'c.error': "c.error", 'c.classicMember': "c.classicMember", 'c.apiVersion': "c.apiVersion", 'c.groupKnown': "c.groupKnown", 'c.instanceFenced': "c.instanceFenced", 'c.partitionRevocationEpoch': "c.partitionRevocationEpoch", 'c.revocationEpoch': "c.revocationEpoch", 'c.ownedByAnother': "c.ownedByAnother", 'c.ownedBySelf': "c.ownedBySelf", 'c.protocol': "c.protocol", '\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))': "\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))"} AS first_state,
    CASE WHEN COALESCE(verdict_1, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_1, FALSE) THEN FALSE END AS verdict_1,
    exercised_1 AS exercised_1,
    CASE WHEN verdict_1 AND NOT verdict_1 THEN 'several_states' END AS reason_1,
    CASE WHEN COALESCE(verdict_2, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_2, FALSE) THEN FALSE END AS verdict_2,
    exercised_2 AS exercised_2,
    CASE WHEN verdict_2 AND NOT verdict_2 THEN 'several_states' END AS reason_2,
    CASE WHEN COALESCE(verdict_3, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_3, FALSE) THEN FALSE END AS verdict_3,
    exercised_3 AS exercised_3,
    CASE
      WHEN verdict_3 AND NOT verdict_3
      THEN 'several_states'
      ELSE CASE
        WHEN verdict_3 IS NULL
        THEN CASE
          WHEN NOT "c.accepted" IS NULL
          AND NOT "c.fenced" IS NULL
          AND NOT "c.rule" IS NULL
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
    END AS reason_3,
    CASE WHEN COALESCE(verdict_4, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_4, FALSE) THEN FALSE END AS verdict_4,
    exercised_4 AS exercised_4,
    CASE
      WHEN verdict_4 AND NOT verdict_4
      THEN 'several_states'
      ELSE CASE
        WHEN verdict_4 IS NULL
        THEN CASE WHEN NOT evaluates_4 THEN 'no_value' WHEN "c.groupKnown" IS NULL THEN 'not_logged' END
      END
    END AS reason_4,
    CASE WHEN COALESCE(verdict_5, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_5, FALSE) THEN FALSE END AS verdict_5,
    exercised_5 AS exercised_5,
    CASE WHEN verdict_5 AND NOT verdict_5 THEN 'several_states' END AS reason_5,
    CASE WHEN COALESCE(verdict_6, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_6, FALSE) THEN FALSE END AS verdict_6,
    exercised_6 AS exercised_6,
    CASE WHEN verdict_6 AND NOT verdict_6 THEN 'several_states' END AS reason_6,
    CASE WHEN COALESCE(verdict_7, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_7, FALSE) THEN FALSE END AS verdict_7,
    exercised_7 AS exercised_7,
    CASE WHEN verdict_7 AND NOT verdict_7 THEN 'several_states' END AS reason_7,
    CASE WHEN COALESCE(verdict_8, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_8, FALSE) THEN FALSE END AS verdict_8,
    exercised_8 AS exercised_8,
    CASE WHEN verdict_8 AND NOT verdict_8 THEN 'several_states' END AS reason_8,
    CASE WHEN COALESCE(verdict_9, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_9, FALSE) THEN FALSE END AS verdict_9,
    exercised_9 AS exercised_9,
    CASE WHEN verdict_9 AND NOT verdict_9 THEN 'several_states' END AS reason_9,
    CASE WHEN COALESCE(verdict_10, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_10, FALSE) THEN FALSE END AS verdict_10,
    exercised_10 AS exercised_10,
    CASE WHEN verdict_10 AND NOT verdict_10 THEN 'several_states' END AS reason_10
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
      {'group_id': group_id, 'life': life, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'failed_conjunct_3': failed_conjunct_3, 'failed_conjunct_4': failed_conjunct_4, 'failed_conjunct_5': failed_conjunct_5, 'failed_conjunct_6': failed_conjunct_6, 'failed_conjunct_7': failed_conjunct_7, 'failed_conjunct_8': failed_conjunct_8, 'failed_conjunct_9': failed_conjunct_9, 'failed_conjunct_10': failed_conjunct_10, 'c.ownedAtClientEpoch': "c.ownedAtClientEpoch", 'c.reassignedSince': "c.reassignedSince", 'c.accepted': "c.accepted", 'c.uninterrupted': "c.uninterrupted", 'c.fenced': "c.fenced", 'c.rule': "c.rule", 'c.unfenced': "c.unfenced", 'c.memberKnown': "c.memberKnown", 'c.clientEpoch': "c.clientEpoch", 'c.memberEpoch': "c.memberEpoch", 'c.transactional': "c.transactional", 'c.rebalancing': "c.rebalancing", 'c.assignmentEpoch': "c.assignmentEpoch", 'c.error': "c.error", 'c.classicMember': "c.classicMember", 'c.apiVersion': "c.apiVersion", 'c.groupKnown': "c.groupKnown", 'c.instanceFenced': "c.instanceFenced", 'c.partitionRevocationEpoch': "c.partitionRevocationEpoch", 'c.revocationEpoch': "c.revocationEpoch", 'c.ownedByAnother': "c.ownedByAnother", 'c.ownedBySelf': "c.ownedBySelf", 'c.protocol': "c.protocol", '\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))': "\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))"},
      candidate
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_1, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_1, FALSE))
      THEN FALSE
    END AS verdict_1,
    BOOL_AND(exercised_1) AS exercised_1,
    CASE WHEN BOOL_OR(verdict_1) AND BOOL_OR(NOT verdict_1) THEN 'several_states' END AS reason_1,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_2, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_2, FALSE))
      THEN FALSE
    END AS verdict_2,
    BOOL_AND(exercised_2) AS exercised_2,
    CASE WHEN BOOL_OR(verdict_2) AND BOOL_OR(NOT verdict_2) THEN 'several_states' END AS reason_2,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_3, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_3, FALSE))
      THEN FALSE
    END AS verdict_3,
    BOOL_AND(exercised_3) AS exercised_3,
    CASE
      WHEN BOOL_OR(verdict_3) AND BOOL_OR(NOT verdict_3)
      THEN 'several_states'
      ELSE MIN(
        CASE
          WHEN verdict_3 IS NULL
          THEN CASE
            WHEN NOT "c.accepted" IS NULL
            AND NOT "c.fenced" IS NULL
            AND NOT "c.rule" IS NULL
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
    END AS reason_3,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_4, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_4, FALSE))
      THEN FALSE
    END AS verdict_4,
    BOOL_AND(exercised_4) AS exercised_4,
    CASE
      WHEN BOOL_OR(verdict_4) AND BOOL_OR(NOT verdict_4)
      THEN 'several_states'
      ELSE MIN(
        CASE
          WHEN verdict_4 IS NULL
          THEN CASE WHEN NOT evaluates_4 THEN 'no_value' WHEN "c.groupKnown" IS NULL THEN 'not_logged' END
        END
      )
    END AS reason_4,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_5, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_5, FALSE))
      THEN FALSE
    END AS verdict_5,
    BOOL_AND(exercised_5) AS exercised_5,
    CASE WHEN BOOL_OR(verdict_5) AND BOOL_OR(NOT verdict_5) THEN 'several_states' END AS reason_5,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_6, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_6, FALSE))
      THEN FALSE
    END AS verdict_6,
    BOOL_AND(exercised_6) AS exercised_6,
    CASE WHEN BOOL_OR(verdict_6) AND BOOL_OR(NOT verdict_6) THEN 'several_states' END AS reason_6,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_7, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_7, FALSE))
      THEN FALSE
    END AS verdict_7,
    BOOL_AND(exercised_7) AS exercised_7,
    CASE WHEN BOOL_OR(verdict_7) AND BOOL_OR(NOT verdict_7) THEN 'several_states' END AS reason_7,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_8, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_8, FALSE))
      THEN FALSE
    END AS verdict_8,
    BOOL_AND(exercised_8) AS exercised_8,
    CASE WHEN BOOL_OR(verdict_8) AND BOOL_OR(NOT verdict_8) THEN 'several_states' END AS reason_8,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_9, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_9, FALSE))
      THEN FALSE
    END AS verdict_9,
    BOOL_AND(exercised_9) AS exercised_9,
    CASE WHEN BOOL_OR(verdict_9) AND BOOL_OR(NOT verdict_9) THEN 'several_states' END AS reason_9,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_10, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_10, FALSE))
      THEN FALSE
    END AS verdict_10,
    BOOL_AND(exercised_10) AS exercised_10,
    CASE WHEN BOOL_OR(verdict_10) AND BOOL_OR(NOT verdict_10) THEN 'several_states' END AS reason_10
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
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  scope,
  CASE WHEN NOT COALESCE(STRUCT_EXTRACT(each, 'verdict'), FALSE) THEN witness END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  STRUCT_EXTRACT(each, 'verdict') AS verdict,
  STRUCT_EXTRACT(each, 'exercised') AS exercised,
  STRUCT_EXTRACT(each, 'failed_conjunct') AS failed_conjunct,
  STRUCT_EXTRACT(each, 'reason') AS reason,
  STRUCT_EXTRACT(each, 'observed') AS observed,
  CASE WHEN NOT COALESCE(STRUCT_EXTRACT(each, 'verdict'), FALSE) THEN evidence END AS evidence
FROM (
  SELECT
    cluster,
    scope,
    witness,
    from_position,
    to_position,
    from_time,
    to_time,
    evidence,
    UNNEST(rows_) AS each
  FROM (
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
          COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_1 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_2 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_3 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_4 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_5 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_6 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_7 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_8 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_9 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_10 END, FALSE)
        )
        THEN CAST(JSON_OBJECT('c', commit_id) AS TEXT)
      END AS witness,
      agreed.from_position,
      agreed.to_position,
      COALESCE(agreed.from_time, offset_commits.requested_at) AS from_time,
      COALESCE(agreed.to_time, offset_commits.responded_at) AS to_time,
      CASE
        WHEN NOT (
          COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_1 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_2 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_3 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_4 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_5 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_6 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_7 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_8 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_9 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_10 END, FALSE)
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
      END AS evidence,
      [
        {'definition': 'no_zombie_accepted', 'verdict': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_1 END, 'exercised': COALESCE(agreed.exercised_1, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = offset_commits.candidates
          THEN CASE WHEN NOT agreed.verdict_1 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_1') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_1 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_1 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_1 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'c.ownedAtClientEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.ownedAtClientEpoch'),
            'c.reassignedSince',
            STRUCT_EXTRACT(agreed.first_state, 'c.reassignedSince'),
            'c.accepted',
            STRUCT_EXTRACT(agreed.first_state, 'c.accepted')
          ) AS TEXT)
        END},
        {'definition': 'no_owner_refused', 'verdict': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_2 END, 'exercised': COALESCE(agreed.exercised_2, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = offset_commits.candidates
          THEN CASE WHEN NOT agreed.verdict_2 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_2') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_2 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_2 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_2 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'c.ownedAtClientEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.ownedAtClientEpoch'),
            'c.uninterrupted',
            STRUCT_EXTRACT(agreed.first_state, 'c.uninterrupted'),
            'c.fenced',
            STRUCT_EXTRACT(agreed.first_state, 'c.fenced')
          ) AS TEXT)
        END},
        {'definition': 'broker_keeps_its_rule', 'verdict': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_3 END, 'exercised': COALESCE(agreed.exercised_3, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = offset_commits.candidates
          THEN CASE WHEN NOT agreed.verdict_3 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_3') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_3 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_3 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_3 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'c.accepted',
            STRUCT_EXTRACT(agreed.first_state, 'c.accepted'),
            'c.fenced',
            STRUCT_EXTRACT(agreed.first_state, 'c.fenced'),
            'c.rule',
            STRUCT_EXTRACT(agreed.first_state, 'c.rule'),
            'c.unfenced',
            STRUCT_EXTRACT(agreed.first_state, 'c.unfenced'),
            'c.memberKnown',
            STRUCT_EXTRACT(agreed.first_state, 'c.memberKnown'),
            'c.clientEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.clientEpoch'),
            'c.memberEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.memberEpoch'),
            'c.transactional',
            STRUCT_EXTRACT(agreed.first_state, 'c.transactional'),
            'c.rebalancing',
            STRUCT_EXTRACT(agreed.first_state, 'c.rebalancing'),
            'c.assignmentEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.assignmentEpoch'),
            '\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))',
            STRUCT_EXTRACT(
              agreed.first_state,
              '\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))'
            )
          ) AS TEXT)
        END},
        {'definition': 'broker_names_its_error', 'verdict': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_4 END, 'exercised': COALESCE(agreed.exercised_4, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = offset_commits.candidates
          THEN CASE WHEN NOT agreed.verdict_4 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_4') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_4 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_4 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_4 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'c.fenced',
            STRUCT_EXTRACT(agreed.first_state, 'c.fenced'),
            'c.error',
            STRUCT_EXTRACT(agreed.first_state, 'c.error'),
            'c.transactional',
            STRUCT_EXTRACT(agreed.first_state, 'c.transactional'),
            'c.rule',
            STRUCT_EXTRACT(agreed.first_state, 'c.rule'),
            'c.unfenced',
            STRUCT_EXTRACT(agreed.first_state, 'c.unfenced'),
            'c.memberKnown',
            STRUCT_EXTRACT(agreed.first_state, 'c.memberKnown'),
            'c.clientEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.clientEpoch'),
            'c.memberEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.memberEpoch'),
            'c.rebalancing',
            STRUCT_EXTRACT(agreed.first_state, 'c.rebalancing'),
            'c.assignmentEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.assignmentEpoch'),
            'c.classicMember',
            STRUCT_EXTRACT(agreed.first_state, 'c.classicMember'),
            'c.apiVersion',
            STRUCT_EXTRACT(agreed.first_state, 'c.apiVersion'),
            'c.groupKnown',
            STRUCT_EXTRACT(agreed.first_state, 'c.groupKnown'),
            'c.instanceFenced',
            STRUCT_EXTRACT(agreed.first_state, 'c.instanceFenced'),
            '\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))',
            STRUCT_EXTRACT(
              agreed.first_state,
              '\A d \in commits : d.request = c.request => (~d.accepted /\ ~d.fenced) \/ (d.unfenced \/ (d.memberKnown /\ (d.clientEpoch = d.memberEpoch \/ (d.clientEpoch < d.memberEpoch /\ d.assignmentEpoch >= 0 /\ d.assignmentEpoch <= d.clientEpoch))))'
            )
          ) AS TEXT)
        END},
        {'definition': 'policies_relax_in_order', 'verdict': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_5 END, 'exercised': COALESCE(agreed.exercised_5, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = offset_commits.candidates
          THEN CASE WHEN NOT agreed.verdict_5 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_5') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_5 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_5 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_5 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'c.error',
            STRUCT_EXTRACT(agreed.first_state, 'c.error'),
            'c.ownedAtClientEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.ownedAtClientEpoch'),
            'c.uninterrupted',
            STRUCT_EXTRACT(agreed.first_state, 'c.uninterrupted'),
            'c.memberKnown',
            STRUCT_EXTRACT(agreed.first_state, 'c.memberKnown'),
            'c.partitionRevocationEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.partitionRevocationEpoch'),
            'c.memberEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.memberEpoch'),
            'c.unfenced',
            STRUCT_EXTRACT(agreed.first_state, 'c.unfenced'),
            'c.clientEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.clientEpoch'),
            'c.revocationEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.revocationEpoch'),
            'c.assignmentEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.assignmentEpoch')
          ) AS TEXT)
        END},
        {'definition': 'no_policy_admits_a_zombie', 'verdict': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_6 END, 'exercised': COALESCE(agreed.exercised_6, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = offset_commits.candidates
          THEN CASE WHEN NOT agreed.verdict_6 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_6') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_6 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_6 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_6 END, FALSE)
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
        END},
        {'definition': 'no_commit_for_anothers_partition', 'verdict': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_7 END, 'exercised': COALESCE(agreed.exercised_7, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = offset_commits.candidates
          THEN CASE WHEN NOT agreed.verdict_7 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_7') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_7 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_7 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_7 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'c.accepted',
            STRUCT_EXTRACT(agreed.first_state, 'c.accepted'),
            'c.unfenced',
            STRUCT_EXTRACT(agreed.first_state, 'c.unfenced'),
            'c.ownedByAnother',
            STRUCT_EXTRACT(agreed.first_state, 'c.ownedByAnother')
          ) AS TEXT)
        END},
        {'definition': 'no_commit_for_unowned_partition', 'verdict': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_8 END, 'exercised': COALESCE(agreed.exercised_8, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = offset_commits.candidates
          THEN CASE WHEN NOT agreed.verdict_8 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_8') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_8 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_8 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_8 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'c.accepted',
            STRUCT_EXTRACT(agreed.first_state, 'c.accepted'),
            'c.unfenced',
            STRUCT_EXTRACT(agreed.first_state, 'c.unfenced'),
            'c.ownedBySelf',
            STRUCT_EXTRACT(agreed.first_state, 'c.ownedBySelf'),
            'c.ownedByAnother',
            STRUCT_EXTRACT(agreed.first_state, 'c.ownedByAnother')
          ) AS TEXT)
        END},
        {'definition': 'no_memberless_commit_for_owned_partition', 'verdict': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_9 END, 'exercised': COALESCE(agreed.exercised_9, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = offset_commits.candidates
          THEN CASE WHEN NOT agreed.verdict_9 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_9') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_9 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_9 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_9 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'c.accepted',
            STRUCT_EXTRACT(agreed.first_state, 'c.accepted'),
            'c.unfenced',
            STRUCT_EXTRACT(agreed.first_state, 'c.unfenced'),
            'c.transactional',
            STRUCT_EXTRACT(agreed.first_state, 'c.transactional'),
            'c.ownedByAnother',
            STRUCT_EXTRACT(agreed.first_state, 'c.ownedByAnother')
          ) AS TEXT)
        END},
        {'definition': 'no_commit_after_revocation', 'verdict': CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_10 END, 'exercised': COALESCE(agreed.exercised_10, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = offset_commits.candidates
          THEN CASE WHEN NOT agreed.verdict_10 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_10') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_10 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = offset_commits.candidates THEN agreed.reason_10 END,
            offset_commits.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = offset_commits.candidates THEN agreed.verdict_10 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'c.error',
            STRUCT_EXTRACT(agreed.first_state, 'c.error'),
            'c.protocol',
            STRUCT_EXTRACT(agreed.first_state, 'c.protocol'),
            'c.memberKnown',
            STRUCT_EXTRACT(agreed.first_state, 'c.memberKnown'),
            'c.clientEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.clientEpoch'),
            'c.revocationEpoch',
            STRUCT_EXTRACT(agreed.first_state, 'c.revocationEpoch')
          ) AS TEXT)
        END}
      ] AS rows_
    FROM silver.offset_commits AS offset_commits
    FULL OUTER JOIN agreed
      USING (cluster, commit_id)
  ) AS judged_together
) AS fanned
