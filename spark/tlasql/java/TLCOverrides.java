// The operator Attempt of the module Attempts, for TLC: see tlc.py.
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
