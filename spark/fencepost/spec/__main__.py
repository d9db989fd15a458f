"""``python -m fencepost.spec [list | cfg NAME | check NAME | readme]``.

``list``: every run of TLC in the manifests. ``cfg``: the configuration of one, for TLC by hand.
``check``: runs TLC on one, and prints what it says. ``readme``: writes the tables of ``spec/*/README.md``.
A NAME that two protocols have is written PROTOCOL/NAME.
"""

import sys

from fencepost.definitions import definitions, modules
from fencepost.places import project_folder
from fencepost.spec.check import check
from fencepost.spec.manifest import Run, runs
from fencepost.spec.readme import readme
from tlasql.tlc import TlcError

SPEC = project_folder("spec")
RUNS = {f"{name}/{run.name}": run for name in modules() for run in runs(SPEC / name)}


def called(name: str) -> Run:
    """The run of this name."""
    found = [each for each in RUNS if name in (each, each.partition("/")[2])]
    if len(found) != 1:
        sys.exit(f"{name}: " + (f"one of {', '.join(found)}?" if found else "no such run, see `list`"))
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
        for name, module in modules().items():
            marked = [each for each in definitions() if each.module == module]
            text = readme(SPEC / name, marked)
            (SPEC / name / "README.md").write_text(text, encoding="utf-8")
    case _:
        sys.exit(f"usage: {__doc__}")
