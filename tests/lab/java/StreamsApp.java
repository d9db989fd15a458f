import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.StandbyUpdateListener;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * A real Kafka Streams application with a subtopology for each kind of store, which tells what it knows as JSON
 * lines: its states, its tasks, what it restores.
 *
 * <p>Arguments: the application's properties, the file to tell into; a topic, to have but one subtopology.
 */
public class StreamsApp {
    private static final long SLOW_MS = 6000;
    private static PrintStream events;

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.load(Files.newBufferedReader(Path.of(arguments[0])));
        properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class);
        properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class);
        events = new PrintStream(Files.newOutputStream(Path.of(arguments[1])), true, StandardCharsets.UTF_8);
        KafkaStreams streams = new KafkaStreams(topology(arguments), properties);
        streams.setStateListener((to, from) -> tell("state", "from", text(from), "to", text(to)));
        streams.setGlobalStateRestoreListener(new Restores());
        streams.setStandbyUpdateListener(new Standbys());
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            tell("closing");
            streams.close();
            tell("closed");
        }));
        streams.start();
        String last = "";
        while (true) {
            String tasks = tasks(streams);
            if (!tasks.equals(last)) {
                tell("tasks", "tasks", tasks);
                last = tasks;
            }
            Thread.sleep(50);
        }
    }

    private static Topology topology(String... arguments) {
        Topology topology = new Topology();
        if (arguments.length > 2) {
            part(topology, arguments[2], store("logged-store", true));
            return topology;
        }
        part(topology, "logged", store("logged-store", true));
        part(topology, "unlogged", store("unlogged-store", false));
        part(topology, "mixed", store("mixed-logged-store", true), store("mixed-unlogged-store", false));
        part(topology, "stateless");
        return topology;
    }

    @SafeVarargs
    private static void part(Topology topology, String topic, StoreBuilder<KeyValueStore<byte[], byte[]>>... stores) {
        String[] names = java.util.Arrays.stream(stores).map(StoreBuilder::name).toArray(String[]::new);
        topology.addSource(topic + "-source", topic);
        topology.addProcessor(topic + "-processor", () -> new Remember(names), topic + "-source");
        for (StoreBuilder<KeyValueStore<byte[], byte[]>> store : stores) {
            topology.addStateStore(store, topic + "-processor");
        }
    }

    private static StoreBuilder<KeyValueStore<byte[], byte[]>> store(String name, boolean logged) {
        StoreBuilder<KeyValueStore<byte[], byte[]>> builder = Stores.keyValueStoreBuilder(
            Stores.persistentKeyValueStore(name), Serdes.ByteArray(), Serdes.ByteArray());
        return logged ? builder : builder.withLoggingDisabled();
    }

    /** Puts every record into every store, under its value. Instance a's second thread is slow with some. */
    private static class Remember implements Processor<byte[], byte[], Void, Void> {
        private final String[] stores;
        private ProcessorContext<Void, Void> context;

        Remember(String[] stores) {
            this.stores = stores;
        }

        @Override
        public void init(ProcessorContext<Void, Void> given) {
            context = given;
        }

        @Override
        public void process(Record<byte[], byte[]> record) {
            if (Thread.currentThread().getName().endsWith("-a-StreamThread-2")
                && new String(record.value(), StandardCharsets.UTF_8).endsWith("slow")) {
                Utils.sleep(SLOW_MS);
            }
            for (String store : stores) {
                KeyValueStore<byte[], byte[]> target = context.getStateStore(store);
                target.put(record.value(), record.value());
            }
        }
    }

    private static class Restores implements StateRestoreListener {
        @Override
        public void onRestoreStart(TopicPartition changelog, String store, long start, long end) {
            tell("restore_start", "store", text(store), "partition", "" + changelog.partition(),
                "start_offset", "" + start, "end_offset", "" + end);
        }

        @Override
        public void onBatchRestored(TopicPartition changelog, String store, long end, long count) {
        }

        @Override
        public void onRestoreEnd(TopicPartition changelog, String store, long total) {
            tell("restore_end", "store", text(store), "partition", "" + changelog.partition(), "records", "" + total);
        }

        @Override
        public void onRestoreSuspended(TopicPartition changelog, String store, long total) {
            tell("restore_suspended", "store", text(store), "partition", "" + changelog.partition(),
                "records", "" + total);
        }
    }

    private static class Standbys implements StandbyUpdateListener {
        @Override
        public void onUpdateStart(TopicPartition changelog, String store, long start) {
            tell("standby_start", "store", text(store), "partition", "" + changelog.partition(),
                "start_offset", "" + start);
        }

        @Override
        public void onBatchLoaded(TopicPartition changelog, String store, TaskId task, long end, long size, long last) {
            tell("standby_loaded", "task_id", text(task), "store", text(store),
                "batch_end_offset", "" + end, "current_end_offset", "" + last);
        }

        @Override
        public void onUpdateSuspended(TopicPartition changelog, String store, long offset, long end, SuspendReason why) {
            tell("standby_suspended", "store", text(store), "partition", "" + changelog.partition(),
                "store_offset", "" + offset, "current_end_offset", "" + end, "reason", text(why));
        }
    }

    private static String tasks(KafkaStreams streams) {
        Set<String> active = new TreeSet<>();
        Set<String> standby = new TreeSet<>();
        for (ThreadMetadata thread : streams.metadataForLocalThreads()) {
            thread.activeTasks().forEach(task -> active.add(text(task.taskId())));
            thread.standbyTasks().forEach(task -> standby.add(text(task.taskId())));
        }
        return "{\"active\":" + new TreeSet<>(active) + ",\"standby\":" + new TreeSet<>(standby) + "}";
    }

    private static synchronized void tell(String event, String... fields) {
        StringBuilder line = new StringBuilder("{\"event\":" + text(event));
        line.append(",\"at_ms\":").append(System.currentTimeMillis());
        for (int index = 0; index < fields.length; index += 2) {
            line.append(',').append(text(fields[index])).append(':').append(fields[index + 1]);
        }
        events.println(line.append('}'));
    }

    private static String text(Object value) {
        return "\"" + value + "\"";
    }
}
