-- generated from tests/tlasql/fragment/Case.tla by `tlasql compile`; do not edit
-- one pass for some_part_is_late, parts_alike, some_other_part_is_later
WITH quantified_1_rows AS (
  SELECT
    cluster,
    request_id,
    candidate,
    epoch AS `s.epoch`
  FROM silver.request_states
), quantified_1_judged AS (
  SELECT
    cluster,
    request_id,
    candidate,
    `s.epoch` > 1 AS predicate
  FROM quantified_1_rows
), quantified_1_lost AS (
  SELECT DISTINCT
    cluster,
    TRUE AS lost
  FROM silver.requests
  WHERE
    cluster IS NULL OR request_id IS NULL
), quantified_1_expected AS (
  SELECT
    requests.cluster,
    requests.request_id,
    COUNT(*) AS expected
  FROM silver.requests AS requests
  LEFT JOIN quantified_1_lost
    ON quantified_1_lost.cluster IS NULL OR requests.cluster = quantified_1_lost.cluster
  WHERE
    quantified_1_lost.lost IS NULL
  GROUP BY
    requests.cluster,
    requests.request_id
), quantified_1 AS (
  SELECT
    quantified_1_judged.cluster,
    quantified_1_judged.request_id,
    quantified_1_judged.candidate,
    CASE
      WHEN BOOL_OR(quantified_1_judged.predicate)
      THEN TRUE
      WHEN COUNT(*) = MAX(quantified_1_expected.expected)
      AND BOOL_AND(NOT quantified_1_judged.predicate IS NULL)
      THEN FALSE
    END AS holds
  FROM quantified_1_judged
  LEFT JOIN quantified_1_expected
    ON quantified_1_judged.cluster = quantified_1_expected.cluster
    AND quantified_1_judged.request_id = quantified_1_expected.request_id
  GROUP BY
    quantified_1_judged.cluster,
    quantified_1_judged.request_id,
    quantified_1_judged.candidate
), quantified_2_lost AS (
  SELECT DISTINCT
    cluster,
    TRUE AS lost
  FROM silver.requests
  WHERE
    cluster IS NULL OR request_id IS NULL
), quantified_2_expected AS (
  SELECT
    requests.cluster,
    requests.request_id,
    COUNT(*) AS expected
  FROM silver.requests AS requests
  LEFT JOIN quantified_2_lost
    ON quantified_2_lost.cluster IS NULL OR requests.cluster = quantified_2_lost.cluster
  WHERE
    quantified_2_lost.lost IS NULL
  GROUP BY
    requests.cluster,
    requests.request_id
), quantified_2 AS (
  SELECT
    request_states.cluster,
    request_states.request_id,
    request_states.candidate,
    TRANSFORM(
      COLLECT_LIST(
        NAMED_STRUCT(
          'v',
          NAMED_STRUCT('m1', request_states.request_id, 'm2', request_states.epoch, 'm3', request_states.ok, 'm4', request_states.part_id)
        )
      ),
      boxed_ -> boxed_.`v`
    ) AS members,
    COUNT(*) = MAX(quantified_2_expected.expected) AS complete
  FROM silver.request_states AS request_states
  LEFT JOIN quantified_2_expected
    ON request_states.cluster = quantified_2_expected.cluster
    AND request_states.request_id = quantified_2_expected.request_id
  GROUP BY
    request_states.cluster,
    request_states.request_id,
    request_states.candidate
), quantified_3_lost AS (
  SELECT DISTINCT
    cluster,
    TRUE AS lost
  FROM silver.requests
  WHERE
    cluster IS NULL OR request_id IS NULL
), quantified_3_expected AS (
  SELECT
    requests.cluster,
    requests.request_id,
    COUNT(*) AS expected
  FROM silver.requests AS requests
  LEFT JOIN quantified_3_lost
    ON quantified_3_lost.cluster IS NULL OR requests.cluster = quantified_3_lost.cluster
  WHERE
    quantified_3_lost.lost IS NULL
  GROUP BY
    requests.cluster,
    requests.request_id
), quantified_3 AS (
  SELECT
    request_states.cluster,
    request_states.request_id,
    request_states.candidate,
    TRANSFORM(
      COLLECT_LIST(
        NAMED_STRUCT(
          'v',
          NAMED_STRUCT('m1', request_states.request_id, 'm2', request_states.epoch, 'm3', request_states.ok, 'm4', request_states.part_id)
        )
      ),
      boxed_ -> boxed_.`v`
    ) AS members,
    COUNT(*) = MAX(quantified_3_expected.expected) AS complete
  FROM silver.request_states AS request_states
  LEFT JOIN quantified_3_expected
    ON request_states.cluster = quantified_3_expected.cluster
    AND request_states.request_id = quantified_3_expected.request_id
  GROUP BY
    request_states.cluster,
    request_states.request_id,
    request_states.candidate
), frame AS (
  SELECT
    request_states.cluster,
    request_states.group_id,
    request_states.life,
    request_states.part_id,
    request_states.candidate,
    request_states.from_position,
    request_states.to_position,
    request_states.from_time,
    request_states.to_time,
    request_states.ok AS `r.ok`,
    quantified_1.holds AS `\E s \in requests : s.id = r.id /\ s.epoch > 1`,
    FORALL(
      quantified_2.members,
      quantified_2_member -> quantified_2_member.`m4` = request_states.part_id
      OR (
        quantified_2_member.`m1` = request_states.request_id
        AND quantified_2_member.`m2` = request_states.epoch
        AND quantified_2_member.`m3` = request_states.ok
      )
    )
    AND CASE WHEN quantified_2.complete THEN TRUE END AS `\A s \in requests : r.id = s.id => r = s`,
    EXISTS(
      quantified_3.members,
      quantified_3_member -> NOT (
        quantified_3_member.`m4` = request_states.part_id
        OR (
          quantified_3_member.`m1` = request_states.request_id
          AND quantified_3_member.`m2` = request_states.epoch
          AND quantified_3_member.`m3` = request_states.ok
        )
      )
      AND quantified_3_member.`m2` >= request_states.epoch
    )
    OR CASE WHEN quantified_3.complete THEN FALSE END AS `\E s \in requests : (s.id = r.id /\ ~s = r) /\ s.epoch >= r.epoch`
  FROM silver.request_states AS request_states
  LEFT JOIN quantified_1
    ON request_states.cluster = quantified_1.cluster
    AND request_states.request_id = quantified_1.request_id
    AND request_states.candidate = quantified_1.candidate
  LEFT JOIN quantified_2
    ON request_states.cluster = quantified_2.cluster
    AND request_states.request_id = quantified_2.request_id
    AND request_states.candidate = quantified_2.candidate
  LEFT JOIN quantified_3
    ON request_states.cluster = quantified_3.cluster
    AND request_states.request_id = quantified_3.request_id
    AND request_states.candidate = quantified_3.candidate
), judged AS (
  SELECT
    *,
    `r.ok` AS antecedent_1,
    `\E s \in requests : s.id = r.id /\ s.epoch > 1` AS c1_1,
    `\A s \in requests : r.id = s.id => r = s` AS c1_2,
    `r.ok` AS antecedent_3,
    `\E s \in requests : (s.id = r.id /\ ~s = r) /\ s.epoch >= r.epoch` AS c1_3
  FROM frame
), weighed AS (
  SELECT
    cluster,
    group_id,
    life,
    part_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    `r.ok`,
    `\E s \in requests : s.id = r.id /\ s.epoch > 1`,
    `\A s \in requests : r.id = s.id => r = s`,
    `\E s \in requests : (s.id = r.id /\ ~s = r) /\ s.epoch >= r.epoch`,
    NOT antecedent_1 OR c1_1 AS verdict_1,
    COALESCE(antecedent_1, FALSE) AS exercised_1,
    CASE WHEN antecedent_1 AND NOT c1_1 THEN '\\E s \\in requests : s.id = r.id /\\ s.epoch > 1' END AS failed_conjunct_1,
    c1_2 AS verdict_2,
    TRUE AS exercised_2,
    CASE WHEN NOT c1_2 THEN 'r = s' END AS failed_conjunct_2,
    NOT antecedent_3 OR c1_3 AS verdict_3,
    COALESCE(antecedent_3, FALSE) AS exercised_3,
    CASE
      WHEN antecedent_3 AND NOT c1_3
      THEN '\\E s \\in requests : s.id = r.id /\\ s # r /\\ s.epoch >= r.epoch'
    END AS failed_conjunct_3
  FROM judged
), agreed AS (
  SELECT
    cluster,
    part_id,
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
        'failed_conjunct_1',
        failed_conjunct_1,
        'failed_conjunct_2',
        failed_conjunct_2,
        'failed_conjunct_3',
        failed_conjunct_3,
        'r.ok',
        `r.ok`,
        '\\E s \\in requests : s.id = r.id /\\ s.epoch > 1',
        `\E s \in requests : s.id = r.id /\ s.epoch > 1`,
        '\\A s \\in requests : r.id = s.id => r = s',
        `\A s \in requests : r.id = s.id => r = s`,
        '\\E s \\in requests : (s.id = r.id /\\ ~s = r) /\\ s.epoch >= r.epoch',
        `\E s \in requests : (s.id = r.id /\ ~s = r) /\ s.epoch >= r.epoch`
      ),
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
    CASE WHEN BOOL_OR(verdict_3) AND BOOL_OR(NOT verdict_3) THEN 'several_states' END AS reason_3
  FROM weighed
  GROUP BY
    cluster,
    part_id
)
SELECT
  each.`definition` AS definition,
  cluster,
  scope,
  CASE WHEN NOT COALESCE(each.`verdict`, FALSE) THEN witness END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  each.`verdict` AS verdict,
  each.`exercised` AS exercised,
  each.`failed_conjunct` AS failed_conjunct,
  each.`reason` AS reason,
  each.`observed` AS observed,
  CASE WHEN NOT COALESCE(each.`verdict`, FALSE) THEN evidence END AS evidence
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
    EXPLODE(rows_) AS each
  FROM (
    SELECT
      cluster,
      TO_JSON(
        STRUCT(
          COALESCE(agreed.first_state.`group_id`, requests.group_id) AS group_id,
          agreed.first_state.`life` AS life
        ),
        MAP('ignoreNullFields', 'false')
      ) AS scope,
      CASE
        WHEN NOT (
          COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_1 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_2 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_3 END, FALSE)
        )
        THEN TO_JSON(STRUCT(part_id AS r), MAP('ignoreNullFields', 'false'))
      END AS witness,
      agreed.from_position,
      agreed.to_position,
      agreed.from_time,
      agreed.to_time,
      CASE
        WHEN NOT (
          COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_1 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_2 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_3 END, FALSE)
        )
        THEN TO_JSON(STRUCT(requests.request_id, requests.candidates), MAP('ignoreNullFields', 'false'))
      END AS evidence,
      ARRAY(
        NAMED_STRUCT(
          'definition',
          'some_part_is_late',
          'verdict',
          CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_1 END,
          'exercised',
          COALESCE(agreed.exercised_1, FALSE),
          'failed_conjunct',
          CASE
            WHEN agreed.states = requests.candidates
            THEN CASE WHEN NOT agreed.verdict_1 THEN agreed.first_state.`failed_conjunct_1` END
          END,
          'reason',
          CASE
            WHEN CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_1 END IS NULL
            THEN COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.reason_1 END, 'not_known')
          END,
          'observed',
          CASE
            WHEN NOT agreed.states IS NULL
            AND NOT COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_1 END, FALSE)
            THEN TO_JSON(
              STRUCT(
                agreed.first_state.`r.ok` AS `r.ok`,
                agreed.first_state.`\E s \in requests : s.id = r.id /\ s.epoch > 1` AS `\E s \in requests : s.id = r.id /\ s.epoch > 1`
              ),
              MAP('ignoreNullFields', 'false')
            )
          END
        ),
        NAMED_STRUCT(
          'definition',
          'parts_alike',
          'verdict',
          CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_2 END,
          'exercised',
          COALESCE(agreed.exercised_2, FALSE),
          'failed_conjunct',
          CASE
            WHEN agreed.states = requests.candidates
            THEN CASE WHEN NOT agreed.verdict_2 THEN agreed.first_state.`failed_conjunct_2` END
          END,
          'reason',
          CASE
            WHEN CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_2 END IS NULL
            THEN COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.reason_2 END, 'not_known')
          END,
          'observed',
          CASE
            WHEN NOT agreed.states IS NULL
            AND NOT COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_2 END, FALSE)
            THEN TO_JSON(
              STRUCT(
                agreed.first_state.`\A s \in requests : r.id = s.id => r = s` AS `\A s \in requests : r.id = s.id => r = s`
              ),
              MAP('ignoreNullFields', 'false')
            )
          END
        ),
        NAMED_STRUCT(
          'definition',
          'some_other_part_is_later',
          'verdict',
          CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_3 END,
          'exercised',
          COALESCE(agreed.exercised_3, FALSE),
          'failed_conjunct',
          CASE
            WHEN agreed.states = requests.candidates
            THEN CASE WHEN NOT agreed.verdict_3 THEN agreed.first_state.`failed_conjunct_3` END
          END,
          'reason',
          CASE
            WHEN CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_3 END IS NULL
            THEN COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.reason_3 END, 'not_known')
          END,
          'observed',
          CASE
            WHEN NOT agreed.states IS NULL
            AND NOT COALESCE(CASE WHEN agreed.states = requests.candidates THEN agreed.verdict_3 END, FALSE)
            THEN TO_JSON(
              STRUCT(
                agreed.first_state.`r.ok` AS `r.ok`,
                agreed.first_state.`\E s \in requests : (s.id = r.id /\ ~s = r) /\ s.epoch >= r.epoch` AS `\E s \in requests : (s.id = r.id /\ ~s = r) /\ s.epoch >= r.epoch`
              ),
              MAP('ignoreNullFields', 'false')
            )
          END
        )
      ) AS rows_
    FROM silver.requests AS requests
    FULL OUTER JOIN agreed
      USING (cluster, part_id)
  ) AS judged_together
) AS fanned
