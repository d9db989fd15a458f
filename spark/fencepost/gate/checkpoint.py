"""The Great Expectations side: compiled suites over the coverage mart, and Data Docs.

The severity decision is not made here (``checkpoint.success`` knows no severities): see ``outcomes``.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fencepost.gate.outcomes import GateError
from fencepost.gate.postponed import postpone_imports
from fencepost.outcomes import STATUS_WORDS
from fencepost.protocol_folders import protocol_folders

KEPT_RUNS = 10
"""Validation results (and pages of Data Docs) kept per suite."""

_ROW = ("cluster", "invariant")
"""The columns that name a row of coverage."""

COVERAGE_SUITE = "coverage"
"""The name of a suite that is not compiled: it fails for definitions that do not hold throughout."""


@dataclass(frozen=True)
class CheckResult:
    """``failed``: invariants whose expectation failed; ``expected``: all invariants that have one;
    ``data_docs``: the page of Data Docs, None if they were not wanted.
    """

    failed: frozenset[str]
    expected: frozenset[str]
    data_docs: Path | None


def check(coverage: pd.DataFrame, project: Path, work: Path, *, data_docs: bool = False) -> CheckResult:
    """Run every suite of ``project`` (the folder ``expectations``) over ``coverage``, one row per invariant
    and cluster; the context, its results and Data Docs live in ``work``. ``data_docs``: whether to write
    them, since they ask several other hosts for fonts and scripts. Raises GateError.
    """
    context = _context(project, work)
    suites = [_suite(path) for path in (*_suite_files(project), *_suites_of_protocols())]
    results = _run(context, coverage, [*suites, _coverage_suite()], stored=data_docs)
    failed, expected = set(), set()
    for result in results:
        if result.suite_name == COVERAGE_SUITE:
            continue
        for each in result.results:
            invariant = _invariant(result.suite_name, each)
            expected.add(invariant)
            if not each.success:
                failed.add(invariant)
    return CheckResult(frozenset(failed), frozenset(expected), _data_docs(context, work, wanted=data_docs))


def _suite_files(project: Path) -> list[Path]:
    files = sorted((project / "expectations").glob("*.json"))
    if not files:
        raise GateError(f"{project / 'expectations'} holds no suite. Generate them with `make compile`.")
    return files


def _suites_of_protocols() -> list[Path]:
    """The suites in the folders of protocols."""
    paths = [folder / "suite.json" for folder in protocol_folders().values()]
    return [path for path in paths if path.is_file()]


def _suite(path: Path) -> Any:
    import great_expectations as gx

    return gx.ExpectationSuite(**json.loads(path.read_text(encoding="utf-8")))


def _context(project: Path, work: Path) -> Any:
    """A file context on a fresh copy: GX writes data sources and ids into its own folder."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    # it logs dozens of lines while it is imported
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    postpone_imports()
    import great_expectations as gx  # seconds, and only the gate needs it

    for path in work.iterdir():
        if path.name != "uncommitted":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(project, work, dirs_exist_ok=True, ignore=shutil.ignore_patterns("uncommitted"))
    return gx.get_context(mode="file", context_root_dir=str(work))


def _coverage_suite() -> Any:
    """Green in Data Docs must mean checked: definitions that are unknown, even in part, or not exercised fail
    here.
    """
    import great_expectations as gx
    from great_expectations import expectations as gxe

    suite = gx.ExpectationSuite(name=COVERAGE_SUITE)
    for status in ("holds_partly", "unknown", "not_exercised"):
        suite.add_expectation(
            gxe.ExpectColumnValuesToNotBeInSet(
                column="status", value_set=[status], severity="info", meta={"meaning": STATUS_WORDS[status]}
            )
        )
    return suite


def _run(context: Any, coverage: pd.DataFrame, suites: list[Any], *, stored: bool) -> list[Any]:
    """``stored``: whether the context keeps suites and results, and results have the rows that failed, not
    only whether any did. That takes almost as long again.
    """
    source = context.data_sources.add_or_update_pandas("marts")
    batch = source.add_dataframe_asset("fct_invariant_coverage").add_batch_definition_whole_dataframe("all")
    # pandas makes a Series of each column whenever a condition chooses rows, which is often
    needed = {*_ROW, *_words_of_arguments(suites)}.intersection(coverage.columns)
    rows = {"dataframe": coverage[sorted(needed)]}
    if stored:
        results = list(_checkpoint(context, batch, suites).run(batch_parameters=rows).run_results.values())
    else:
        read = batch.get_batch(batch_parameters=rows)
        results = [read.validate(suite, result_format="BOOLEAN_ONLY") for suite in suites]
    for result in results:
        for each in result.results:
            if each.exception_info and each.exception_info.get("raised_exception"):
                raise GateError(f"Suite {result.suite_name}: {each.exception_info['exception_message']}")
    return results


def _checkpoint(context: Any, batch: Any, suites: list[Any]) -> Any:
    import great_expectations as gx

    validations = [
        context.validation_definitions.add_or_update(
            gx.ValidationDefinition(name=suite.name, data=batch, suite=context.suites.add_or_update(suite))
        )
        for suite in suites
    ]
    complete = {"result_format": "COMPLETE", "unexpected_index_column_names": list(_ROW)}
    return context.checkpoints.add_or_update(
        gx.Checkpoint(name="epoch_audit", validation_definitions=validations, result_format=complete)
    )


def _words_of_arguments(suites: Iterable[Any]) -> set[str]:
    """All words in the arguments of expectations: the names of the columns that they read, and others."""
    return {
        word
        for suite in suites
        for each in suite.expectations
        for word in re.findall(r"\w+", json.dumps(each.configuration.to_json_dict()["kwargs"]))
    }


def _invariant(suite: str, result: Any) -> str:
    meta = result.expectation_config.meta or {}
    if "invariant" not in meta:
        raise GateError(f"Suite {suite}: an expectation names no invariant in its meta. Run `make compile`.")
    return str(meta["invariant"])


def _data_docs(context: Any, work: Path, *, wanted: bool) -> Path | None:
    for suite in (work / "uncommitted" / "validations").glob("*/"):
        runs = sorted(suite.glob("*/*/"), key=lambda path: path.name)
        for old in runs[:-KEPT_RUNS]:
            shutil.rmtree(old)
    shutil.rmtree(work / "uncommitted" / "data_docs", ignore_errors=True)
    if not wanted:
        return None
    context.build_data_docs()
    return work / "uncommitted" / "data_docs" / "local_site" / "index.html"
