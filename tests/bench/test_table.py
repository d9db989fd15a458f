"""What measurements print becomes tables of a page."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_SPEC = importlib.util.spec_from_file_location("bench_table", ROOT / "bench" / "table.py")
assert _SPEC is not None and _SPEC.loader is not None
table = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(table)

PRINTED = """\
  2,011 requests for 2,751 partitions (0 s to generate)
  capture    1.0 s wall     2.0 s CPU     412 MiB
    start    0.5 s wall     1.0 s CPU     412 MiB
    capture   0.5 s wall     1.0 s CPU     412 MiB
  audit      4.3 s wall     5.1 s CPU     412 MiB
    rebuild   1.3 s wall     2.0 s CPU   1,412 MiB
  check      0.5 s wall     1.0 s CPU     412 MiB
    check     0.5 s wall     1.0 s CPU     412 MiB
  met    2,000 requests rebuilt and judged within 75 CPU s: 5 CPU s
  MISSED rebuild: 10,000 requests in a CPU second: 8,800
  met    each commit is rebuilt as it was generated
  met    audit            14.2 CPU s (goal 75, before 325)    14.0 s wall
segment      reader    CPU s   MB/CPU s
a|b.log      java       0.20        1.5
"""
ROWS = """\
| 2,011 requests for 2,751 partitions (0 s to generate) |  |  |
| capture | 2.0 CPU s, 1.0 s, 412 MiB |  |
| audit | 5.1 CPU s, 4.3 s, 412 MiB |  |
| *rebuild* | 2.0 CPU s, 1.3 s, 1,412 MiB |  |
| 2,000 requests rebuilt and judged within 75 CPU s | 5 CPU s | met |
| rebuild: 10,000 requests in a CPU second | 8,800 | **missed** |
| each commit is rebuilt as it was generated |  | met |
| audit | 14.2 CPU s (goal 75, before 325)    14.0 s wall | met |
| segment | reader, CPU s, MB/CPU s |  |
| a\\|b.log | java, 0.20, 1.5 |  |
"""


def test_lines_become_rows_between_the_markers() -> None:
    page = "\n".join(["# Cost", *table.MARKERS, "why"])
    measured = [
        table.Measured("Commits", PRINTED.splitlines(), True),
        table.Measured("Broken", ["  half"], False),
    ]
    written = table.with_tables(page, measured, "Commit abc.")
    assert ROWS in written
    assert "### Broken" in written and "did not run to the end" in written
    assert written.startswith("# Cost\n") and written.endswith("\nwhy")
    # again: what was written before is replaced
    assert table.with_tables(written, measured, "Commit abc.") == written


def test_a_page_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="needs these two lines"):
        table.with_tables("# Cost", [], "")


def test_the_page_has_the_place() -> None:
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert all(page.count(each) == 1 for each in table.MARKERS)


def test_the_header_says_what_was_measured_where() -> None:
    said = table.header(ROOT)
    assert "Commit " in said and " cores (" in said and "GiB of memory" in said
