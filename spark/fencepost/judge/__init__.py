"""The judge: runs the compiled definitions over silver, once, and writes the verdicts.

Which engine runs them (:mod:`fencepost.judge.engine`) changes no row. Both engines run the same SQL to
make episodes and counts of the results: the files in ``rules``.
"""

from fencepost.judge.run import JudgeSummary, judge

__all__ = ["JudgeSummary", "judge"]
