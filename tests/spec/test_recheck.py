"""What the DAG of model checks runs again, and what it says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fencepost.spec.manifest import read
from fencepost.spec.recheck import SpecificationError, recheck

SPEC = Path(__file__).resolve().parents[2] / "spec"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Specifications of which TLC runs one mutant, in a third of a second."""
    shutil.copytree(SPEC / "offset_commit", tmp_path / "offset_commit")
    _write(tmp_path, "MemberlessCommit")
    return tmp_path


def _write(spec: Path, *names: str, **changed: object) -> None:
    manifest = read(SPEC / "offset_commit")
    manifest["runs"] = [{**each, **changed} for each in manifest["runs"] if each["name"] in names]
    (spec / "offset_commit" / "manifest.json").write_text(json.dumps(manifest))


def test_only_what_has_changed_is_checked_again(small: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    checked = recheck({"offset_commit": "of an earlier text"}, small)
    assert caplog.messages == ["offset_commit: TLC runs 1 models, mutants and twins"]
    caplog.clear()
    assert recheck(checked, small) == checked
    assert caplog.messages == []


def test_what_tlc_says_otherwise_is_named(small: Path) -> None:
    """A model that violates what it is said to have, and a module that is no TLA+."""
    _write(small, "MemberlessCommit", kind="model")
    said = "the manifest says that TLC violates nothing, and it violates NoMemberlessCommitForOwnedPartition"
    with pytest.raises(SpecificationError, match=f"offset_commit/MemberlessCommit: {said}"):
        recheck({}, small)
    (small / "offset_commit" / "OffsetCommit.tla").write_text(
        "---- MODULE OffsetCommit ----\nA == 1 +\n====\n"
    )
    with pytest.raises(SpecificationError, match=r"offset_commit/MemberlessCommit: .*OffsetCommit\.tla"):
        recheck({}, small)
