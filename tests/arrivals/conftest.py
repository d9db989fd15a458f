"""Which captures arrive in which way, and what is found of each if it is audited at once."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from audits import AuditedAtOnce, Found, Site
from trees import CUTS, span_ms, tree_of

CAPTURES = Path(__file__).resolve().parents[1] / "captures"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``ALWAYS`` of the module; or, with ``--times N``, N cases of each capture: the ways one after the
    other, and then with other seeds. Each capture begins with another way.
    """
    if "way" not in metafunc.fixturenames:
        return
    times = int(metafunc.config.getoption("--times"))
    cases = metafunc.module.ALWAYS if times == 1 else every_case(times)
    metafunc.parametrize(("name", "way", "seed"), cases)


def every_case(times: int) -> Sequence[tuple[str, str, int]]:
    """Capture, how its files arrive, and a seed: so many of each capture, small captures first."""
    ways = list(CUTS)
    folders = [path.parent for path in sorted(CAPTURES.glob("*/fencepost.toml"))]
    folders.sort(key=lambda folder: sum(file.stat().st_size for file in folder.rglob("*")))
    return [
        (folder.name, ways[(number + case) % len(ways)], case // len(ways))
        for number, folder in enumerate(folders)
        for case in range(times)
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for lakes."""
    return tmp_path_factory.mktemp("lakes")


@pytest.fixture
def audited_at_once(place: Path, known: dict[tuple[str, bool], tuple[Site, Found]]) -> AuditedAtOnce:
    """Call it for a capture, and what is found if it is audited at once: rows, and verdicts on them.

    ``in_chapters``: with chapters of a quarter of the time that its segments tell of, which can be halved.
    """

    def audited(name: str, *, in_chapters: bool = False) -> tuple[Site, Found]:
        if (name, in_chapters) not in known:
            # a path is part of what is found, so every audit of a capture finds it at the same one
            shutil.rmtree(place, ignore_errors=True)
            known.clear()
            tree = tree_of(CAPTURES / name)
            site = Site(place / name, tree, span_ms(tree) // 64 * 16 if in_chapters else None)
            known[name, in_chapters] = site, site.audited(judges=True)
        return known[name, in_chapters]

    return audited


@pytest.fixture(scope="module")
def known() -> dict[tuple[str, bool], tuple[Site, Found]]:
    """The newest capture that was audited at once; and what was found."""
    return {}
