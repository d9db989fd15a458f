"""An operator for TLC that tells where TLC stops, and lets it go on: ``Attempt(P)`` is "TRUE", "FALSE" or
"STOPS".

TLC ends at the first expression that it cannot evaluate. To judge many states in one run, each is attempted
by TLC's own evaluator, on the expression as it stands in the module; whatever it throws means that it stops
there.
"""

from __future__ import annotations

import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

from tlasql.java import jvm
from tlasql.java.tlc import TlcError

MODULE = """---- MODULE Attempts ----
Attempt(P) == IF P THEN "TRUE" ELSE "FALSE"
====
"""
_JAVA = """
package tlc2.overrides;
import tla2sany.semantic.ExprOrOpArgNode;
import tlc2.tool.TLCState;
import tlc2.tool.coverage.CostModel;
import tlc2.tool.impl.Tool;
import tlc2.util.Context;
import tlc2.value.impl.BoolValue;
import tlc2.value.impl.StringValue;
import tlc2.value.impl.Value;

/** Named so that TLC finds it by itself. */
public final class TLCOverrides implements ITLCOverrides {
    @Override
    public Class[] get() {
        return new Class[] {TLCOverrides.class};
    }

    /** What TLC makes of the expression: a boolean, or an end. */
    @Evaluation(definition = "Attempt", module = "Attempts", warn = false)
    public static Value attempt(
            final Tool tool, final ExprOrOpArgNode[] args, final Context c, final TLCState s0,
            final TLCState s1, final int control, final CostModel cm) {
        String said = "STOPS";
        try {
            final Value found = tool.eval(args[0], c, s0, s1, control, cm);
            if (found instanceof BoolValue) {
                said = ((BoolValue) found).val ? "TRUE" : "FALSE";
            }
        } catch (RuntimeException | StackOverflowError | OutOfMemoryError stops) {
            // said already
        }
        return new StringValue(said);
    }
}
"""


@lru_cache(maxsize=1)
def classes(jar: Path) -> Path:
    """A folder with the operator's class, compiled once for this process. Raises TlcError."""
    folder = Path(tempfile.mkdtemp(prefix="tlasql-attempt-"))
    _remove_at_exit(folder)
    source = folder / "TLCOverrides.java"
    source.write_text(_JAVA, encoding="utf-8")
    try:
        jvm.compile_java([source], folder, [jar])
    except jvm.NoJavaError as error:
        raise TlcError("java is not on PATH: TLC needs a Java runtime of version 17 or later") from error
    except jvm.CompilerError as error:
        raise TlcError(f"tlasql diff needs a compiler (Debian: openjdk-17-jdk-headless)\n{error}") from error
    (folder / "Attempts.tla").write_text(MODULE, encoding="utf-8")
    return folder


def _remove_at_exit(folder: Path) -> None:
    import atexit

    atexit.register(shutil.rmtree, folder, ignore_errors=True)
