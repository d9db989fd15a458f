import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Runs SANY and TLC as often as it is asked to. Both keep what they have read in static fields, so each run has
 * a class loader, and with it classes, of its own.
 *
 * <p>A request is texts: the main class, TLA-Library, the class path, the arguments. The answer is the exit
 * code, what was printed, and what was printed as an error. A text is its length and its bytes in UTF-8.
 */
public final class KeptJvm {
    public static void main(final String[] none) throws Exception {
        final DataInputStream requests = new DataInputStream(new BufferedInputStream(System.in));
        final DataOutputStream answers = new DataOutputStream(new BufferedOutputStream(System.out));
        while (true) {
            final String[] request;
            try {
                request = new String[requests.readInt()];
            } catch (EOFException end) {
                // threads of what ran do not keep this process
                Runtime.getRuntime().halt(0);
                return;
            }
            for (int n = 0; n < request.length; n++) {
                request[n] = new String(requests.readNBytes(requests.readInt()), StandardCharsets.UTF_8);
            }
            answer(request, answers);
        }
    }

    private static void answer(final String[] request, final DataOutputStream answers) throws IOException {
        final ByteArrayOutputStream printed = new ByteArrayOutputStream();
        final ByteArrayOutputStream errors = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(errors, true, StandardCharsets.UTF_8));
        int code;
        try {
            code = run(request);
        } catch (Throwable uncaught) {
            // as the JVM ends when its main class throws
            uncaught.printStackTrace();
            code = 1;
        }
        System.out.flush();
        System.err.flush();
        answers.writeInt(code);
        for (final ByteArrayOutputStream each : new ByteArrayOutputStream[] {printed, errors}) {
            answers.writeInt(each.size());
            each.writeTo(answers);
        }
        answers.flush();
    }

    private static int run(final String[] request) throws Throwable {
        final String[] path = request[2].split(File.pathSeparator);
        final URL[] urls = new URL[path.length];
        for (int n = 0; n < path.length; n++) {
            urls[n] = new File(path[n]).toURI().toURL();
        }
        final String[] arguments = Arrays.copyOfRange(request, 3, request.length);
        try (URLClassLoader classes = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader())) {
            final Class<?> main = classes.loadClass(request[0]);
            if (main.getName().equals("tlc2.TLC")) {
                return tlc(classes, main, request[1].split(File.pathSeparator), arguments);
            }
            main.getMethod("main", String[].class).invoke(null, (Object) arguments);
            return 0;
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    /** What TLC's main method does, but for the end of the JVM. */
    private static int tlc(
            final ClassLoader classes, final Class<?> main, final String[] library, final String[] arguments)
            throws ReflectiveOperationException {
        final Object tlc = main.getConstructor().newInstance();
        if (!(boolean) main.getMethod("handleParameters", String[].class).invoke(tlc, (Object) arguments)) {
            return 1;
        }
        final String[] folders = Arrays.copyOf(library, library.length + 1);
        folders[library.length] = new File(arguments[arguments.length - 1]).getParent();
        final Object files =
                classes.loadClass("util.SimpleFilenameToStream")
                        .getConstructor(String[].class)
                        .newInstance((Object) folders);
        main.getMethod("setResolver", classes.loadClass("util.FilenameToStream")).invoke(tlc, files);
        final int said = (int) main.getMethod("process").invoke(tlc);
        return (int)
                classes.loadClass("tlc2.output.EC$ExitStatus")
                        .getMethod("errorConstantToExitStatus", int.class)
                        .invoke(null, said);
    }
}
