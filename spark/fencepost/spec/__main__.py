"""``python -m fencepost.spec [list | cfg NAME | check NAME | readme]``.

``list``: every run of TLC in the manifests. ``cfg``: the configuration of one, for TLC by hand.
``check``: runs TLC on one, and prints what it says. ``readme``: writes the tables of ``spec/*/README.md``.
A NAME that two protocols have is written PROTOCOL/NAME.
"""

import sys

from fencepost.places import project_folder
from fencepost.spec.check import check
from fencepost.spec.manifest import Run, runs
from tlasql.java.tlc import TlcError
from tlasql.lang.words import meant

FOLDERS = [path.parent for path in sorted(project_folder("spec").glob("*/manifest.json"))]
RUNS = {f"{folder.name}/{run.name}": run for folder in FOLDERS for run in runs(folder)}


def called(name: str) -> Run:
    """The run of this name."""
    found = [each for each in RUNS if name in (each, each.partition("/")[2])]
    if len(found) != 1:
        short = [each.partition("/")[2] for each in RUNS]
        near = meant(name.rpartition("/")[2], short, "see `list`")
        sys.exit(f"{name}: " + (f"one of {', '.join(found)}?" if found else f"no such run; {near}"))
    return RUNS[found[0]]


match sys.argv[1:]:
    case ["list"]:
        for full, run in RUNS.items():
            said = f"violates {run.violates}" if run.violates else "holds"
            sys.stdout.write(f"{full} {run.kind} {said}\n")
    case ["cfg", name]:
        sys.stdout.write(called(name).configuration())
    case ["check", name]:
        try:
            result = check(run := called(name))
        except TlcError as error:
            sys.exit(str(error))
        sys.stdout.write(result.output + "\n")
        if result.violated != run.violates:
            sys.exit(f"{name}: the manifest says: {run.violates or 'nothing'} is violated")
    case ["readme"]:
        # this imports every protocol
        from fencepost.spec.readme import readme

        for folder in FOLDERS:
            text = readme(folder)
            (folder / "README.md").write_text(text, encoding="utf-8")
    case _:
        sys.exit(f"usage: {__doc__}")
