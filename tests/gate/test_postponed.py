"""What Great Expectations imports for nothing is imported where it is used."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
from fencepost.gate.postponed import postpone_imports
postpone_imports()
import great_expectations
print(sorted({"altair.vegalite", "scipy.stats._distn_infrastructure"} & sys.modules.keys()))
from great_expectations.expectations.core import expect_column_kl_divergence_to_be_less_than as drawing
print(drawing.alt.Chart.__name__, drawing.stats.norm.cdf(0))
import altair, scipy.stats
print(altair.Chart is drawing.alt.Chart, scipy.stats.entropy is drawing.stats.entropy)
"""


def test_modules_that_no_suite_needs_are_imported_when_they_are_used() -> None:
    said = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["[]", "Chart 0.5", "True True"]
