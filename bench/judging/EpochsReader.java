import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.IOException;
import tlc2.value.impl.FcnRcdValue;
import tlc2.value.impl.IntValue;
import tlc2.value.impl.IntervalValue;
import tlc2.value.impl.Value;

/**
 * Gives TLC the values of a trace, in place of the definitions of the module EpochsReader.
 *
 * <p>The file named by the property "trace" holds big-endian ints: the number of members, then two for each step:
 * the member that changed (0: the group) and its new epoch. In state 0 every epoch is 0. Steps are asked for in
 * order; asking for an earlier one starts over.
 */
public final class EpochsReader {
    private static final int[] TRACE = read(System.getProperty("trace"));
    private static final int MEMBERS = TRACE[0];
    private static final IntervalValue DOMAIN = new IntervalValue(1, MEMBERS);

    private static int at = -1;
    private static Value[] epochs;
    private static Value function;
    private static Value group;

    private EpochsReader() {}

    /** The number of steps. */
    public static Value Steps() {
        return IntValue.gen((TRACE.length - 1) / 2);
    }

    /** The value of memberEpoch after step n. */
    public static Value MemberEpochAt(final IntValue n) {
        moveTo(n.val);
        return function;
    }

    /** The value of groupEpoch after step n. */
    public static Value GroupEpochAt(final IntValue n) {
        moveTo(n.val);
        return group;
    }

    private static void moveTo(final int n) {
        if (n < at || at < 0) {
            at = 0;
            epochs = new Value[MEMBERS];
            java.util.Arrays.fill(epochs, IntValue.ValZero);
            group = IntValue.ValZero;
            function = new FcnRcdValue(DOMAIN, epochs);
        }
        while (at < n) {
            at++;
            final int member = TRACE[2 * at - 1];
            final Value epoch = IntValue.gen(TRACE[2 * at]);
            if (member == 0) {
                group = epoch;
            } else {
                // states already handed to TLC keep their arrays
                epochs = epochs.clone();
                epochs[member - 1] = epoch;
                function = new FcnRcdValue(DOMAIN, epochs);
            }
        }
    }

    private static int[] read(final String path) {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(path)))) {
            final int[] found = new int[Math.toIntExact(new java.io.File(path).length() / 4)];
            for (int i = 0; i < found.length; i++) {
                found[i] = in.readInt();
            }
            return found;
        } catch (EOFException cut) {
            throw new IllegalStateException(path + ": ends inside a number; write the trace again", cut);
        } catch (IOException error) {
            throw new IllegalStateException(path + ": cannot be read; give it as -Dtrace=FILE", error);
        }
    }
}
