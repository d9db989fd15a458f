"""The judge: evaluates the compiled definitions over silver, once, and writes the verdicts.

Both engines (:mod:`fencepost.judge.engine`) give the same rows. They make episodes and counts of the results
with the same SQL: the files in ``rules``.
"""

from fencepost.judge.run import JudgeSummary, judge

__all__ = ["JudgeSummary", "judge"]
