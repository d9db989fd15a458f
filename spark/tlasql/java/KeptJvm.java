import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.rmi.Remote;
import java.rmi.server.UnicastRemoteObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs SANY and TLC as often as it is asked to. Both keep what they have read in static fields: these are set back
 * before each run, to what they are when no class has been used yet.
 *
 * <p>First it says whether it can: 1, or 0 where fields cannot be set back. A request is texts: the main class,
 * TLA-Library, the class path, the arguments. The answer is the exit code, whether another run may follow (not while
 * threads of this one go on), what was printed, and what was printed as an error. A text is its length and its bytes
 * in UTF-8.
 */
public final class KeptJvm {
    /** Threads of a run that has ended have this long to end as well. */
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private static final ByteArrayOutputStream PRINTED = new ByteArrayOutputStream();
    private static final ByteArrayOutputStream ERRORS = new ByteArrayOutputStream();
    private static final PrintStream OUT = new PrintStream(PRINTED, true, StandardCharsets.UTF_8);
    private static final PrintStream ERR = new PrintStream(ERRORS, true, StandardCharsets.UTF_8);
    /**
     * What classes have that keep the stream that they find when they are initialised. In a JVM of its own that is
     * in the course of the run: SANY's exporter has put another one there, to be silent.
     */
    private static final PrintStream LATEST = new PrintStream(new Latest(), true, StandardCharsets.UTF_8);
    private static final Map<String, Tools> TOOLS = new HashMap<>();

    public static void main(final String[] none) throws Exception {
        final DataInputStream requests = new DataInputStream(new BufferedInputStream(System.in));
        final DataOutputStream answers = new DataOutputStream(new BufferedOutputStream(System.out));
        System.setIn(InputStream.nullInputStream());
        tellWhatEndsThis(System.err);
        answers.writeInt(canSetBack() ? 1 : 0);
        answers.flush();
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

    /** What a run printed that ends this JVM goes to {@code errors}: it gets no answer. */
    private static void tellWhatEndsThis(final PrintStream errors) {
        Runtime.getRuntime()
                .addShutdownHook(
                        new Thread(
                                () -> {
                                    errors.writeBytes(PRINTED.toByteArray());
                                    errors.writeBytes(ERRORS.toByteArray());
                                }));
    }

    /** From Java 26 on sun.misc.Unsafe refuses unless it is told otherwise, and a later Java may lack it. */
    private static boolean canSetBack() {
        try {
            Probe.held = 1;
            final Checkpoint before = new Checkpoint(null, List.of(Probe.class));
            Probe.held = 2;
            before.restore();
            return Probe.held == 1;
        } catch (LinkageError | RuntimeException refused) {
            return false;
        }
    }

    /** A field to be set back. */
    private static final class Probe {
        private static volatile int held;
    }

    private static void answer(final String[] request, final DataOutputStream answers)
            throws IOException, InterruptedException {
        System.setOut(OUT);
        System.setErr(ERR);
        PRINTED.reset();
        ERRORS.reset();
        final int[] code = {1};
        // nor does a thread's own state outlive the run
        final ThreadGroup group = new ThreadGroup("run");
        final Thread run = new Thread(group, () -> code[0] = run(request), "main");
        run.start();
        run.join();
        final boolean quiet = becomesQuiet(group);
        OUT.flush();
        ERR.flush();
        answers.writeInt(code[0]);
        answers.writeInt(quiet ? 1 : 0);
        for (final ByteArrayOutputStream each : new ByteArrayOutputStream[] {PRINTED, ERRORS}) {
            answers.writeInt(each.size());
            each.writeTo(answers);
        }
        answers.flush();
    }

    /**
     * Whether the threads of a run have ended, or wait for each other: nobody else would wake them. An idle worker of
     * the JDK's own pool, which is of no run, has no task.
     */
    private static boolean becomesQuiet(final ThreadGroup group) throws InterruptedException {
        final long ends = System.nanoTime() + PATIENCE.toNanos();
        while (!isQuiet(group)) {
            if (System.nanoTime() > ends) {
                return false;
            }
            Thread.sleep(1);
        }
        return true;
    }

    private static boolean isQuiet(final ThreadGroup group) {
        final Thread[] threads = new Thread[group.activeCount() + 100];
        final long[] ids =
                Arrays.stream(threads, 0, group.enumerate(threads))
                        .filter(each -> !(each instanceof ForkJoinWorkerThread))
                        .mapToLong(Thread::getId)
                        .toArray();
        // with a line of their stacks, they are all looked at in the same moment
        return ForkJoinPool.commonPool().isQuiescent()
                && Arrays.stream(ManagementFactory.getThreadMXBean().getThreadInfo(ids, 1))
                        .allMatch(each -> each != null && each.getThreadState() == Thread.State.WAITING);
    }

    private static int run(final String[] request) {
        try {
            Tools tools = TOOLS.get(request[2]);
            if (tools == null) {
                System.setOut(LATEST);
                tools = new Tools(request[2].split(File.pathSeparator));
                TOOLS.put(request[2], tools);
                System.setOut(OUT);
            }
            final String[] arguments = Arrays.copyOfRange(request, 3, request.length);
            return tools.run(request[0], request[1].split(File.pathSeparator), arguments);
        } catch (Throwable uncaught) {
            // as the JVM ends when its main class throws
            uncaught.printStackTrace();
            return 1;
        }
    }

    /** Writes to the stream that is System.out by then. */
    private static final class Latest extends OutputStream {
        @Override
        public void write(final int one) {
            System.out.write(one);
        }

        @Override
        public void write(final byte[] bytes, final int first, final int length) {
            System.out.write(bytes, first, length);
        }

        @Override
        public void flush() {
            System.out.flush();
        }
    }

    /** The classes of a class path, all of them initialised, and what they held then. */
    private static final class Tools {
        private final ClassLoader classes;
        private final Checkpoint unused;

        Tools(final String[] path) throws IOException {
            final List<URL> urls = new ArrayList<>();
            final List<String> names = new ArrayList<>();
            for (final String each : path) {
                urls.add(new File(each).toURI().toURL());
                names.addAll(each.endsWith(".jar") ? inJar(each) : inFolder(Path.of(each)));
            }
            classes = new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
            final List<Class<?>> initialised = new ArrayList<>();
            for (final String name : names) {
                try {
                    initialised.add(Class.forName(name, true, classes));
                } catch (LinkageError | ClassNotFoundException needsWhatIsNotThere) {
                    // whoever uses it is told the same
                }
            }
            unused = new Checkpoint(classes, initialised);
        }

        private static List<String> inJar(final String jar) throws IOException {
            try (JarFile file = new JarFile(jar)) {
                return named(file.stream().map(each -> each.getName()));
            }
        }

        private static List<String> inFolder(final Path folder) throws IOException {
            try (Stream<Path> files = Files.walk(folder)) {
                return named(files.map(each -> folder.relativize(each).toString()));
            }
        }

        private static List<String> named(final Stream<String> files) {
            return files.filter(each -> each.endsWith(".class") && !each.contains("META-INF"))
                    .map(each -> each.substring(0, each.length() - ".class".length()).replace('/', '.'))
                    .sorted()
                    .collect(Collectors.toList());
        }

        int run(final String name, final String[] library, final String[] arguments) throws Throwable {
            unused.restore();
            final Class<?> main = classes.loadClass(name);
            try {
                if (name.equals("tlc2.TLC")) {
                    return tlc(main, library, arguments);
                }
                main.getMethod("main", String[].class).invoke(null, (Object) arguments);
                return 0;
            } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
            }
        }

        /** What TLC's main method does, but for the end of the JVM. */
        private int tlc(final Class<?> main, final String[] library, final String[] arguments)
                throws ReflectiveOperationException, IOException {
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
            forget(classes.loadClass("tlc2.TLCGlobals").getField("mainChecker").get(null));
            return (int)
                    classes.loadClass("tlc2.output.EC$ExitStatus")
                            .getMethod("errorConstantToExitStatus", int.class)
                            .invoke(null, said);
        }

        /** Else RMI would hold the set of states, 12 MB of each run. */
        private static void forget(final Object checker) throws ReflectiveOperationException, IOException {
            if (checker != null) {
                UnicastRemoteObject.unexportObject((Remote) checker.getClass().getField("theFPSet").get(checker), true);
            }
        }
    }
}
