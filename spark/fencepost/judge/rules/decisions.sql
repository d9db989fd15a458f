-- decided, definitions -> the rows of verdicts.decisions.
SELECT
  definitions.module,
  decided.definition AS decision,
  decided.cluster,
  decided.subject,
  decided.outcome
FROM decided
JOIN definitions
  ON decided.definition = definitions.definition
